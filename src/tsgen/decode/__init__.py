"""Searching by generation: the beam search, the ranking formula, the favourite permutation."""
