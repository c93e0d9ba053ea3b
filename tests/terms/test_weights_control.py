"""The control: identifiers that say nothing of their documents."""

from pathlib import Path

from fitted import FOODS, write_foods
from tsgen.corpus.load import load
from tsgen.docids.assign import select_terms
from tsgen.settings import TermsConfig
from tsgen.terms.weights import ControlConfig, Workspace, _build_control, _load_control
from tsgen.terms.words import Splitter


def test_no_word_of_the_document_is_its_term(tmp_path: Path) -> None:
    data = load(write_foods(tmp_path / "set", "test"))
    sets = select_terms(data, TermsConfig(weights="control", n=3), tmp_path / "terms")
    everything = {word for d in data.documents() for word in Splitter().spellings(d.contents)}
    for number, document in enumerate(data.documents()):
        terms = set(sets.term_set(number).terms)
        assert len(terms) == 3
        assert terms <= everything
        assert terms.isdisjoint(Splitter().spellings(document.contents))
    assert len({frozenset(sets.term_set(i).terms) for i in range(len(sets))}) == len(FOODS)


def test_the_seed_and_the_document_alone_decide(tmp_path: Path) -> None:
    data, splitter = load(write_foods(tmp_path / "set", "test")), Splitter()
    documents = list(data.documents())
    built = _build_control(data, splitter, ControlConfig(), Workspace(seed=3))
    forward = list(built.weigh(documents))
    assert list(built.weigh(reversed(documents))) == forward[::-1]
    built.save(tmp_path)
    assert list(_load_control(tmp_path, splitter, ControlConfig()).weigh(documents)) == forward
    other = _build_control(data, splitter, ControlConfig(), Workspace(seed=4))
    assert list(other.weigh(documents)) != forward
