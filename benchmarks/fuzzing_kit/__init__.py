"""What `benchmarks/fuzz_inputs.py` and its test share."""
