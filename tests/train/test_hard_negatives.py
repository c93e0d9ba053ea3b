"""Hard negatives of every source, and the probabilities that a teacher gives them."""

from pathlib import Path

import numpy as np
import pytest
from tiny_models import DOCUMENTS, PAIRS, generator, term_sets

from toy import write_beir
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.load import load
from tsgen.corpus.runs import write_trec
from tsgen.decode.search import search_by_prior
from tsgen.errors import ConfigError, DataError
from tsgen.records import Hit
from tsgen.settings import DecodeConfig, TrainConfig
from tsgen.train.examples import HardNegatives
from tsgen.train.hard_negatives import find_hard_negatives

H = 2


@pytest.fixture
def data(tmp_path: Path) -> DataSet:
    sets = term_sets()
    documents = {sets.document_id(i): " ".join(sets.term_set(i).terms) for i in range(DOCUMENTS)}
    queries = {f"q{i}": pair.query for i, pair in enumerate(PAIRS)}
    judged = [(f"q{i}", sets.document_id(pair.document)) for i, pair in enumerate(PAIRS)]
    write_beir(tmp_path / "set", documents, queries, train=judged)
    return load(tmp_path / "set")


def found(data: DataSet, **settings: object) -> HardNegatives:
    config = TrainConfig.from_mapping({"hard_negatives": H, "random_negatives": 4} | settings)
    hard = find_hard_negatives(data, generator("mini-word"), PAIRS, config, seed=0)
    assert hard is not None
    assert hard.documents.shape == (len(PAIRS), H)
    for pair, row in zip(PAIRS, hard.documents.tolist(), strict=True):
        assert pair.document not in row
        assert len(set(row)) == H
    return hard


def test_none_are_wanted(data: DataSet) -> None:
    assert find_hard_negatives(data, generator("mini-word"), PAIRS, TrainConfig(), seed=0) is None


def test_the_models_own_first_documents_that_do_not_answer(data: DataSet) -> None:
    hard = found(data, hard_negatives_from="itself")
    assert hard.teacher_probs is None
    one = generator("mini-word")
    prior = DecodeConfig(prior="weighted")
    for pair, row in zip(PAIRS, hard.documents.tolist(), strict=True):
        (hits,) = search_by_prior(one.backbone, one.constraint, [pair.query], H + 1, prior)
        assert row == [hit.document for hit in hits if hit.document != pair.document][:H]


def ids(*numbers: int) -> list[str]:
    return [term_sets().document_id(number) for number in numbers]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The first query's own document between two others; the second's own was not found."""
    first, second = PAIRS[0].document, PAIRS[1].document
    others = [number for number in range(DOCUMENTS) if number not in (first, second)][:3]
    scores = np.log([4.0, 3.0, 1.0])
    lists = {"q0": ids(others[0], first, others[1]), "q1": ids(*others)}
    hits = {
        query: [Hit(id, float(score)) for id, score in zip(found, scores, strict=True)]
        for query, found in lists.items()
    }
    write_trec(tmp_path / "teacher.trec", hits)
    return tmp_path / "teacher.trec"


def test_a_run_gives_documents_in_its_order(data: DataSet, run: Path) -> None:
    hard = found(data, hard_negatives_from=str(run))
    others = [n for n in range(DOCUMENTS) if n not in (PAIRS[0].document, PAIRS[1].document)]
    assert hard.teacher_probs is None
    assert hard.documents[0].tolist() == others[:2]
    assert hard.documents[1].tolist() == others[:2]


def test_a_teacher_says_how_right_each_is(data: DataSet, run: Path) -> None:
    hard = found(data, hard_negatives_from=str(run), distil=0.5, prior_weight=8.0)
    assert hard.teacher_probs is not None
    np.testing.assert_allclose(hard.teacher_probs[0], [3 / 8, 4 / 8, 1 / 8], rtol=1e-5)
    # The document that the run does not have scores as the worst of those that it has.
    np.testing.assert_allclose(hard.teacher_probs[1], [1 / 8, 4 / 8, 3 / 8], rtol=1e-5)
    rest = hard.teacher_probs[2:]  # of queries that are not in the run
    np.testing.assert_array_equal(rest, [[1, 0, 0]] * (len(PAIRS) - 2))


def test_repeated_pairs_have_theirs_again() -> None:
    once = HardNegatives(np.array([[1], [2]]), np.array([[0.5, 0.5], [1, 0]], np.float32))
    twice = once.repeated(2)
    assert twice.documents.tolist() == [[1], [1], [2], [2]]
    assert twice.teacher_probs is not None
    assert twice.teacher_probs.tolist() == [[0.5, 0.5]] * 2 + [[1, 0]] * 2


def test_a_run_of_other_queries_or_documents(data: DataSet, tmp_path: Path) -> None:
    write_trec(tmp_path / "queries.trec", {"other": [Hit(ids(0)[0], 1.0)]})
    with pytest.raises(
        DataError, match=r"none of its 1 queries is a training query.*--split train"
    ):
        found(data, hard_negatives_from=str(tmp_path / "queries.trec"))
    write_trec(tmp_path / "documents.trec", {"q0": [Hit("elsewhere", 1.0)]})
    with pytest.raises(DataError, match="found document 'elsewhere'; expected those of this data"):
        found(data, hard_negatives_from=str(tmp_path / "documents.trec"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hard_negatives": 4}, "train.random_negatives = 0; set train.random_negatives=256"),
        ({"random_negatives": 8, "normalise": "full"}, "set train.normalise=docid"),
        (
            {"random_negatives": 8, "hard_negatives": 4, "prior_weight": 8.0, "distil": 0.5},
            "needs a run file to learn from",
        ),
    ],
)
def test_settings_that_contradict_one_another(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TrainConfig.from_mapping(settings)
