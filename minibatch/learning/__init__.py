"""Lessons and the interview room: their format, the runs that they speak of, and the check of what they state."""
