"""The parts of the decoding benchmark."""
