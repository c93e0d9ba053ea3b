"""One verb per file, each calling the same function as the Python API."""
