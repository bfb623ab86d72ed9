"""The page Load."""
