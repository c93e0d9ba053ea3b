"""Data sets: readers of their file formats, checks of their records, splits, run files."""
