"""The page Published results."""
