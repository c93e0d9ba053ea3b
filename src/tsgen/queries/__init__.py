"""Queries that stand beside the corpus: lexical search, hard negatives, synthetic queries."""
