"""Training the generator: targets, the loop, and the iterations over favourite permutations."""
