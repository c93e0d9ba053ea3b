"""Term sets: at each step any term that some document holds together with all terms so far.

The state of a set (its documents Y and its next terms V) is computed once, however many beams and
queries reach it in whatever order. V is written down only where Y is small. Where Y is large nearly
every term is valid, so the search is offered all terms and asks `leads` about the best ones.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain import documents as valid
from tsgen.constrain.bits import make_bitmaps
from tsgen.constrain.constraint import Allowed, Bool, Cursor, Int, Int32, Ragged
from tsgen.constrain.documents import BITMAPS, LISTED, Documents, Index
from tsgen.constrain.kernel import fixed
from tsgen.constrain.keys import Keys, first_equal, member_keys
from tsgen.constrain.spelled import next_tokens
from tsgen.constrain.valid_terms import valid_terms
from tsgen.docids.spelling import Spelling

UNLIMITED = 2**62
LIST_SHARE = 32  # documents of a set for each first token: where listing V costs as much as not
LIST_AT_LEAST = 256
HEAVY_SHARE = 128  # a term in more than 1/128 of the documents: its bitmap is 4 lists long at most
HEAVY_AT_LEAST = 1024


class TermSetArrays(Protocol):
    """T(D) for every document and Φ(t) for every term, as CSR arrays (memory-mapped or not)."""

    @property
    def doc_offsets(self) -> NDArray[np.integer]:
        """[D + 1]."""
        ...

    @property
    def doc_terms(self) -> NDArray[np.integer]:
        """The terms of each document."""
        ...

    @property
    def post_offsets(self) -> NDArray[np.integer]:
        """[T + 1]."""
        ...

    @property
    def post_docs(self) -> NDArray[np.integer]:
        """The documents of each term, ascending."""
        ...


@dataclass(frozen=True, slots=True)
class SetFrontier:
    """Rows that stand for sets of equal size; rows with the same set share its state."""

    index: Index
    set_of: Int  # [R] row → set
    keys: Keys  # [S, 2]
    documents: Documents
    listed: Bool  # [S] whether V is written down; else it is among all terms
    low: Int  # [S] V is the slice low:high of `ranks`, or of all ranks
    high: Int  # [S]
    ranks: Int32


class PostingsConstraint:
    """Algorithm 1's constraint for term-set DocIDs."""

    def __init__(
        self,
        sets: TermSetArrays,
        spelling: Spelling,
        *,
        heavy: int | None = None,
        list_up_to: int | None = None,
        one_document: bool = True,
    ) -> None:
        """Terms in more than `heavy` documents get bitmaps; sets of at most `list_up_to` documents
        have their next terms listed; with `one_document` a set that only one document holds is
        continued without looking at postings."""
        self.spelling = spelling
        self._offsets = fixed(sets.doc_offsets, np.int64)
        self._terms = fixed(sets.doc_terms, np.int32)
        self._spelled = fixed(spelling.offsets, np.int64), fixed(spelling.tokens, np.int32)
        self._rank_of = fixed(spelling.rank_of, np.int32)
        self._ranked = bool(np.all(self._rank_of == np.arange(len(spelling))))
        self._one_document = one_document
        if list_up_to is None:
            list_up_to = max(LIST_AT_LEAST, len(self._all_entries[0]) // LIST_SHARE)
        self._list_up_to = list_up_to
        if heavy is None:
            heavy = max(HEAVY_AT_LEAST, self.documents // HEAVY_SHARE)
        self._index = _index(sets, self.documents, heavy)
        self._by_length = np.bincount(np.diff(self._offsets))
        self._all_used = bool(np.all(np.diff(self._index.offsets) > 0))

    @property
    def documents(self) -> int:
        """The number of documents."""
        return len(self._offsets) - 1

    @property
    def term_sets(self) -> Ragged:
        """T(D) of every document, heaviest first."""
        return Ragged(self._offsets, self._terms)

    @cached_property
    def alphabet(self) -> Int32:
        """The tokens that occur in terms, ascending."""
        return self.spelling.alphabet

    @property
    def longest(self) -> int:
        """The size of the largest set."""
        return len(self._by_length) - 1

    def ends(self, units: int) -> bool:
        """Whether some document has exactly that many terms."""
        return units <= self.longest and bool(self._by_length[units])

    def start(self, batch: int, pool: Ragged | None = None, exact: bool = False) -> SetFrontier:
        """Algorithm 1's initial X = ∅, Y = all documents or the row's pool, V = all their terms."""
        index = self._index._replace(limit=UNLIMITED) if exact else self._index
        if pool is None:
            keys, set_of = np.zeros((1, 2), dtype=np.uint64), np.zeros(batch, dtype=np.int64)
            documents = _everything(self.documents)
            if exact and not self._all_used:  # then V is to be listed without the unused terms
                ends = np.array([0, self.documents])
                documents = _listed(Ragged(ends, np.arange(self.documents, dtype=np.int32)))
            return self._frontier(index, set_of, keys, documents, exact)
        sums = np.zeros((len(pool.values) + 1, 2), dtype=np.uint64)
        np.cumsum(member_keys(pool.values), axis=0, out=sums[1:])
        # Scaled, because the sum for documents {3, 5} must not look like the one for terms {3, 5}.
        keys = (sums[pool.offsets[1:]] - sums[pool.offsets[:-1]]) * np.uint64(0x2545F4914F6CDD1D)
        documents = _listed(pool)
        return self._frontier(index, np.arange(batch, dtype=np.int64), keys, documents, exact)

    def cursor(self, frontier: SetFrontier, rows: Int) -> Cursor:
        """Cursors at the beginning of the rows' next term."""
        sets = frontier.set_of[rows]
        return Cursor(rows, frontier.low[sets], frontier.high[sets], np.zeros_like(rows))

    def allowed(self, frontier: SetFrontier, cursor: Cursor) -> Allowed:
        """The tokens that may come next; rows without a list share the entries of all terms."""
        sets = frontier.set_of[cursor.row]
        unlisted = ~frontier.listed[sets]
        sure = ~unlisted | self._is_root(frontier)
        whole = unlisted & (cursor.depth == 0)
        if whole.all() and len(cursor):
            return self._first_tokens(len(cursor), sure)
        own = cursor.take(~whole)
        starts, ends, tokens, closes, low = next_tokens(
            *self._spelled, frontier.ranks, unlisted[~whole], own.low, own.high, own.depth
        )
        if not whole.any():
            return Allowed(starts, ends, tokens, closes, low, sure)
        shared = self._first_tokens(len(cursor), sure)
        shared.starts[~whole] = starts + len(shared.tokens)
        shared.ends[~whole] = ends + len(shared.tokens)
        return Allowed(
            shared.starts,
            shared.ends,
            np.concatenate((shared.tokens, tokens)),
            np.concatenate((shared.closes, closes)),
            np.concatenate((shared.low, low)),
            sure,
        )

    def leads(self, frontier: SetFrontier, cursor: Cursor) -> Bool:
        """[C] whether a document in Y has one of the cursor's terms besides those generated."""
        sets = frontier.set_of[cursor.row]
        found: Bool = frontier.listed[sets].copy()
        ask = cursor.take(~found)
        found[~found] = valid.leads(
            frontier.index,
            frontier.documents,
            frontier.set_of[ask.row],
            ask.low,
            ask.high,
            self.spelling.term_of,
        )
        return found

    def units(self, frontier: SetFrontier, cursor: Cursor) -> Int:
        """[C] the term that each cursor has just closed."""
        listed = frontier.listed[frontier.set_of[cursor.row]]
        ranks = cursor.low.copy()
        ranks[listed] = frontier.ranks[cursor.low[listed]]
        return self.spelling.term_of[ranks].astype(np.int64)

    def keys(self, frontier: SetFrontier, cursor: Cursor) -> Keys:
        """[C, 2] the key of X ∪ {t}."""
        sets = frontier.set_of[cursor.row]
        keys: Keys = frontier.keys[sets] + member_keys(self.units(frontier, cursor))
        return keys

    def close(self, frontier: SetFrontier, cursor: Cursor) -> SetFrontier:
        """Add each cursor's term to its row's set: Y ← Y ∩ Φ(t), V ← ∪ T(D) \\ X."""
        keys = self.keys(frontier, cursor)
        leaders, set_of = np.unique(first_equal(keys), return_inverse=True)
        terms = self.units(frontier, cursor)[leaders].astype(np.int32)
        parents = frontier.set_of[cursor.row[leaders]]
        narrowed = valid.narrow(
            frontier.index, frontier.documents, parents, terms, self._one_document
        )
        narrowed = narrowed._replace(listed=fixed(narrowed.listed, np.int32))
        exact = frontier.index.limit == UNLIMITED
        return self._frontier(frontier.index, set_of, keys[leaders], narrowed, exact)

    def completed(self, frontier: SetFrontier) -> Ragged:
        """For each row the documents with T(D) = X, even where others continue."""
        held = frontier.documents.terms.shape[1]
        rows = len(frontier.set_of)
        if not self.ends(held):
            return Ragged(np.zeros(rows + 1, dtype=np.int64), np.zeros(0, dtype=np.int32))
        offsets, found = valid.of_length(
            frontier.index, frontier.documents, self._offsets, self._of_length(held, frontier)
        )
        return Ragged(offsets, found).take(frontier.set_of)

    def valid(self, frontier: SetFrontier) -> Int:
        """[R] |Y|."""
        count: Int = frontier.documents.sizes[frontier.set_of]
        return count

    @cached_property
    def _all_entries(self) -> tuple[Int32, Bool, Int32]:
        """Tokens, closes and low of the entries with which any term begins."""
        none, zero = np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64)
        everything = np.array([len(self.spelling)], dtype=np.int64)
        plain = np.ones(1, dtype=np.bool_)
        entries = next_tokens(*self._spelled, fixed(none, np.int32), plain, zero, everything, zero)
        return entries[2:]

    def _first_tokens(self, cursors: int, sure: Bool) -> Allowed:
        tokens, closes, low = self._all_entries
        starts = np.zeros(cursors, dtype=np.int64)
        return Allowed(starts, np.full_like(starts, len(tokens)), tokens, closes, low, sure)

    def _is_root(self, frontier: SetFrontier) -> bool:
        """Whether nothing narrows the choice yet: then every term of a document is valid."""
        documents = frontier.documents
        return self._all_used and documents.terms.shape[1] == 0 and documents.form[0] == BITMAPS

    def _of_length(self, held: int, frontier: SetFrontier) -> Int32:
        """All documents with that many terms, where a set in the form of bitmaps asks for them."""
        if not np.any(frontier.documents.form == BITMAPS):
            return fixed(np.zeros(0), np.int32)
        return fixed(np.flatnonzero(np.diff(self._offsets) == held), np.int32)

    def _frontier(
        self, index: Index, set_of: Int, keys: Keys, documents: Documents, exact: bool
    ) -> SetFrontier:
        listed = documents.form != BITMAPS
        if not exact:
            listed &= documents.sizes <= self._list_up_to
        low, high, ranks = valid_terms(
            index,
            documents,
            listed,
            self._offsets,
            self._terms,
            self._rank_of,
            self._ranked,
            self.longest,
        )
        low, high = np.where(listed, low, 0), np.where(listed, high, len(self.spelling))
        ranks = fixed(ranks, np.int32)
        return SetFrontier(index, set_of, keys, documents, listed, low, high, ranks)


def _index(sets: TermSetArrays, documents: int, heavy: int) -> Index:
    offsets, docs = fixed(sets.post_offsets, np.int64), fixed(sets.post_docs, np.int32)
    heavy_terms = np.flatnonzero(np.diff(offsets) > heavy).astype(np.int32)
    bitmap_of = np.full(len(offsets) - 1, -1, dtype=np.int32)
    bitmap_of[heavy_terms] = np.arange(len(heavy_terms), dtype=np.int32)
    bitmaps = make_bitmaps(offsets, docs, heavy_terms, documents)
    return Index(offsets, docs, fixed(bitmap_of, np.int32), fixed(bitmaps, np.uint64), heavy)


def _everything(count: int) -> Documents:
    """The empty set, held by all documents: a conjunction of no bitmaps."""
    zero = np.zeros(1, dtype=np.int64)
    none = np.zeros((1, 0), dtype=np.int32)
    form = np.full(1, BITMAPS, dtype=np.int8)
    return Documents(none, form, zero, zero, zero + count, fixed(none[0], np.int32))


def _listed(pool: Ragged) -> Documents:
    """The empty set, held by each row's own documents."""
    low, high = pool.offsets[:-1].copy(), pool.offsets[1:].copy()
    none = np.zeros((len(low), 0), dtype=np.int32)
    form = np.full(len(low), LISTED, dtype=np.int8)
    return Documents(none, form, low, high, high - low, fixed(pool.values, np.int32))
