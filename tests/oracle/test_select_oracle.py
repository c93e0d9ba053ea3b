"""Selection against the plain statement of its rules, on tiny corpora full of collisions."""

from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tsgen.docids.assign import term_sets
from tsgen.records import Document
from tsgen.terms.selection import RankedTerms, rank, select
from tsgen.terms.weights import reserved_term, weigh_corpus

Corpus = dict[str, dict[str, float]]  # document id → word → weight
Sets = dict[str, frozenset[str]]

WORDS = [letter + ending for letter in "abcde" for ending in ("", "s", "ed")]
WEIGHTS = st.sampled_from([0.0, 0.25, 0.5, 1.0])
CORPORA = st.dictionaries(
    st.text("xyz,é", min_size=1, max_size=3), st.dictionaries(st.sampled_from(WORDS), WEIGHTS),
    min_size=1, max_size=9,
)  # fmt: skip
SIZES = st.integers(1, 4)
usual = settings(deadline=None, max_examples=80)


def key(word: str) -> str:
    return word[0]


class Given:
    """Weights that are written down."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus

    def weigh(self, documents: Iterable[Document]) -> Iterator[dict[str, float]]:
        return (self.corpus[document.id] for document in documents)


def candidates_of(corpus: Corpus) -> RankedTerms:
    documents = [Document(document_id, "") for document_id in corpus]
    with TemporaryDirectory() as folder:
        return rank(weigh_corpus(documents, Given(corpus), Path(folder), size=4), key)


def fast(corpus: Corpus, n: int | None) -> Sets:
    candidates = candidates_of(corpus)
    sets = term_sets(candidates, select(candidates, n))
    spelled = (sets.term_set(i) for i in range(len(sets)))
    return {one.document_id: frozenset(map(group, one.terms)) for one in spelled}


def group(term: str) -> str:
    return term if term.startswith("#") else key(term)


def slow_candidates(corpus: Corpus) -> dict[str, list[str]]:
    found = {}
    for document_id, words in corpus.items():
        weights: dict[str, float] = {}
        for word, weight in words.items():
            weights[key(word)] = max(weight, weights.get(key(word), 0.0))
        ordered = sorted(weights, key=lambda term: (-weights[term], term))
        found[document_id] = ordered or [reserved_term(document_id)]
    return found


def slow(corpus: Corpus, n: int) -> Sets:
    candidates = slow_candidates(corpus)
    sets = {document_id: frozenset(terms[:n]) for document_id, terms in candidates.items()}
    heaviest = dict(sets)
    taken = set(sets.values())

    def duplicates(document_id: str) -> list[str]:
        words = frozenset(candidates[document_id])
        return [
            other for other in sorted(sets)
            if heaviest[other] == heaviest[document_id] and words == frozenset(candidates[other])
        ]  # fmt: skip

    by_turn = sorted(sets, key=lambda d: (len(candidates[d]), d))
    kept: set[frozenset[str]] = set()
    movers = []
    for document_id in by_turn:
        if duplicates(document_id)[0] == document_id:
            if heaviest[document_id] in kept:
                movers.append(document_id)
            kept.add(heaviest[document_id])
    for document_id in movers:
        terms = candidates[document_id]
        choices = [
            frozenset(choice)
            for size in range(n, len(terms) + 1)
            for choice in combinations(terms, size)
        ]
        free = [choice for choice in choices if choice not in taken]
        chosen = free[0] if free else choices[-1]
        taken.add(chosen)
        sets |= dict.fromkeys(duplicates(document_id), chosen)
    return sets


def equal_words(corpus: Corpus, a: str, b: str) -> bool:
    return {key(word) for word in corpus[a]} == {key(word) for word in corpus[b]}


def collides(corpus: Corpus, sets: Sets) -> bool:
    return any(
        sets[a] == sets[b] and not equal_words(corpus, a, b) for a, b in combinations(sets, 2)
    )


@settings(deadline=None, max_examples=250)
@given(CORPORA, SIZES)
def test_selection_equals_the_slow_one(corpus: Corpus, n: int) -> None:
    assert fast(corpus, n) == slow(corpus, n)


@usual
@given(CORPORA, SIZES)
def test_sets_are_unique_except_of_documents_with_the_same_words(corpus: Corpus, n: int) -> None:
    sets = fast(corpus, n)
    assert not collides(corpus, sets)
    assert all(sets.values())


@usual
@given(CORPORA, SIZES, st.randoms(use_true_random=False))
def test_the_order_of_documents_and_words_does_not_matter(
    corpus: Corpus, n: int, random: object
) -> None:
    rows = [(d, list(words.items())) for d, words in corpus.items()]
    random.shuffle(rows)  # type: ignore[attr-defined]
    for _, words in rows:
        random.shuffle(words)  # type: ignore[attr-defined]
    shuffled = {document_id: dict(words) for document_id, words in rows}
    assert spelled(shuffled, n) == spelled(corpus, n)


def spelled(corpus: Corpus, n: int) -> dict[str, tuple[str, ...]]:
    candidates = candidates_of(corpus)
    sets = term_sets(candidates, select(candidates, n))
    records = (sets.term_set(i) for i in range(len(sets)))
    return {one.document_id: one.terms for one in records}


@usual
@given(CORPORA)
def test_auto_is_the_smallest_n_without_collisions(corpus: Corpus) -> None:
    candidates = slow_candidates(corpus)

    def heaviest(n: int) -> Sets:
        return {document_id: frozenset(terms[:n]) for document_id, terms in candidates.items()}

    n = select(candidates_of(corpus), None).n
    assert not collides(corpus, heaviest(n))
    assert all(collides(corpus, heaviest(smaller)) for smaller in range(1, n))
    assert fast(corpus, None) == heaviest(n)


@usual
@given(CORPORA, SIZES)
def test_first_names_the_documents_with_the_same_set(corpus: Corpus, n: int) -> None:
    candidates = candidates_of(corpus)
    selection = select(candidates, n)
    sets = list(fast(corpus, n).values())
    assert selection.first.tolist() == [sets.index(one) for one in sets]


@usual
@given(CORPORA, SIZES)
def test_terms_are_listed_heaviest_first(corpus: Corpus, n: int) -> None:
    selection = select(candidates_of(corpus), n)
    for start, end in zip(selection.offsets[:-1], selection.offsets[1:], strict=True):
        row = selection.weights[start:end]
        assert np.all(row[:-1] >= row[1:])
