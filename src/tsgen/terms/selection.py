"""The selection of T(D): from the weights of words to N terms that identify each document.

The file has four parts in the order of the work: ranking each document's terms by weight; hashes of
sets of terms; giving every document a set that no other has; and choosing N.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from tsgen.arrays import compiled, offsets_of
from tsgen.corpus.dataset import DataSet
from tsgen.queries.pairs import Pair, judged_pairs
from tsgen.terms.weights import RESERVED, Weighed
from tsgen.terms.words import Splitter

# Ranking: from the weights of words to each document's distinct terms, heaviest first.
#
# A term is a group of words with one key (their stem). In a document it weighs as much as its
# heaviest word there. It has one spelling for the whole corpus: the word of its group with the
# largest summed weight.

FIXED_POINT = 2.0**16  # sums of whole numbers below 2^53 are exact in any order


@dataclass(frozen=True, slots=True)
class RankedTerms:
    """All terms that each document has; row d holds those of document d, the heaviest first, ties
    in ascending order of key."""

    document_ids: list[str]
    offsets: NDArray[np.int64]  # [D + 1]
    terms: NDArray[np.int32]  # [E] numbers in ascending order of key
    weights: NDArray[np.float32]  # [E]
    spellings: list[str]  # [V] of each term

    @property
    def counts(self) -> NDArray[np.int64]:
        """[D] the number of distinct terms of each document."""
        return np.diff(self.offsets)

    def row(self, document: int) -> NDArray[np.int32]:
        """One document's terms, heaviest first."""
        return self.terms[self.offsets[document] : self.offsets[document + 1]]


def rank(weighed: Weighed, key: Callable[[str], str]) -> RankedTerms:
    """Make terms of words with one key, and sort each document's terms by weight."""
    keys = [word if word.startswith(RESERVED) else key(word) for word in weighed.words]
    number = {name: i for i, name in enumerate(sorted(set(keys)))}
    groups = np.array([number[name] for name in keys], np.int32)  # [W]
    packed = pack(weighed.weights, groups[weighed.word_ids])
    kept = sort_rows(weighed.offsets, packed, len(number))
    weights, terms = unpack(packed[kept])
    offsets = np.concatenate([[0], np.cumsum(kept)])[weighed.offsets]
    return RankedTerms(weighed.document_ids, offsets, terms, weights, _spell(weighed, groups))


def pack(weights: NDArray[np.float32], terms: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Pack weight and term into one number whose ascending order is: weight descending, then term
    ascending.

    The bits of floats ≥ 0 are in the order of the floats.
    """
    bits = (weights + np.float32(0)).view(np.uint32)  # + 0 turns −0 into 0
    return (~bits).astype(np.uint64) << np.uint64(32) | terms.astype(np.uint64)


def unpack(packed: NDArray[np.uint64]) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """The weights and terms of packed numbers."""
    bits = ~(packed >> np.uint64(32)).astype(np.uint32)
    return bits.view(np.float32), (packed & np.uint64(0xFFFFFFFF)).astype(np.int32)


@compiled
def sort_rows(
    offsets: NDArray[np.int64], packed: NDArray[np.uint64], vocabulary: int
) -> NDArray[np.bool_]:
    """Sort each row in place; True [E] where a term occurs first, so with its largest weight."""
    kept = np.zeros(len(packed), np.bool_)
    last_row = np.full(vocabulary, -1, np.int64)
    for row in range(len(offsets) - 1):
        packed[offsets[row] : offsets[row + 1]].sort()
        for at in range(offsets[row], offsets[row + 1]):
            term = packed[at] & np.uint64(0xFFFFFFFF)
            kept[at] = last_row[term] != row
            last_row[term] = row
    return kept


def _spell(weighed: Weighed, groups: NDArray[np.int32]) -> list[str]:
    """Each group's word of largest summed weight; ties go to the first in ascending order."""
    totals = np.bincount(
        weighed.word_ids, np.rint(weighed.weights * FIXED_POINT), minlength=len(weighed.words)
    )
    spelled: dict[int, tuple[float, str]] = {}
    for group, total, word in zip(groups.tolist(), totals.tolist(), weighed.words, strict=True):
        entry = (-total, word)
        if group not in spelled or entry < spelled[group]:
            spelled[group] = entry
    return [spelled[group][1] for group in range(len(spelled))]


# Hashes of sets of terms: the sum of its terms' hashes, so the order of the terms does not matter.
#
# Selection uses equal hashes for equal sets. Should two different sets ever hash alike, a document
# would give up a term without need; sets that must differ still do.

Hashes = NDArray[np.uint64]


def term_hashes(terms: NDArray[np.int32]) -> Hashes:
    """A well-mixed 64-bit number for each term (the finaliser of splitmix64)."""
    x = (terms.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class PrefixHashes:
    """The hash of the first n terms of every row, for any n."""

    def __init__(self, offsets: NDArray[np.int64], terms: NDArray[np.int32]) -> None:
        self._start = offsets[:-1]
        self._counts = np.diff(offsets)
        # Differences of running sums are right although the sums wrap around.
        self._sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(term_hashes(terms))])

    def first(self, n: int) -> Hashes:
        """[D] the hash of the first n terms of each row, or of all terms where it has fewer."""
        end = self._start + np.minimum(self._counts, n)
        hashes: Hashes = self._sums[end] - self._sums[self._start]
        return hashes

    def all(self) -> Hashes:
        """[D] the hash of all terms of each row."""
        return self.first(int(self._counts.max(initial=0)))


