"""Tiny GPT-2s for these tests: see tests/tiny_gpt2.py."""

from tests.tiny_gpt2 import device, model, reference  # noqa: F401
