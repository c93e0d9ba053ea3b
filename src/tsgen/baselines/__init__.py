"""One small file for each system in the paper's tables; a file's name is its system's name."""
