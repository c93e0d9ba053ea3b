"""False pruning on a corpus small enough to follow by hand."""

from pathlib import Path

import numpy as np
import pytest

from oracle.toy_backbone import ToyBackbone
from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.docids.spelling import subwords, words
from tsgen.docids.term_set import TermSets
from tsgen.evaluate.pruning import (
    SEQUENCE,
    SETS,
    PruningCounts,
    Scheme,
    Story,
    count_prunings,
    stories,
)
from tsgen.records import TermSet
from tsgen.settings import DecodeConfig

# The first two share their heaviest term, so as sequences they part at the second.
DOCUMENTS = {
    "calorie": ("white", "calorie", "bread"),
    "sodium": ("white", "sodium", "egg"),
    "sugar": ("white", "sugar", "cake"),
    "salmon": ("fish", "salmon", "sodium"),
}
# What the model thinks of every term, whatever was written before it.
WEIGHTS = {
    "white": 0.3,
    "bread": 0.3,
    "sodium": 0.2,
    "sugar": 0.1,
    "calorie": 0.04,
    "cake": 0.03,
    "egg": 0.02,
    "fish": 0.007,
    "salmon": 0.003,
}
QUERY = "what is the sodium level in white bread"


class Sure(ToyBackbone):
    """The same probabilities after every prefix."""

    def __init__(self, logits: np.ndarray) -> None:
        super().__init__(len(logits))
        self._logits = logits.astype(np.float32)

    def row(self, query: str, prefix: tuple[int, ...]) -> np.ndarray:
        return self._logits


def schemes(beam: int, **decode: str) -> list[Scheme]:
    sets = TermSets.of(TermSet(id, terms, (3.0, 2.0, 1.0)) for id, terms in DOCUMENTS.items())
    backbone = Sure(np.log([WEIGHTS[term] for term in sets.vocabulary]))
    constraint = PostingsConstraint(sets, words(len(sets.vocabulary)))
    config = DecodeConfig(beam=beam, early_stop=False, **decode)
    numbers = sets.document_numbers()
    both = {SETS: constraint, SEQUENCE: constraint.in_order}
    rest = config, sets.documents, numbers.__getitem__, sets.term
    return [Scheme(name, backbone, each, *rest) for name, each in both.items()]


def counts(beam: int, **decode: str) -> PruningCounts:
    pairs = [(QUERY, document) for document in DOCUMENTS]
    return count_prunings("toy", schemes(beam, **decode), pairs)


SEARCHES = [{}, {"normalise": "valid", "merge": "sum"}]


def test_losses_by_hand() -> None:
    """With a beam of 2 the sequences are white and fish after a term, white sodium and white sugar
    after two. The sets are white, bread; then bread white, white sodium (.06 each, sodium white is
    the same set); fish never gets a place. The third step decides between documents found."""
    sets, sequence = counts(2).schemes
    assert dict(zip(DOCUMENTS, sequence.steps, strict=True)) == {
        "calorie": 2,
        "sodium": 0,
        "sugar": 0,
        "salmon": 2,
    }
    assert dict(zip(DOCUMENTS, sets.steps, strict=True)) == {
        "calorie": 0,
        "sodium": 0,
        "sugar": 2,
        "salmon": 1,
    }
    assert (sequence.lost.tolist(), sets.lost.tolist()) == ([0, 2, 0], [1, 1, 0])


def test_the_sum_over_orders_finds_decided_documents() -> None:
    """Two hypotheses for each place of a beam of 1: white and bread, which decides for its document
    at the first step; as sequences white and fish, then white sodium and white sugar."""
    sets, sequence = counts(1, **SEARCHES[1]).schemes
    assert sets.steps.tolist()[0] == 0
    assert sequence.steps.tolist()[0] == 2


def test_a_wide_beam_loses_nothing() -> None:
    for settings in SEARCHES:
        for found in counts(1000, **settings).schemes:
            assert found.steps.tolist() == [0, 0, 0, 0]
            assert found.share == 0.0


def told(document: str, beam: int = 2) -> list[Story]:
    return stories(schemes(beam), QUERY, document)


def test_the_story_of_a_false_pruning() -> None:
    kept, lost = told("calorie")
    assert (kept.scheme, kept.rank, kept.fall, kept.ordered) == (SETS, 1, None, False)
    assert (lost.scheme, lost.rank, lost.ordered) == (SEQUENCE, None, True)
    assert lost.identifier == ("white", "calorie", "bread")
    assert [(one.place, one.terms) for one in lost.standings] == [(1, ("white",))]
    fall = lost.fall
    assert (fall.step, fall.cause, fall.terms) == (2, "beam", ("white", "calorie"))
    assert fall.log_prob == pytest.approx(np.log(0.04), abs=1e-5)
    assert fall.score == pytest.approx(np.log(0.3 * 0.04), abs=1e-5)
    assert fall.bar == pytest.approx(np.log(0.3 * 0.1), abs=1e-5)
    assert fall.worst == ("white", "sugar")
    assert [one.term for one in fall.rivals] == ["sodium", "sugar"]


def test_the_story_agrees_with_the_counts() -> None:
    for beam in (1, 2, 3):
        for row, document in enumerate(DOCUMENTS):
            for story, count in zip(told(document, beam), counts(beam).schemes, strict=True):
                assert count.steps[row] == (story.fall.step if story.fall else 0)
                assert (story.rank is None) == bool(count.steps[row])


def test_terms_of_several_tokens() -> None:
    """Spelled in pieces, the sequence's units are still whole terms."""
    sets = TermSets.of([TermSet("a", ("xy", "x"), (2.0, 1.0)), TermSet("b", ("y", "yx"), (2, 1))])
    pieces = {"x": 1, "y": 2}
    spelling = subwords(
        list(sets.vocabulary), lambda texts: [[pieces.get(c, 3) for c in t] for t in texts], 0
    )
    trie = PostingsConstraint(sets, spelling).in_order
    assert trie.longest == 2
    texts = [[sets.term(unit) for unit in trie.identifier(number)] for number in range(2)]
    assert texts == [["xy", "x"], ["y", "yx"]]
    assert trie.spelled.tolist() == [1, 2, 0, 1, 0, 2, 0, 2, 1, 0]


def test_table_plot_and_json(tmp_path: Path) -> None:
    found = counts(2)
    rows = {row.label: list(row.values) for row in found.table().rows}
    assert rows == {SETS: [1, 1, 2, 50.0], SEQUENCE: [0, 2, 2, 50.0]}
    notes = found.table().notes
    assert notes[f"only {SETS} keeps, against {SEQUENCE}"] == "1"
    assert notes[f"only {SEQUENCE} keeps, against {SETS}"] == "1"
    assert found.as_json()["schemes"][1]["lost_at_step"] == [0, 2, 0]
    found.plot(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
