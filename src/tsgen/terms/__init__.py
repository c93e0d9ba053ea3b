"""Words, their weights, and the N heaviest of a document as its terms."""
