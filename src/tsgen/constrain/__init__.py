"""Constraints of a search: term sets by postings, sequences by a trie, n-grams by suffixes."""
