"""tsgen inside other frameworks: one small file each, each with its own extra."""
