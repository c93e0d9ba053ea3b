"""Term sets: at each step any term that some document holds together with all terms so far.

The state of a set (its documents Y and its next terms V) is computed once, however many beams and
queries reach it in whatever order. V is written down only where Y is small. Where Y is large nearly
every term is valid, so the search is offered all terms and asks `leads` about the best ones.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain import documents as valid
from tsgen.constrain.constraint import Allowed, Bool, Cursor, Int, Int32, Ragged
from tsgen.constrain.documents import BITMAPS, Documents, Index
from tsgen.constrain.frontier import SetFrontier
from tsgen.constrain.in_order import in_order
from tsgen.constrain.kernel import fixed
from tsgen.constrain.keys import Keys, first_equal, member_keys
from tsgen.constrain.remembered import Remembered
from tsgen.constrain.shares import by_term, shares_of
from tsgen.constrain.spelled import Entries, next_tokens
from tsgen.constrain.term_index import (
    TermSetArrays,
    every_document,
    make_index,
    these_documents,
)
from tsgen.constrain.trie import SequenceTrie
from tsgen.constrain.valid_terms import valid_terms
from tsgen.docids.spelling import Spelling
from tsgen.errors import ConfigError

UNLIMITED = 2**62
LIST_SHARE = 32  # documents of a set for each first token: where listing V costs as much as not
LIST_AT_LEAST = 256


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
        if len(spelling) != len(sets.post_offsets) - 1:
            raise ConfigError(
                f"{len(sets.post_offsets) - 1} terms in the sets but {len(spelling)} in the "
                "spelling: expected a spelling made for these sets"
            )
        self.spelling = spelling
        self._offsets = fixed(sets.doc_offsets, np.int64)
        self._terms = fixed(sets.doc_terms, np.int32)
        self._weights: NDArray[np.floating] | None = getattr(sets, "doc_weights", None)
        self._asked: Callable[[str], Int32] | None = getattr(sets, "asked", None)
        self._spelled = fixed(spelling.offsets, np.int64), fixed(spelling.tokens, np.int32)
        self._rank_of = fixed(spelling.rank_of, np.int32)
        self._ranked = bool(np.all(self._rank_of == np.arange(len(spelling))))
        self._one_document = one_document
        self._beginnings: dict[bool, Entries] = {}
        if list_up_to is None:
            firsts = len(self._all_entries(False).tokens)
            list_up_to = max(LIST_AT_LEAST, firsts // LIST_SHARE)
        self._list_up_to = list_up_to
        self._index = make_index(sets, heavy)
        self._singles = Remembered(len(spelling))
        self._by_length = np.bincount(np.diff(self._offsets))
        self._with_length: dict[int, Int32] = {}
        self._all_used = bool(np.all(np.diff(self._index.offsets) > 0))

    @property
    def documents(self) -> int:
        """The number of documents."""
        return len(self._offsets) - 1

    @property
    def term_sets(self) -> Ragged:
        """T(D) of every document, heaviest first."""
        return Ragged(self._offsets, self._terms)

    @property
    def postings(self) -> Ragged:
        """Φ(t) of every term, ascending."""
        return Ragged(self._index.offsets, self._index.documents)

    @cached_property
    def in_order(self) -> SequenceTrie:
        """The constraint of the same terms as sequences, heaviest first."""
        return in_order(self.term_sets, self.spelling)

    @cached_property
    def shares(self) -> NDArray[np.float32]:
        """Beside the terms of `term_sets`: each document's weights with sum 1."""
        return shares_of(self._offsets, self._weights)

    @cached_property
    def relative_weights(self) -> NDArray[np.float32]:
        """Beside the documents of `postings`: the weight that the term has in each, over the mean
        weight of the document's terms."""
        sizes = np.diff(self._offsets)
        relative = self.shares * np.repeat(sizes, sizes).astype(np.float32)
        return by_term(self._terms, relative, self._index.offsets)

    def asked(self, query: str) -> Int32:
        """The terms that are words of a query; none, if the sets do not know their words."""
        return np.empty(0, np.int32) if self._asked is None else self._asked(query)

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

    @property
    def spelled(self) -> Int32:
        """The tokens of all terms, by rank."""
        return self._spelled[1]

    def start(
        self, batch: int, pool: Ragged | None = None, exact: bool = False, skip: bool = False
    ) -> SetFrontier:
        """Algorithm 1's initial X = ∅, Y = all documents or the row's pool, V = all their terms."""
        index = self._index._replace(limit=UNLIMITED) if exact else self._index
        if pool is None:
            keys, set_of = np.zeros((1, 2), dtype=np.uint64), np.zeros(batch, dtype=np.int64)
            documents = every_document(self.documents)
            if exact and not self._all_used:  # then V is to be listed without the unused terms
                ends = np.array([0, self.documents])
                documents = these_documents(Ragged(ends, np.arange(self.documents, dtype=np.int32)))
            return self._frontier(index, set_of, keys, documents, exact, skip)
        sums = np.zeros((len(pool.values) + 1, 2), dtype=np.uint64)
        np.cumsum(member_keys(pool.values), axis=0, out=sums[1:])
        # Scaled, because the sum for documents {3, 5} must not look like the one for terms {3, 5}.
        keys = (sums[pool.offsets[1:]] - sums[pool.offsets[:-1]]) * np.uint64(0x2545F4914F6CDD1D)
        documents = these_documents(pool)
        set_of = np.arange(batch, dtype=np.int64) if len(keys) > 1 else np.zeros(batch, np.int64)
        return self._frontier(index, set_of, keys, documents, exact, skip)

    def cursor(self, frontier: SetFrontier, rows: Int) -> Cursor:
        """Cursors at the beginning of the rows' next term."""
        sets = frontier.set_of[rows]
        self._list_terms(frontier, sets)
        return Cursor(rows, frontier.low[sets], frontier.high[sets], np.zeros_like(rows))

    def allowed(self, frontier: SetFrontier, cursor: Cursor) -> Allowed:
        """The tokens that may come next; rows without a list share the entries of all terms."""
        sets = frontier.set_of[cursor.row]
        unlisted = ~frontier.listed[sets]
        sure = ~unlisted | self._is_root(frontier)
        whole = unlisted & (cursor.depth == 0)
        if whole.all() and len(cursor):
            return self._first_tokens(len(cursor), sure, frontier.skip)
        own, plain = cursor.take(~whole), unlisted[~whole]
        entries = next_tokens(
            *self._spelled, frontier.ranks, plain, own.low, own.high, own.depth, frontier.skip
        )
        if not whole.any():
            return Allowed(*entries, sure)
        shared = self._first_tokens(len(cursor), sure, frontier.skip)
        shared.starts[~whole] = entries.starts + len(shared.tokens)
        shared.ends[~whole] = entries.ends + len(shared.tokens)
        return Allowed(
            shared.starts,
            shared.ends,
            np.concatenate((shared.tokens, entries.tokens)),
            np.concatenate((shared.closes, entries.closes)),
            np.concatenate((shared.low, entries.low)),
            np.concatenate((shared.place, entries.place)),
            np.concatenate((shared.depth, entries.depth)),
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
        """Add each cursor's term to its row's set: Y ← Y ∩ Φ(t)."""
        keys = self.keys(frontier, cursor)
        leaders, set_of = np.unique(first_equal(keys), return_inverse=True)
        terms = self.units(frontier, cursor)[leaders].astype(np.int32)
        parents = frontier.set_of[cursor.row[leaders]]
        narrowed = valid.narrow(
            frontier.index, frontier.documents, parents, terms, self._one_document
        )
        narrowed = narrowed._replace(listed=fixed(narrowed.listed, np.int32))
        exact = frontier.index.limit == UNLIMITED
        keys = keys[leaders]
        return self._frontier(frontier.index, set_of, keys, narrowed, exact, frontier.skip)

    def completed(self, frontier: SetFrontier) -> Ragged:
        """For each row the documents with T(D) = X, even where others continue."""
        held = frontier.documents.terms.shape[1]
        rows = len(frontier.set_of)
        if not self.ends(held):
            return Ragged(np.zeros(rows + 1, dtype=np.int64), np.zeros(0, dtype=np.int32))
        offsets, found = valid.of_length(
            frontier.index, frontier.documents, self._offsets, self._of_length(held)
        )
        return Ragged(offsets, found).take(frontier.set_of)

    def valid(self, frontier: SetFrontier) -> Int:
        """[R] |Y|."""
        count: Int = frontier.documents.sizes[frontier.set_of]
        return count

    def identifier(self, document: int) -> list[int]:
        """T(D), heaviest first."""
        terms: list[int] = self.term_sets.row(document).tolist()
        return terms

    def decided(self, frontier: SetFrontier, rows: Int) -> Int:
        """[C] the document in Y where it is the only one, or -1."""
        return valid.only_document(frontier.index, frontier.documents, frontier.set_of[rows])

    def _all_entries(self, skip: bool) -> Entries:
        """The entries with which any term begins."""
        if skip not in self._beginnings:
            none, zero = fixed(np.zeros(0), np.int32), np.zeros(1, dtype=np.int64)
            everything, plain = zero + len(self.spelling), np.ones(1, dtype=np.bool_)
            self._beginnings[skip] = next_tokens(
                *self._spelled, none, plain, zero, everything, zero, skip
            )
        return self._beginnings[skip]

    def _first_tokens(self, cursors: int, sure: Bool, skip: bool) -> Allowed:
        every = self._all_entries(skip)
        starts = np.zeros(cursors, dtype=np.int64)
        ends = np.full_like(starts, len(every.tokens))
        return Allowed(*every._replace(starts=starts, ends=ends), sure)

    def _is_root(self, frontier: SetFrontier) -> bool:
        """Whether nothing narrows the choice yet: then every term of a document is valid."""
        documents = frontier.documents
        return self._all_used and documents.terms.shape[1] == 0 and documents.form[0] == BITMAPS

    def _of_length(self, held: int) -> Int32:
        """All documents with that many terms, ascending."""
        if held not in self._with_length:
            documents = np.flatnonzero(np.diff(self._offsets) == held)
            self._with_length[held] = fixed(documents, np.int32)
        return self._with_length[held]

    def _frontier(
        self,
        index: Index,
        set_of: Int,
        keys: Keys,
        documents: Documents,
        exact: bool,
        skip: bool,
    ) -> SetFrontier:
        few = documents.form != BITMAPS
        if not exact:
            few &= documents.sizes <= self._list_up_to
        low = np.zeros(len(few), dtype=np.int64)
        high, none = np.full_like(low, len(self.spelling)), fixed(np.zeros(0), np.int32)
        listed = np.zeros_like(few)
        return SetFrontier(index, set_of, keys, documents, few, listed, low, high, none, skip)

    def _list_terms(self, frontier: SetFrontier, sets: Int) -> None:
        """V ← ∪ {T(D) : D ∈ Y} \\ X for these sets, where Y is small and it was not done before."""
        wanted = np.zeros_like(frontier.few)
        wanted[sets] = True
        wanted &= frontier.few & ~frontier.listed
        if not wanted.any():
            return
        singles = wanted & frontier.heavy_singles()
        known = self._singles.known(frontier, singles)
        fresh = wanted & ~known
        if fresh.any():
            low, high, ranks = valid_terms(
                frontier.index,
                frontier.documents,
                fresh,
                self._offsets,
                self._terms,
                self._rank_of,
                self._ranked,
                self.longest,
            )
            frontier.write(fresh, low[fresh], high[fresh], ranks)
            self._singles.keep(frontier, np.flatnonzero(singles & fresh))
        if known.any():
            lists = self._singles.take(frontier.documents.terms[known, 0])
            frontier.write(known, lists.offsets[:-1], lists.offsets[1:], lists.values)
