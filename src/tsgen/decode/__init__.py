"""The beam search, the favourite permutation of a known set, and the one-step set prior."""
