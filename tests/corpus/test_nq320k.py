import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsgen.corpus import nq320k
from tsgen.corpus.load import load
from tsgen.corpus.nq320k import array_items
from tsgen.corpus.table_files import Columns
from tsgen.errors import DataError
from tsgen.records import Document


def write(folder: Path, **files: Any) -> Path:
    names = {"corpus": "corpus_lite.json", "qg": "train.json.qg.json"}
    for name, value in files.items():
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        (folder / names.get(name, f"{name}.json")).write_bytes(text)
    return folder


def test_positions_are_ids_and_dev_is_the_test_split(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        corpus=["tea is hot", "rye is a grain"],
        train=[["what is tea", 0], ["is tea hot", 0]],
        dev=[["what is rye", 1]],
        qg=[["rye grain", 1]],
    )
    data = load(folder)
    assert list(data.documents()) == [Document("0", "tea is hot"), Document("1", "rye is a grain")]
    assert data.splits == ["train", "test", "synthetic"]
    assert data.judgments("train") == {"train:0": {"0": 1}, "train:1": {"0": 1}}
    assert data.judgments("test") == {"test:0": {"1": 1}}
    assert data.queries()["test:0"].text == "what is rye"
    assert data.queries()["synthetic:0"].text == "rye grain"


@settings(max_examples=50, deadline=None)
@given(
    items=st.lists(st.text() | st.tuples(st.text(), st.integers()).map(list)),
    indent=st.sampled_from([None, 1]),
    ascii_only=st.booleans(),
    piece=st.integers(1, 40),
)
def test_a_list_is_read_in_pieces_of_any_size(
    tmp_path_factory: pytest.TempPathFactory,
    items: list[Any],
    indent: Any,
    ascii_only: bool,
    piece: int,
) -> None:
    path = tmp_path_factory.mktemp("list") / "list.json"
    path.write_text(json.dumps(items, indent=indent, ensure_ascii=ascii_only), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nq320k, "BUFFER", piece)
        assert [item for _, (_, item) in array_items(path)] == items


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a": 1}', r"corpus_lite\.json:1: found .*; expected a JSON list"),
        (b'["one", two]', r"corpus_lite\.json: item 2: Expecting value; expected a JSON list"),
        (b'["one", "tw', r"corpus_lite\.json: item 2: Unterminated string"),
        (b'["one"', r"corpus_lite\.json: item 2: Expecting value"),
        (b'["one", 2]', r"corpus_lite\.json:2: item 2 is a int; expected a text"),
        (b'["one", "caf\xe9"]', r"corpus_lite\.json:2: after 'caf' comes 0xe9"),
    ],
)
def test_bad_lists(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(load(write(tmp_path, corpus=content)).documents())


def test_bad_pairs_and_unknown_positions(tmp_path: Path) -> None:
    data = load(write(tmp_path, corpus=["one"], dev=[["q", 0], ["only"], ["q", 5]]), skip_bad=True)
    assert data.judgments("test") == {"test:0": {"0": 1}}
    # The bad pair is met among the queries and among the judgments, and counts once.
    assert data.problems.counts == {"wrong columns": 1, "unknown document": 1}


def test_columns_make_no_sense_here(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no columns"):
        load(write(tmp_path, corpus=["one"]), columns=Columns(id="x"))
