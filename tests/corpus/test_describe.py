from array import array
from collections.abc import Callable
from pathlib import Path

import pytest

from tsgen.corpus.describe import SAMPLES, Lengths, SplitFigures, describe
from tsgen.corpus.load import load
from tsgen.errors import DataError

Beir = Callable[..., Path]


def test_counts_lengths_and_splits(beir: Beir) -> None:
    report = describe(load(beir(dev="query-id\tcorpus-id\tscore\n")))
    assert (report.name, report.documents, report.titles, report.queries) == ("set", 3, 2, 3)
    # Title and text: 5, 3 and 2 words; queries: 3, 1 and 3.
    assert report.document_words == Lengths(mean=3.3, median=3, p95=4.8, max=5)
    assert report.query_words == Lengths(mean=2.3, median=3, p95=3, max=3)
    assert report.splits == {
        "train": SplitFigures(queries=1, judgments=1, relevant=1),
        "test": SplitFigures(queries=2, judgments=4, relevant=3, seen=1, unseen=1),
    }
    assert report.empty_splits == ["dev"]
    assert report.problems == []


def test_no_words_at_all() -> None:
    assert Lengths.of(array("I")) == Lengths(0, 0, 0, 0)


def test_samples_are_documents_with_a_query(beir: Beir) -> None:
    samples = {s.document.id: s.query for s in describe(load(beir())).samples}
    assert samples == {"d1": "sodium in bread", "d2": "egg", "d3": "rye or egg"}


def test_samples_are_drawn_over_the_whole_corpus(beir: Beir) -> None:
    corpus = "".join(f'{{"_id": "d{i}", "text": "page"}}\n' for i in range(200))
    data = load(beir(corpus=corpus, train=None, test="q1\td1\t1\n"))
    draws = [[int(s.document.id[1:]) for s in describe(data, seed=n).samples] for n in range(40)]
    assert all(len(set(draw)) == SAMPLES for draw in draws)
    assert draws[0] == [int(s.document.id[1:]) for s in describe(data, seed=0).samples]
    # The mean of 200 numbers below 200 drawn at random: 99.5 ± 4 standard errors.
    assert abs(sum(map(sum, draws)) / 200 - 99.5) < 4 * 57.7 / 200**0.5


def test_every_problem_is_listed(beir: Beir) -> None:
    folder = beir(
        corpus='{"_id": "d1", "text": "one"}\n{"_id": "d1", "text": "two"}\n{"_id": "d2"}\n',
        test="q1\td1\t1\nq1\td7\t1\nq8\td1\t1\n",
        train="q1\td7\t1\n",
    )
    with pytest.raises(DataError):
        describe(load(folder))
    report = describe(load(folder, skip_bad=True))
    assert [(p.kind, Path(p.file).name, p.line) for p in report.problems] == [
        ("duplicate id", "corpus.jsonl", 2),
        ("missing text", "corpus.jsonl", 3),
        ("unknown document", "train.tsv", 1),
        ("unknown document", "test.tsv", 2),
        ("unknown query", "test.tsv", 3),
    ]
    assert report.problem_counts["unknown document"] == 2
    assert report.splits["train"] == SplitFigures(0, 0, 0)
    assert report.splits["test"] == SplitFigures(1, 1, 1, seen=0, unseen=1)
