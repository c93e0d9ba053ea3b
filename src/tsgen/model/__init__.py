"""Language models behind one protocol, with a cache that is a tree of decoded tokens."""
