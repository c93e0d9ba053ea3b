"""The same terms as a sequence: of all orders of T(D) only one is valid, by weight."""

import numpy as np

from tsgen.constrain.constraint import Ragged
from tsgen.constrain.trie import SequenceTrie
from tsgen.docids.spelling import Spelling


def in_order(sets: Ragged, spelling: Spelling) -> SequenceTrie:
    """A trie over the spelled terms by weight. Units are whole terms, as those of the set are, so
    that the two constraints differ in nothing but the orders they allow."""
    ranks = spelling.rank_of[sets.values].astype(np.int64)
    terms = Ragged(spelling.offsets, spelling.tokens).take(ranks)
    by_document = Ragged(terms.offsets[sets.offsets], terms.values)
    one_token_a_term = len(spelling.tokens) == len(spelling)
    terminator = None if one_token_a_term else int(spelling.tokens[-1])
    return SequenceTrie(by_document, terminator=terminator, labels=sets)
