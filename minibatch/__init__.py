"""Minibatch: why batching decides the cost and speed of serving language models."""

__version__ = "0.1.0"
