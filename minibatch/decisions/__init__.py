"""What a scheduler decides, in words that all parts share: the phase of a slot, and the reason of each decision."""
