"""How many terms a document needs, by what queries ask for.

A page is asked for by its name, which is among its first terms; a passage is asked for its details.
With c(N) the mean share of a training query's words among the N heaviest terms of its document,
N goes on to the next of 12, 16, 24, 32, 48 as long as that pays:

    ln c(N') − ln c(N) ≥ g (ln N' − ln N),

a tenth more terms answering at least g tenths more of the words. Without training queries nobody
knows what will be asked for, and N is the largest.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tsgen.corpus.dataset import DataSet
from tsgen.queries.pairs import Pair, judged_pairs
from tsgen.terms.rank import Candidates
from tsgen.terms.words import Splitter

SIZES = (12, 16, 24, 32, 48)
GAIN = 0.2  # g
SAMPLE = 5000  # pairs, evenly spread


def asked_n(data: DataSet, candidates: Candidates, splitter: Splitter) -> int:
    """N for these documents and their training queries."""
    if "train" not in data.splits:
        return SIZES[-1]
    numbers = {document: i for i, document in enumerate(candidates.document_ids)}
    pairs = judged_pairs(data, "train", numbers)
    shares = covered(candidates, pairs[:: -(-len(pairs) // SAMPLE) or 1], splitter)
    for at, size in enumerate(SIZES[:-1]):
        more = np.log(SIZES[at + 1] / size)
        if not shares[at] or np.log(shares[at + 1] / shares[at]) < GAIN * more:
            return size
    return SIZES[-1]


def covered(
    candidates: Candidates, pairs: Sequence[Pair], splitter: Splitter
) -> NDArray[np.float64]:
    """[len(SIZES)] c(N)."""
    number = {splitter.key(word): i for i, word in enumerate(candidates.spellings)}
    rows = [_ranks(candidates, pair, splitter, number) for pair in pairs]
    rows = [row for row in rows if len(row)]  # not those of stop words alone
    if not rows:
        return np.zeros(len(SIZES))
    shares = np.array([[np.mean(row < size) for size in SIZES] for row in rows])  # [Q, sizes]
    means: NDArray[np.float64] = shares.mean(axis=0)
    return means


def _ranks(
    candidates: Candidates, pair: Pair, splitter: Splitter, number: dict[str, int]
) -> NDArray[np.int64]:
    """Of the query's words the place of each among the document's terms, or one behind all."""
    terms = candidates.row(pair.document)
    keys = splitter.keys(pair.query)
    found = [np.flatnonzero(terms == number.get(key, -1)) for key in keys]
    return np.array([one[0] if len(one) else len(terms) + SIZES[-1] for one in found], np.int64)
