from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tsgen.artifact import remove_pieces
from tsgen.errors import TsgenError
from tsgen.records import Document
from tsgen.terms.weights import PIECES, Weighed, reserved_term, weigh_corpus

DOCUMENTS = [Document(f"d{i}", text) for i, text in enumerate(["a b", "b", "", "a c", "c"])]


class Lengths:
    """A word weighs as much as its document has letters; counts what it was asked."""

    def __init__(self, fails_at: str = "") -> None:
        self.asked: list[str] = []
        self._fails_at = fails_at

    def weigh(self, documents: Iterable[Document]) -> Iterator[dict[str, float]]:
        for document in documents:
            self.asked.append(document.id)
            if document.id == self._fails_at:
                raise KeyboardInterrupt
            yield dict.fromkeys(document.text.split(), float(len(document.text)))


def rows(weighed: Weighed) -> dict[str, dict[str, float]]:
    found = {}
    for i, document_id in enumerate(weighed.document_ids):
        row = slice(weighed.offsets[i], weighed.offsets[i + 1])
        words = [weighed.words[word] for word in weighed.word_ids[row]]
        found[document_id] = dict(zip(words, weighed.weights[row].tolist(), strict=True))
    return found


EXPECTED = {
    "d0": {"a": 3.0, "b": 3.0}, "d1": {"b": 1.0}, "d2": {"#d2": 0.0},
    "d3": {"a": 3.0, "c": 3.0}, "d4": {"c": 1.0},
}  # fmt: skip


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_pieces_of_any_size_give_the_same(tmp_path: Path, size: int) -> None:
    weighed = weigh_corpus(DOCUMENTS, Lengths(), tmp_path, size=size)
    assert rows(weighed) == EXPECTED
    assert len(set(weighed.words)) == len(weighed.words)


def test_an_interrupted_pass_goes_on_after_its_last_piece(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        weigh_corpus(DOCUMENTS, Lengths(fails_at="d3"), tmp_path, size=2)
    second = Lengths()
    assert rows(weigh_corpus(DOCUMENTS, second, tmp_path, size=2)) == EXPECTED
    assert second.asked == ["d2", "d3", "d4"]


def test_pieces_can_be_removed(tmp_path: Path) -> None:
    weigh_corpus(DOCUMENTS, Lengths(), tmp_path, size=2)
    assert len(list(tmp_path.iterdir())) == 3
    remove_pieces(tmp_path, PIECES)
    assert not list(tmp_path.iterdir())


def test_progress_counts_documents(tmp_path: Path) -> None:
    seen: list[int] = []
    weigh_corpus(DOCUMENTS, Lengths(), tmp_path, seen.append, size=2)
    assert seen == [2, 4, 5]


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), -1.0])
def test_a_weight_that_is_none_is_refused(tmp_path: Path, weight: float) -> None:
    class Bad:
        def weigh(self, documents: Iterable[Document]) -> Iterator[dict[str, float]]:
            return ({"a": 1.0, "b": weight if d.id == "d1" else 1.0} for d in documents)

    with pytest.raises(TsgenError, match="document 'd1': a word weighs"):
        weigh_corpus(DOCUMENTS, Bad(), tmp_path)


def test_reserved_terms_are_plain_and_distinct() -> None:
    assert reserved_term("w1") == "#w1"
    assert reserved_term("a,b c/é") == "#a%2Cb%20c%2F%C3%A9"
