"""The commands of `python -m minibatch`, one file each."""
