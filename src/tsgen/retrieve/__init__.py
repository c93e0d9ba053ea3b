"""What every system is, how it is found by name, saved, opened and run."""
