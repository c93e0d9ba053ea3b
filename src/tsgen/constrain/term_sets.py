"""The constraint for term sets: valid is any term that a document has beside all terms so far.

The state of a set, its documents Y and its next terms V, is computed once for all hypotheses and
queries that reach it in any order. V is listed only where Y is small. Where Y is large nearly every
term is valid, so the search is offered all terms and calls `leads` for the best ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from threading import Lock
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain import valid_terms as valid
from tsgen.constrain.constraint import Allowed, Bool, Cursor, Int, Int32, Ragged, spans
from tsgen.constrain.kernels import (
    Entries,
    Keys,
    first_equal,
    fixed,
    kernel,
    member_keys,
    next_tokens,
)
from tsgen.constrain.trie import SequenceTrie
from tsgen.constrain.valid_terms import (
    BITMAPS,
    LISTED,
    POSTINGS,
    Documents,
    Index,
    make_bitmaps,
    valid_documents,
    valid_terms,
)
from tsgen.docids.spelling import Spelling
from tsgen.docids.term_set import by_posting, relative_weights, shares_of
from tsgen.errors import ConfigError
from tsgen.terms.passages import DocumentVectors

# The frontier: the state of rows that stand between two terms.


@dataclass(slots=True)
class SetFrontier:
    """R rows that stand for S sets of equal size; rows with the same set share its state.

    V is listed when a row is first continued, since most closed rows never are.
    """

    index: Index
    set_of: Int  # [R] row → set
    keys: Keys  # [S, 2]
    documents: Documents
    few: Bool  # [S] whether V is to be listed; else all terms are offered
    listed: Bool  # [S] whether V has been listed
    low: Int  # [S] V is the slice low:high of `ranks`, or of all ranks
    high: Int  # [S]
    ranks: Int32
    skip: bool  # whether an entry goes on over tokens without an alternative

    def write(self, sets: Bool, low: Int, high: Int, ranks: Int32) -> None:
        """Store V of the given sets [S] as slices low:high of `ranks`."""
        before = self.ranks  # what was listed stays in its place: cursors point there
        self.low[sets] = low + len(before)
        self.high[sets] = high + len(before)
        self.listed |= sets
        joined = np.concatenate((before, ranks)) if len(before) else ranks
        self.ranks = fixed(joined, np.int32)

    def heavy_singles(self) -> Bool:
        """[S] whether the set is a single heavy term, and all its documents are Y."""
        found: Bool = self.documents.form == POSTINGS
        if found.any():  # then the sets are of one term
            found &= self.index.heavy[self.documents.terms[:, 0]] >= 0
        return found


# V of single heavy terms, kept from query to query.
#
# In every search some of the first terms are frequent ones. To list the terms that may follow such
# a term means to go through a large share of all documents, and gives the same list each time.

MOST = 2**24  # entries of all lists together: 64 MB


class HeavyTermLists:
    """The lists V of single heavy terms, as many as there is room for."""

    def __init__(self, terms: int) -> None:
        self._place = np.full(terms, -1, dtype=np.int32)  # of each term's list, or -1
        self._lists = Ragged(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32))
        self._adding = Lock()  # readers need none: a list is there before its place is known

    def has(self, terms: Int32) -> Bool:
        """[C] whether the term's list is known."""
        known: Bool = self._place[terms] >= 0
        return known

    def take(self, terms: Int32) -> Ragged:
        """The lists of these terms, all of them known."""
        return self._lists.take(self._place[terms].astype(np.int64))

    def known(self, frontier: SetFrontier, singles: Bool) -> Bool:
        """[S] which of the sets `singles` of a single term were listed for an earlier query."""
        found = singles.copy()
        if found.any():
            found[found] = self.has(frontier.documents.terms[found, 0])
        return found

    def keep(self, frontier: SetFrontier, new: Int) -> None:
        """Keep V of sets `new` of a single term, which was just listed."""
        if len(new):
            low, high = frontier.low[new], frontier.high[new]
            self.add(frontier.documents.terms[new, 0], spans(frontier.ranks, low, high - low))

    def add(self, terms: Int32, lists: Ragged) -> None:
        """Keep the lists of these terms, all of them new, unless there is no more room."""
        with self._adding:
            before = self._lists
            if len(before.values) + len(lists.values) > MOST:
                return
            offsets: Int = np.concatenate((before.offsets, before.offsets[-1] + lists.offsets[1:]))
            self._lists = Ragged(offsets, np.concatenate((before.values, lists.values)))
            self._place[terms] = len(before.offsets) - 1 + np.arange(len(terms), dtype=np.int32)


