"""Synthetic queries: writers, and the stage that keeps what is worth learning from."""
