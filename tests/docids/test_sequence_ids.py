"""Sequences of documents: closed, shared, saved and loaded."""

from pathlib import Path

import pytest

from tsgen.docids.sequence_ids import SequenceIds


def test_of_texts_cuts_and_closes() -> None:
    pieces = {"a b c": [1, 2, 3], "b": [2]}
    ids = SequenceIds.of_texts(
        ["x", "y"], ["a b c", "b"], lambda texts: [pieces[text] for text in texts], 9, longest=2
    )
    offsets, tokens = ids.closed()
    assert (offsets.tolist(), tokens.tolist()) == ([0, 3, 5], [1, 2, 9, 2, 9])
    assert ids.sequence(0).tolist() == [1, 2]
    assert ids.document_numbers() == {"x": 0, "y": 1}


@pytest.mark.parametrize(("end", "symbols"), [(None, ["c0", "c1"]), (7, None)])
def test_saved_and_loaded(end: int | None, symbols: list[str] | None, tmp_path: Path) -> None:
    ids = SequenceIds.of(["x", "y", "z"], [[0], [1, 0], [0]], end=end, symbols=symbols)
    ids.save(tmp_path)
    loaded = SequenceIds.load(tmp_path)
    assert (loaded.end, len(loaded), list(loaded.documents)) == (end, 3, ["x", "y", "z"])
    assert [loaded.sequence(i).tolist() for i in range(3)] == [[0], [1, 0], [0]]
    assert (None if loaded.symbols is None else list(loaded.symbols)) == symbols
    assert loaded.closed()[1].tolist() == ids.closed()[1].tolist()
