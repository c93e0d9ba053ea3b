"""What may come next: term sets by postings, sequences by a trie, behind one protocol."""
