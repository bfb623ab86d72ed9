"""The pages Lessons and Interview, and the static site."""
