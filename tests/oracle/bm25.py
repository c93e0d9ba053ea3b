"""BM25 written out: a double loop over documents and query words, in double precision."""

import math
from collections import Counter


def bm25_scores(documents: list[list[str]], query: list[str], k1: float, b: float) -> list[float]:
    """Lucene's variant: Σ over the query's words of
    ln(1 + (N − df + ½) / (df + ½)) · tf / (tf + k1 (1 − b + b |D| / average |D|))."""
    average = sum(map(len, documents)) / len(documents)
    scores = []
    for document in documents:
        counts, score = Counter(document), 0.0
        for word in query:
            df = sum(word in other for other in documents)
            if counts[word]:
                idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
                length = 1 - b + b * len(document) / average
                score += idf * counts[word] / (counts[word] + k1 * length)
        scores.append(score)
    return scores
