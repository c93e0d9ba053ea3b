"""Tracing and watching: what is written down is what the search did, on random corpora."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.decoding import Corpus, subword_corpus, term_log_prob, word_corpus
from oracle.toy_backbone import ToyBackbone
from tsgen.constrain.constraint import Ragged
from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.decode.hypotheses import as_hits
from tsgen.decode.observe import Fall, Tracer, Watcher
from tsgen.decode.search import search
from tsgen.settings import DecodeConfig

SPELLED = [(0,), (1, 2), (1, 3, 0), (2,), (3, 3), (0, 1)]
MODES = [
    {},
    {"merge": "none"},
    {"merge": "sum"},
    {"normalise": "valid"},
    {"normalise": "valid", "merge": "sum"},
    {"per_document": 1},
    {"decided": "apart"},
    {"decided": "apart", "merge": "none"},
    {"decided": "stop"},
    {"early_stop": False},
    {"pool": 4},
    {"look_ahead": 1.0},
]
sets = st.lists(
    st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True), min_size=2, max_size=8
)
corpora = st.builds(word_corpus, sets) | sets.map(lambda some: subword_corpus(some, SPELLED))
configs = st.builds(
    lambda mode, beam: DecodeConfig(beam=beam, **mode), st.sampled_from(MODES), st.integers(1, 4)
)
few = settings(max_examples=30, deadline=None)


class Traced:
    """A search for one query, observed."""

    def __init__(
        self,
        corpus: Corpus,
        config: DecodeConfig,
        k: int,
        pool: list[int] | None = None,
        query: str = "q",
    ) -> None:
        self.query = query
        self.constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
        self.ids = [f"d{i}" for i in range(len(corpus.sets))]
        self.terms = [f"t{i}" for i in range(corpus.terms)]
        self.tracer = Tracer(self.constraint, self.ids, self.terms)
        self.backbone, self.config, self.k = ToyBackbone(corpus.outputs), config, k
        self.pool = pool and Ragged(np.array([0, len(pool)]), np.array(pool, np.int32))
        self.hits = self.search(self.tracer)

    def search(self, observer: Tracer | Watcher | None = None):
        found = search(
            self.backbone, self.constraint, [self.query], self.k, self.config, self.pool, observer
        )
        return as_hits(found[0], self.ids, self.terms)

    def watch(self, document: int) -> Watcher:
        watcher = Watcher(self.constraint, self.ids, self.terms, document, self.config)
        self.search(watcher)
        return watcher


@given(corpora, configs, st.integers(1, 9))
@few
def test_observing_changes_nothing_and_every_hit_has_its_path(corpus, config, k) -> None:
    run = Traced(corpus, config, k)
    assert run.hits == run.search()
    for hit in run.hits:
        path = run.tracer.path(run.tracer.places_of(hit))
        assert path
        assert hit.document_id in path[-1].found
        shown = [(h.term, h.log_prob, h.valid_documents) for h in path]
        steps = zip(hit.reason.terms, hit.reason.log_probs, hit.reason.valid_documents, strict=True)
        assert shown == list(steps)[: len(path)]


@given(corpora, configs)
@few
def test_what_is_written_down_of_each_hypothesis(corpus, config) -> None:
    run = Traced(corpus, config, 9)
    inside = [set(s) for s in corpus.sets]
    for number, step in enumerate(run.tracer.steps):
        beams = 2 if config.decided == "apart" else 1
        assert sum(h.fate == "on" for h in step.hypotheses) <= beams * config.beam
        assert step.stayed == sum(h.fate != "pruned" for h in step.hypotheses)
        for place, h in enumerate(step.hypotheses):
            terms = {int(one.term[1:]) for one in run.tracer.path(run.tracer.places(number, place))}
            holders = [f"d{d}" for d, s in enumerate(inside) if terms <= s]
            if not config.pool:
                assert h.valid_documents == len(holders)
                assert list(h.documents) == (holders if len(holders) <= 4 else [])
            assert h.score <= 1e-9
            if h.parent >= 0 and config.merge != "sum":
                before = run.tracer.steps[number - 1].hypotheses[h.parent]
                assert before.fate == "on"
                assert h.score == pytest.approx(before.score + h.log_prob, abs=1e-5)


@given(corpora, configs)
@few
def test_a_document_is_found_or_falls_out_at_a_step(corpus, config) -> None:
    run = Traced(corpus, config, len(corpus.sets))
    found = {hit.document_id for hit in run.hits}
    for document in range(len(corpus.sets)):
        watcher = run.watch(document)
        assert (f"d{document}" in found) == (watcher.fall is None)
        if watcher.fall is not None and watcher.fall.step:
            _check_fall(run, corpus, document, watcher.fall)
            assert len(watcher.standings) == watcher.fall.step - 1


def _check_fall(run: Traced, corpus: Corpus, document: int, fall: Fall) -> None:
    """It led to the document until then, scored what the model says, and the beam had better."""
    own = [int(term[1:]) for term in fall.terms]
    assert set(own) <= set(corpus.sets[document])
    assert len(own) == len(set(own)) == fall.step
    how = {"normalise": run.config.normalise}
    if not (run.config.pool and run.config.normalise == "valid"):
        exact = term_log_prob(corpus, run.backbone, "q", tuple(own[:-1]), own[-1], **how)
        assert fall.log_prob == pytest.approx(exact, abs=1e-4)
    if fall.cause == "beam" and run.config.merge != "sum":
        assert fall.score <= fall.bar
        assert len(fall.worst) == fall.step
    for rival in fall.rivals:
        assert rival.fate != "pruned"


def test_the_fall_of_a_document_by_hand() -> None:
    corpus = word_corpus([(0, 1), (2, 3)])
    run = Traced(corpus, DecodeConfig(beam=1), 2)
    (hit,) = run.hits
    lost = 1 if hit.document_id == "d0" else 0
    fall = run.watch(lost).fall
    best = max(corpus.sets[lost], key=lambda t: run.backbone.row("q", ())[t])
    assert (fall.step, fall.cause, fall.terms) == (1, "beam", (f"t{best}",))
    assert fall.worst == hit.reason.terms[:1]
    assert fall.bar == hit.reason.log_probs[0]
    assert [rival.term for rival in fall.rivals] == list(fall.worst)


def test_what_is_filtered_out_says_so() -> None:
    corpus = word_corpus([(0, 1), (2, 3)])
    assert Traced(corpus, DecodeConfig(), 2, [0]).watch(1).fall == Fall(0, "filtered")


def test_outranked() -> None:
    corpus, causes = word_corpus([(0,), (1, 2, 3)]), set()
    for query in "abcdefgh":  # for some of them the short document is the likelier one
        run = Traced(corpus, DecodeConfig(), 1, query=query)
        falls = [run.watch(document).fall for document in (0, 1)]
        causes |= {fall.cause for fall in falls if fall is not None}
    assert causes == {"outranked"}
