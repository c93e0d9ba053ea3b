"""What training and baselines share about queries: pairs, lexical search, hard negatives."""
