"""What a load sweep shows: its file, curves, knees, what limits it, alerts."""
