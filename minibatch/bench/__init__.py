"""Benchmarks: the engine, the player, the pages, sweeps."""
