"""Training the generator: pairs and targets, losses, the loop, iterations, pre-training."""
