"""What a scheduler decides, in words that everybody shares: the phase of a slot, and the reason of each decision."""
