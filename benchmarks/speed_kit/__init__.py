"""What the benchmarks of speed beside quality share."""
