"""Identifiers of documents: one file per scheme."""
