"""How long a step takes on a device: its ceilings, the work of a step, and what is fitted to measured steps."""
