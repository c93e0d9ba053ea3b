"""Which pairs are learned from, which queries validate, and what is said when there are none."""

import json
from pathlib import Path

import pytest

from toy import write_beir
from tsgen.corpus.load import load
from tsgen.docids.term_set import TermSets
from tsgen.errors import DataError
from tsgen.queries.negatives import training_sets
from tsgen.queries.pairs import Pair
from tsgen.records import TermSet
from tsgen.settings import PairsConfig
from tsgen.synthetic.local_writer import pairs_to_learn
from tsgen.train.examples import examples, numbered_examples, own_pairs, read_pairs

DOCUMENTS = {"d0": "white bread with an egg", "d1": "salt", "d2": "nothing"}
QUERIES = {"a": "bread?", "b": "sodium?", "c": "toast?"}
SETS = TermSets.of(
    [
        TermSet("d0", ("white", "bread"), (2.0, 1.0)),
        TermSet("d1", ("salt",), (1.0,)),
        TermSet("d2", (), ()),
    ]
)


def test_judged_pairs_and_the_dev_split(tmp_path: Path) -> None:
    splits = {"train": [("a", "d0"), ("b", "d1"), ("b", "d2")], "dev": [("c", "d0"), ("c", "d1")]}
    data = load(write_beir(tmp_path / "set", DOCUMENTS, QUERIES, **splits))
    pairs, validation = examples(data, SETS, PairsConfig(), 10, seed=0)
    assert pairs == [Pair("bread?", 0), Pair("sodium?", 1)]  # d2 has no terms to write
    assert (validation.queries, validation.answers) == (["toast?"], [{0, 1}])


def test_some_queries_are_held_out_where_there_is_no_dev_split(tmp_path: Path) -> None:
    queries = {f"q{i}": f"question {i}" for i in range(40)}
    judged = [(id, "d0") for id in queries] + [(id, "d1") for id in queries]
    data = load(write_beir(tmp_path / "set", DOCUMENTS, queries, train=judged))
    pairs, validation = examples(data, SETS, PairsConfig(), 10, seed=0)
    assert len(validation.queries) == 2
    assert validation.answers == [{0, 1}, {0, 1}]
    assert not {pair.query for pair in pairs} & set(validation.queries)
    assert len(pairs) == 76
    pairs, validation = examples(data, SETS, PairsConfig(), 1, seed=0)
    assert (len(validation.queries), len(pairs)) == (1, 78)  # no more than validate


def test_what_people_asked_validates_not_what_was_written(tmp_path: Path) -> None:
    file = tmp_path / "written.jsonl"
    rows = [{"query": f"written {i}", "document": "d1"} for i in range(500)]
    file.write_text("\n".join(map(json.dumps, [*rows, {"query": "question 3", "document": "d1"}])))
    queries = {f"q{i}": f"question {i}" for i in range(60)}
    data = load(
        write_beir(tmp_path / "set", DOCUMENTS, queries, train=[(id, "d0") for id in queries])
    )
    config = PairsConfig(queries=str(file))
    for seed in range(5):
        pairs, validation = examples(data, SETS, config, 10, seed)
        assert len(validation.queries) == 3
        assert set(validation.queries) <= set(queries.values())
        assert not {pair.query for pair in pairs} & set(validation.queries)


SHAPES = {  # two benchmarks of the paper: what their releases call dev is what they test on
    "NQ320K": {
        "corpus_lite.json": json.dumps(["white bread with an egg", "salt"]),
        "train.json": json.dumps([[f"question {i}", i % 2] for i in range(40)]),
        "dev.json": json.dumps([[f"test {i}", i % 2] for i in range(40)]),
    },
    "MS300K": {
        "docs.tsv": "D1\thttp://a\tA\tbread\nD2\thttp://b\tB\tsalt\nD3\thttp://c\tC\tcc\n",
        "docids.txt": "D1\nD2\n",
        "queries.train.tsv": "".join(f"{i}\tquestion {i}\n" for i in range(40)),
        "qrels.train.tsv": "".join(f"{i}\t0\tD{1 + i % 2}\t1\n" for i in range(40)),
        "queries.dev.tsv": "".join(f"{90 + i}\ttest {i}\n" for i in range(40)),
        "qrels.dev.tsv": "".join(f"{90 + i}\t0\tD{1 + i % 2}\t1\n" for i in range(40)),
    },
}


@pytest.mark.parametrize("shape", SHAPES)
def test_no_test_query_chooses_a_checkpoint(tmp_path: Path, shape: str) -> None:
    for name, text in SHAPES[shape].items():
        (tmp_path / name).write_text(text)
    data = load(tmp_path)
    numbers = {document.id: i for i, document in enumerate(data.documents())}
    pairs, validation = numbered_examples(data, numbers, PairsConfig(), 10, seed=0)
    tested = {data.queries()[id].text for id in data.judgments("test")}
    assert tested == {f"test {i}" for i in range(40)}
    assert len(validation.queries) == 2
    assert all(query.startswith("question") for query in validation.queries)
    assert not {pair.query for pair in pairs} & set(validation.queries)
    weigher = training_sets(data, list(data.documents()), 1, 1, 10, 0)
    assert not {pair.query for part in weigher for pair in part.pairs} & tested
    assert not {pair.query for part in pairs_to_learn(data, 0) for pair in part} & tested


def test_more_queries_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "more.jsonl"
    rows = [{"query": "rye", "document": "d0"}, {"query": "sea", "document": "d1", "score": 3}]
    file.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    data = load(write_beir(tmp_path / "set", DOCUMENTS, QUERIES, train=[("a", "d0")]))
    config = PairsConfig(queries=str(file))
    pairs, validation = examples(data, SETS, config, 10, seed=0)
    asked = {pair.query for pair in pairs} | set(validation.queries)
    assert asked == {"bread?", "rye", "sea"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"query": "a", "document": "d9"}', r"more.jsonl:1: found .*'d9'.*with the id of a"),
        ('{"text": "a", "document": "d0"}', r"more.jsonl:1: found .*expected {\"query\": text"),
        ("query", r"more.jsonl:1: .*expected one JSON object a line"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "more.jsonl").write_text(line)
    with pytest.raises(DataError, match=message):
        read_pairs(tmp_path / "more.jsonl", {"d0": 0})


def test_the_documents_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "set.jsonl"
    file.write_text(
        '{"_id": "d0", "title": "Toast", "text": "a b c"}\n{"_id": "d1", "text": "d"}\n'
    )
    config = PairsConfig(titles=True, pieces=30)
    monkeypatch.setattr("tsgen.train.examples.PIECE_WORDS", 2)
    pairs = own_pairs(load(file), config, seed=0)
    assert len(pairs) == 61
    assert pairs[0] == Pair("Toast", 0)
    assert {pair.query for pair in pairs[1:]} == {"a b", "b c", "d"}
    assert own_pairs(load(file), config, seed=0) == pairs
    assert own_pairs(load(file), PairsConfig(), seed=0) == []


def test_no_training_queries(tmp_path: Path) -> None:
    data = load(write_beir(tmp_path / "set", DOCUMENTS, QUERIES, test=[("a", "d0")]))
    with pytest.raises(DataError, match=r"no training queries.*--queries.*train.pairs.titles=true"):
        examples(data, SETS, PairsConfig(), 10, seed=0)
