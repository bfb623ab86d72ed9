"""Figures with their sources: accelerators, models, what others published."""
