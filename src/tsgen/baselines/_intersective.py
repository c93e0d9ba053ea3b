"""From n-grams that were generated to documents: SEAL's scores (its Section 3.3).

p(n) = F(n, R) / Σ_d |d|, the n-gram's share of the corpus, and
w(n, q) = max(0, log p(n | q) (1 − p(n)) / (p(n) (1 − p(n | q)))).
W(d, q) = Σ_{n ∈ K(d)} w(n, q)^α · cover(n, K(d)), where K(d) has the n-grams with an occurrence in
d that overlaps none of a heavier n-gram, and cover = 1 − β + β |set(n) \\ C| / |set(n)|, C being
the tokens of the heavier n-grams in K(d).
"""

from dataclasses import dataclass

import numpy as np

from tsgen.constrain.constraint import Bool, Int, Int32
from tsgen.constrain.kernel import kernel
from tsgen.constrain.suffixes import Suffixes
from tsgen.decode.select import Float

NEARLY_SURE = 1 - 1e-9  # p(n | q) at the most: log odds of 1 are infinite


@dataclass(frozen=True, slots=True)
class Ngrams:
    """N-grams as slices of sorted suffixes, heaviest first."""

    low: Int  # [G]
    high: Int  # [G]
    size: Int  # [G] tokens
    log_prob: Float  # [G] log p(n | q)
    weight: Float  # [G] w(n, q) > 0


@dataclass(frozen=True, slots=True)
class Ranked:
    """Documents, best first, and for each the n-grams in its K(d) by number, heaviest first."""

    documents: Int
    scores: Float
    reasons: list[Int]


def weighed(
    suffixes: Suffixes, low: Int, high: Int, size: Int, log_prob: Float, most: int
) -> Ngrams:
    """The n-grams that say something, each once: w > 0, in at most so many places."""
    order = np.lexsort((-log_prob, size, low))
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (np.diff(low[order]) != 0) | (np.diff(size[order]) != 0)
    picks = order[first]
    weight = log_odds(log_prob[picks], (high - low)[picks] / max(len(suffixes), 1))
    said = (weight > 0) & ((high - low)[picks] <= most)
    picks, weight = picks[said], weight[said]
    by_weight = np.argsort(-weight, kind="stable")
    picks = picks[by_weight]
    return Ngrams(low[picks], high[picks], size[picks], log_prob[picks], weight[by_weight])


def log_odds(log_prob: Float, frequency: Float) -> Float:
    """[G] w(n, q) from log p(n | q) and p(n)."""
    prob, frequency = np.minimum(np.exp(log_prob), NEARLY_SURE), np.minimum(frequency, NEARLY_SURE)
    odds = log_prob - np.log1p(-prob) - np.log(frequency) + np.log1p(-frequency)
    weight: Float = np.maximum(0.0, odds)
    return weight


def ranked(suffixes: Suffixes, ngrams: Ngrams, k: int, alpha: float, beta: float) -> Ranked:
    """The k documents of highest W(d, q), ties in document order."""
    counts = ngrams.high - ngrams.low
    number = np.repeat(np.arange(len(counts)), counts)  # [M] the n-gram of each occurrence
    places = np.arange(len(number)) + np.repeat(ngrams.low - counts.cumsum() + counts, counts)
    place = suffixes.suffixes[places]
    owner = suffixes.owners(place)
    order = np.lexsort((number, owner))
    place, number, owner = place[order], number[order], owner[order]
    start = np.flatnonzero(np.diff(owner, prepend=-1))  # [D] where each document's begin
    bounds = np.append(start, len(owner))
    score, taken = _scores(
        suffixes.text,
        int(suffixes.alphabet[-1]) + 1 if len(suffixes.alphabet) else 0,
        bounds,
        place,
        number,
        ngrams.size,
        ngrams.weight**alpha,
        beta,
    )
    best = np.argsort(-score, kind="stable")[:k]
    reasons = [
        number[bounds[d] : bounds[d + 1]][taken[bounds[d] : bounds[d + 1]]] for d in best.tolist()
    ]
    return Ranked(owner[start][best].astype(np.int64), score[best], reasons)


@kernel
def _scores(
    text: Int32,
    tokens: int,
    bounds: Int,
    place: Int32,
    number: Int,
    size: Int,
    power: Float,
    beta: float,
) -> tuple[Float, Bool]:
    """[D] W(d, q), and [M] whether an occurrence is the first one of an n-gram of K(d).

    Document d has the occurrences bounds[d]:bounds[d + 1], heaviest n-gram first. Places are those
    of the whole text, so what one document covers is none of another's.
    """
    documents = len(bounds) - 1
    score, taken = np.zeros(documents), np.zeros(len(place), dtype=np.bool_)
    covered = np.zeros(len(text), dtype=np.bool_)
    said = np.full(tokens, -1, dtype=np.int64)  # the document whose K(d) a token was last seen in
    met = np.full(tokens, -1, dtype=np.int64)  # the occurrence that a token was last counted for
    for d in range(documents):
        i = bounds[d]
        while i < bounds[d + 1]:
            ngram, first, free = number[i], i, False
            while i < bounds[d + 1] and number[i] == ngram:
                free |= not covered[place[i] : place[i] + size[ngram]].any()
                i += 1
            for j in range(first, i):
                covered[place[j] : place[j] + size[ngram]] = True
            if free:
                taken[first] = True
                distinct, new = 0, 0
                for at in range(place[first], place[first] + size[ngram]):
                    token = text[at]
                    if met[token] != first:
                        met[token] = first
                        distinct += 1
                        new += said[token] != d
                for at in range(place[first], place[first] + size[ngram]):
                    said[text[at]] = d
                score[d] += power[ngram] * (1 - beta + beta * new / distinct)
    return score, taken
