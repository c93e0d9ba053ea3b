"""MiniLM as the retriever of the round trip."""

from pathlib import Path

import pytest

from tsgen.synthetic.round_trip import VECTORS, DenseFinder
from tsgen.terms import sentence_vectors

TEXTS = ["Make a new folder.", "The middle value of numbers.", "Send an email message."]


def test_minilm_finds_without_common_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_vectors, "BATCH", 2)  # so that lengths are sorted and put back
    finder = DenseFinder(TEXTS, tmp_path)
    queries = ["create directories", "median", "post a letter by mail", "median"]
    assert finder.finds(queries, [0, 1, 2, 2], k=1).tolist() == [True, True, True, False]
    assert finder.finds(queries[:1], [2], k=3).tolist() == [True]
    assert (tmp_path / VECTORS).exists()
    again = DenseFinder([], tmp_path)  # goes on with the vectors that are there
    assert again.finds(queries[:1], [0], k=1).tolist() == [True]
    assert finder.nearest(["median"], 2).shape == (1, 2)
    assert finder.nearest(queries[:3], 1).ravel().tolist() == [0, 1, 2]
