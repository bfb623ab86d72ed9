"""Recordings in other programs' formats."""