# Telling documents with equal term sets apart, whatever the order of the documents.
#
# The paper swaps the last term of one of them for its next-heaviest until the sets differ. In full:
#
# - of the documents with equal sets the one with the fewest candidates, then the smallest id, keeps
#   its set (it may have no other); the rest move, all movers of the corpus in that same order;
# - a document moves to the first combination of N of its candidates, in lexicographic order of
#   their ranks, that no document has. That is at first the paper's swap of the last term for the
#   next ones, then the last two are swapped, and so on. When all combinations are taken, sets of N
#   + 1 terms follow, up to all its words, which no document with other words can have.
#
# Duplicates (same words, same N heaviest) move as one.

Bool = NDArray[np.bool_]
Ranks = tuple[int, ...]
Duplicates = list[int]
"""Documents with the same words and the same set, in ascending order of id."""


def resolve(candidates: RankedTerms, n: int) -> dict[int, Ranks]:
    """Find the documents that cannot keep their N heaviest terms.

    Returns the ranks of the terms that each of them takes instead.
    """
    ids, counts = candidates.document_ids, candidates.counts

    def turn(duplicates: Duplicates) -> tuple[int, str]:
        return int(counts[duplicates[0]]), ids[duplicates[0]]

    hashes = PrefixHashes(candidates.offsets, candidates.terms)
    movers: list[Duplicates] = []
    for documents in _contested(hashes.first(n), hashes.all()):
        by_id = [sorted(duplicates, key=ids.__getitem__) for duplicates in documents]
        movers += sorted(by_id, key=turn)[1:]
    taken = _Taken(hashes.first(n))
    moves: dict[int, Ranks] = {}
    for duplicates in sorted(movers, key=turn):
        moves |= _move(candidates, duplicates, n, taken)
    return moves


def unique(hashes: Hashes, contents: Hashes) -> bool:
    """Whether only documents with equal contents have equal sets."""
    _, same_set, same_words = _sorted(hashes, contents)
    return not (same_set & ~same_words).any()


class _Taken:
    """The sets that documents have: those they started with, and those they moved to."""

    def __init__(self, hashes: Hashes) -> None:
        self._start = np.unique(hashes)
        self._moved: set[int] = set()

    def __contains__(self, value: int) -> bool:
        at = np.searchsorted(self._start, np.uint64(value))
        return value in self._moved or bool((self._start[at : at + 1] == value).any())

    def add(self, value: int) -> None:
        self._moved.add(value)


def _sorted(hashes: Hashes, contents: Hashes) -> tuple[NDArray[np.int64], Bool, Bool]:
    """Documents sorted by set, then words; and for each but the first, whether it has the same set
    and the same words as the one before it."""
    order = np.lexsort((contents, hashes))  # [D]
    same_set = hashes[order[1:]] == hashes[order[:-1]]  # [D - 1]
    same_words = same_set & (contents[order[1:]] == contents[order[:-1]])
    return order, same_set, same_words


def _contested(hashes: Hashes, contents: Hashes) -> Iterator[list[Duplicates]]:
    """For each set that documents with different words share, these documents."""
    order, same_set, same_words = _sorted(hashes, contents)
    number = np.concatenate([[0], np.cumsum(~same_set)])  # [D] of the set, in sorted order
    for wanted in np.unique(number[1:][same_set & ~same_words]):
        start, end = np.searchsorted(number, [wanted, wanted + 1])
        borders = np.flatnonzero(~same_words[start : end - 1]) + 1
        yield [part.tolist() for part in np.split(order[start:end], borders)]


def _move(
    candidates: RankedTerms, duplicates: Duplicates, n: int, taken: _Taken
) -> dict[int, Ranks]:
    """Give documents with the same words the first combination of their terms that is not taken."""
    rows = [candidates.row(document) for document in duplicates]
    hashes = term_hashes(rows[0]).tolist()
    for ranks in combinations_by_rank(len(hashes), n):
        value = sum(hashes[rank] for rank in ranks) % 2**64
        if value not in taken:
            break
    taken.add(value)
    chosen = set(rows[0][list(ranks)].tolist())
    return {
        document: tuple(rank for rank, term in enumerate(row.tolist()) if term in chosen)
        for document, row in zip(duplicates, rows, strict=True)
    }


