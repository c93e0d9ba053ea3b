"""Coverage: the share of a query's words that are terms of the relevant document."""

import numpy as np

from tsgen.corpus.dataset import DataSet
from tsgen.docids.term_set import TermSets
from tsgen.terms.words import Splitter


def coverage(sets: TermSets, data: DataSet, split: str, splitter: Splitter) -> float:
    """The mean over queries of |words(Q) ∩ T(D)| / |words(Q)|, averaged over the relevant D of Q.

    Words are compared by the splitter's key and counted once; stop words are not counted, and a
    query of nothing else is left out.
    """
    queries, numbers = data.queries(), sets.document_numbers()
    shares = []
    for query, grades in data.judgments(split).items():
        words = set(splitter.keys(queries[query].text))
        relevant = [numbers[document] for document, grade in grades.items() if grade > 0]
        if words and relevant:
            covered = [words & set(map(splitter.key, sets.term_set(d).terms)) for d in relevant]
            shares.append(np.mean([len(both) for both in covered]) / len(words))
    return float(np.mean(shares)) if shares else 0.0
