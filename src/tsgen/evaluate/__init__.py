"""Figures for a ranking: measures, run files, significance, tables, plots."""