def combinations_by_rank(count: int, n: int) -> Iterator[Ranks]:
    """All sets of N ranks, then of N + 1, up to all of them; each size in lexicographic order."""
    return chain.from_iterable(
        combinations(range(count), size) for size in range(min(n, count), count + 1)
    )


# Selection: T(D) is the N heaviest terms of D, and no two documents have the same T(D).
#
# A document with fewer than N words has all of them; one without words has a term made from its id.
# Documents with the same words and the same N heaviest are duplicates: they share a set and are
# found together. How other documents with equal sets are told apart is written above.


@dataclass(frozen=True, slots=True)
class Selection:
    """T(D) of every document: row d holds the terms of document d, heaviest first."""

    n: int
    offsets: NDArray[np.int64]  # [D + 1]
    terms: NDArray[np.int32]  # [E] heaviest first
    weights: NDArray[np.float32]  # [E]
    first: NDArray[np.int32]  # [D] the lowest-numbered document with the same set
    moved: int  # documents that gave up a term to differ from another


def select(candidates: RankedTerms, n: int | None) -> Selection:
    """Select T(D) of every document; with `n` None, N is the smallest that needs no swaps."""
    n = smallest_n(candidates) if n is None else n
    moves = resolve(candidates, n)
    lengths = np.minimum(candidates.counts, n)
    for document, ranks in moves.items():
        lengths[document] = len(ranks)
    offsets = offsets_of(lengths)
    at = np.arange(offsets[-1]) + np.repeat(candidates.offsets[:-1] - offsets[:-1], lengths)
    for document, ranks in moves.items():
        place = slice(offsets[document], offsets[document + 1])
        at[place] = candidates.offsets[document] + np.array(ranks)
    terms = candidates.terms[at]
    first = first_with_same(PrefixHashes(offsets, terms).all())
    return Selection(n, offsets, terms, candidates.weights[at], first, len(moves))


def smallest_n(candidates: RankedTerms) -> int:
    """The smallest N at which only documents with the same words have the same set.

    Uniqueness is not monotone in N, so every N is tried; N = all words always does.
    """
    hashes = PrefixHashes(candidates.offsets, candidates.terms)
    contents, most = hashes.all(), int(candidates.counts.max(initial=1))
    wanted = (n for n in range(1, most) if unique(hashes.first(n), contents))
    return next(wanted, most)


def first_with_same(hashes: Hashes) -> NDArray[np.int32]:
    """[D] the lowest number of a row with an equal hash."""
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    return first[inverse].astype(np.int32)


# N by what queries ask for.
#
# A page is asked for by its name, which is among its first terms; a passage is asked for its
# details. With c(N) the mean share of a training query's words among the N heaviest terms of its
# document, N goes on to the next of 12, 16, 24, 32, 48 as long as that pays:
#
#     ln c(N') − ln c(N) ≥ g (ln N' − ln N),
#
# that is, a tenth more terms answers at least g tenths more of the words. Without training queries
# nobody knows what will be asked for, and N is the largest.

SIZES = (12, 16, 24, 32, 48)
GAIN = 0.2  # g
SAMPLE = 5000  # pairs, evenly spread


def n_for_queries(data: DataSet, candidates: RankedTerms, splitter: Splitter) -> int:
    """Choose N for these documents by their training queries."""
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
    candidates: RankedTerms, pairs: Sequence[Pair], splitter: Splitter
) -> NDArray[np.float64]:
    """[len(SIZES)] c(N) for each size N: the mean share of a query's words among the first N
    terms."""
    number = {splitter.key(word): i for i, word in enumerate(candidates.spellings)}
    rows = [_ranks(candidates, pair, splitter, number) for pair in pairs]
    rows = [row for row in rows if len(row)]  # not those of stop words alone
    if not rows:
        return np.zeros(len(SIZES))
    shares = np.array([[np.mean(row < size) for size in SIZES] for row in rows])  # [Q, sizes]
    means: NDArray[np.float64] = shares.mean(axis=0)
    return means


def _ranks(
    candidates: RankedTerms, pair: Pair, splitter: Splitter, number: dict[str, int]
) -> NDArray[np.int64]:
    """The place of each of the query's words among the document's terms; a word that the document
    does not have gets a place behind all sizes."""
    terms = candidates.row(pair.document)
    keys = splitter.keys(pair.query)
    found = [np.flatnonzero(terms == number.get(key, -1)) for key in keys]
    return np.array([one[0] if len(one) else len(terms) + SIZES[-1] for one in found], np.int64)