# The index: postings, their bitmaps, and the documents of the empty set.

HEAVY_SHARE = 128  # a bitmap is then 4 times as long as the list of documents, at the most
HEAVY_AT_LEAST = 1024


class TermSetArrays(Protocol):
    """T(D) for every document and Φ(t) for every term, as CSR arrays (memory-mapped or not)."""

    @property
    def doc_offsets(self) -> NDArray[np.integer]:
        """[D + 1] where the terms of each document begin."""
        ...

    @property
    def doc_terms(self) -> NDArray[np.integer]:
        """The terms of each document."""
        ...

    @property
    def post_offsets(self) -> NDArray[np.integer]:
        """[T + 1] where the documents of each term begin."""
        ...

    @property
    def post_docs(self) -> NDArray[np.integer]:
        """The documents of each term, ascending."""
        ...


def make_index(sets: TermSetArrays, heavy: int | None = None) -> Index:
    """Φ with bitmaps for the terms in more than `heavy` documents, by default 1 in 128."""
    documents = len(sets.doc_offsets) - 1
    if heavy is None:
        heavy = max(HEAVY_AT_LEAST, documents // HEAVY_SHARE)
    heavy = max(heavy, 1)
    offsets, docs = fixed(sets.post_offsets, np.int64), fixed(sets.post_docs, np.int32)
    heavy_terms = np.flatnonzero(np.diff(offsets) > heavy).astype(np.int32)
    bitmap_of = np.full(len(offsets) - 1, -1, dtype=np.int32)
    bitmap_of[heavy_terms] = np.arange(len(heavy_terms), dtype=np.int32)
    bitmaps = make_bitmaps(offsets, docs, heavy_terms, documents)
    return Index(offsets, docs, fixed(bitmap_of, np.int32), fixed(bitmaps, np.uint64), heavy)


def every_document(count: int) -> Documents:
    """The empty set, held by all documents: a conjunction of no bitmaps."""
    zero = np.zeros(1, dtype=np.int64)
    none = np.zeros((1, 0), dtype=np.int32)
    form = np.full(1, BITMAPS, dtype=np.int8)
    return Documents(none, form, zero, zero, zero + count, fixed(none[0], np.int32))


def these_documents(pool: Ragged) -> Documents:
    """The empty set, held by each row's own documents."""
    low, high = pool.offsets[:-1].copy(), pool.offsets[1:].copy()
    none = np.zeros((len(low), 0), dtype=np.int32)
    form = np.full(len(low), LISTED, dtype=np.int8)
    return Documents(none, form, low, high, high - low, fixed(pool.values, np.int32))


# Y of some rows as lists, to show.


def documents_of(frontier: SetFrontier, rows: Int, most: int) -> list[tuple[int, ...]]:
    """The documents Y of each row, ascending; empty where there are more than `most`.

    The rows have at least one term.
    """
    sets = frontier.set_of[rows]
    few = frontier.documents.sizes[sets] <= most
    return [
        tuple(_listed(frontier.index, frontier.documents, number).tolist()) if small else ()
        for number, small in zip(sets.tolist(), few.tolist(), strict=True)
    ]


def _listed(index: Index, documents: Documents, number: int) -> Int32:
    if documents.form[number] != BITMAPS:
        listed: Int32 = valid_documents(index, documents, number)
        return listed
    postings = (
        index.documents[index.offsets[term] : index.offsets[term + 1]]
        for term in documents.terms[number]
    )
    return reduce(np.intersect1d, postings)


# Sums over the terms of every document.

Float32 = NDArray[np.float32]


@kernel
def sums_over_terms(offsets: Int, terms: Int32, shares: Float32, values: Float32) -> Float32:
    """[Q, D] Σ over the terms of each document of the term's share · its values [T, Q]."""
    queries = values.shape[1]
    sums = np.zeros((queries, len(offsets) - 1), dtype=np.float32)
    total = np.zeros(queries, dtype=np.float32)
    for document in range(len(offsets) - 1):
        total[:] = 0
        for j in range(offsets[document], offsets[document + 1]):
            for q in range(queries):
                total[q] += shares[j] * values[terms[j], q]
        for q in range(queries):
            sums[q, document] = total[q]
    return sums


# Term sets as sequences: of all orders of T(D) only the order by weight is valid.


def in_order(sets: Ragged, spelling: Spelling) -> SequenceTrie:
    """A trie over the spelled terms, heaviest first.

    Its units are whole terms, so that it differs from the constraint of the sets in nothing but the
    orders that are valid.
    """
    ranks = spelling.rank_of[sets.values].astype(np.int64)
    terms = Ragged(spelling.offsets, spelling.tokens).take(ranks)
    by_document = Ragged(terms.offsets[sets.offsets], terms.values)
    one_token_a_term = len(spelling.tokens) == len(spelling)
    terminator = None if one_token_a_term else int(spelling.tokens[-1])
    return SequenceTrie(by_document, terminator=terminator, labels=sets)


UNLIMITED = 2**62  # the limit with which V is always listed
LIST_SHARE = 32  # documents of a set for each first token: where listing V costs as much as not
LIST_AT_LEAST = 256


class PostingsConstraint:
    """The constraint of the paper's Algorithm 1, for identifiers that are term sets."""

    def __init__(
        self,
        sets: TermSetArrays,
        spelling: Spelling,
        *,
        heavy: int | None = None,
        list_up_to: int | None = None,
        one_document: bool = True,
    ) -> None:
        """Build the index of the postings.

        Args:
            sets: the terms of each document and the documents of each term.
            spelling: the tokens of each term.
            heavy: terms in more documents than this get bitmaps; None: 1 in 128.
            list_up_to: sets with at most this many documents have V listed; None: as many as cost
                no more than offering all terms.
            one_document: continue a set that one document has without reading postings; a switch
                for tests, which changes no result.
        """
        if len(spelling) != len(sets.post_offsets) - 1:
            raise ConfigError(
                f"{len(sets.post_offsets) - 1} terms in the sets but {len(spelling)} in the "
                "spelling: expected a spelling made for these sets"
            )
        self.spelling = spelling
        self._offsets = fixed(sets.doc_offsets, np.int64)
        self._terms = fixed(sets.doc_terms, np.int32)
        self._weights: NDArray[np.floating] | None = getattr(sets, "doc_weights", None)
        self._vectors: DocumentVectors | None = getattr(sets, "doc_vectors", None)
        self._query_terms: Callable[[str], Int32] | None = getattr(sets, "query_terms", None)
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
        self._singles = HeavyTermLists(len(spelling))
        self._by_length = np.bincount(np.diff(self._offsets))
        self._with_length: dict[int, Int32] = {}
        self._all_used = bool(np.all(np.diff(self._index.offsets) > 0))

    @property
    def documents(self) -> int:
        """The number of documents."""
        return len(self._offsets) - 1

    @property
    def terms(self) -> int:
        """The number of terms."""
        return len(self._index.offsets) - 1

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
        """The constraint of the same terms as sequences, heaviest first (see `in_order`)."""
        return in_order(self.term_sets, self.spelling)

    @cached_property
    def shares(self) -> NDArray[np.float32]:
        """[E] ŵ_D(t) in the order of `term_sets`: each document's weights with sum 1."""
        return shares_of(self._offsets, self._weights)

    @cached_property
    def relative_weights(self) -> NDArray[np.float32]:
        """[E] N ŵ_D(t) in the order of `postings`: the weight of the term in each document, divided
        by the mean weight of that document's terms."""
        post_offsets = self._index.offsets
        return relative_weights(self._offsets, self._terms, self.shares, post_offsets)

    @cached_property
    def posting_weights(self) -> NDArray[np.float32]:
        """[E] w_D(t) in the order of `postings`: the weights as they were kept; 1 if none were."""
        weights = self._weights
        kept = np.ones(len(self._terms)) if weights is None else weights
        return by_posting(self._terms, kept.astype(np.float32), self._index.offsets)

    @cached_property
    def document_vectors(self) -> DocumentVectors:
        """The vectors of every document, where the generator reads documents into vectors."""
        if self._vectors is None:
            raise ConfigError(
                "decode.prior = 'vectors' needs a vector for each document, and this engine has "
                "none. Set decode.prior=weighted, or make the engine anew with "
                "model.backbone=term-vectors."
            )
        return self._vectors

    @cached_property
    def vector_values(self) -> NDArray[np.float32]:
        """[R, d] all vectors of `document_vectors`, as numbers."""
        return self.document_vectors.as_floats()

    def query_terms(self, query: str) -> Int32:
        """The numbers of the terms that are words of a query; none if the sets have no lookup."""
        return np.empty(0, np.int32) if self._query_terms is None else self._query_terms(query)

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
        """The tokens that may come next; rows without a listed V share the entries of all terms."""
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
        """[R] |Y|, the number of documents left."""
        count: Int = frontier.documents.sizes[frontier.set_of]
        return count

    def identifier(self, document: int) -> list[int]:
        """The terms of a document, heaviest first."""
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
