"""Learning to search from text alone: what a person might type, made from raw documents."""
