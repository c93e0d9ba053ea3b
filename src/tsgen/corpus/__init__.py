"""Data sets: documents that stream, queries, judgments; and what is wrong with them."""
