"""SEAL and MINDER: each learns thirty documents; what is special about them is theirs to keep."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from thirty import fitted, recall, same_after_saving, tables, write_bert, write_thirty

from oracle.decoding import ragged
from tsgen.baselines._ngrams import BODY, NgramRetriever, View, make_targets
from tsgen.errors import ConfigError
from tsgen.retrieve.systems import SYSTEMS


@pytest.mark.parametrize("name", ["seal", "minder"])
def test_learns_thirty_documents(name: str, tmp_path: Path) -> None:
    data = write_thirty(tmp_path / "thirty")
    retriever = fitted(name, data, tmp_path, longest=4, train={"epochs": 25, "validate_every": 100})
    assert isinstance(retriever, NgramRetriever)
    assert recall(retriever, data) >= 0.95
    assert same_after_saving(retriever, data, tmp_path / "saved")
    assert set(retriever.views) == {"title"} | ({"query"} if name == "minder" else set())
    texts = {document.id: document.contents.lower() for document in data.documents()}
    hits = retriever.search(["where is the red fox"], 10)[0]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        words = texts[hit.document_id].replace(".", " .").split()
        said = [term.split() for term in hit.reason.terms if "[UNK]" not in term]
        sizes = {tuple(words[i : i + n]) for n in range(1, 5) for i in range(len(words))}
        assert said
        assert all(tuple(term) in sizes for term in said if name == "seal")
        assert all(holders >= 1 for holders in hit.reason.valid_documents)


def test_minder_needs_queries(tmp_path: Path) -> None:
    data = write_thirty(tmp_path / "thirty")
    settings = tables(write_bert(tmp_path / "bert")) | {"queries": {"writer": "none"}}
    found = SYSTEMS.get("minder")
    with pytest.raises(ConfigError, match=r"queries\.writer=extractive"):
        found.fit(data, found.settings(settings), 0, tmp_path)


def test_targets_overlap_with_the_query() -> None:
    """Of the text 0 1 2 … 9 a window of 3 is drawn, most often one with the query's rare token."""
    title = View("title", ragged([[20, 21, 22, 23]]), np.array([1], np.int32), True)
    body = View(BODY, ragged([list(range(10)), [1, 2]]), np.array([0, 1], np.int32), False)
    idf = np.ones(30)
    asked = ragged([[5, 25], [2]])
    pair, targets = make_targets([title, body], asked, np.array([0, 1]), idf, 3, 0.1)
    # The first document has no title, so there is one row for it and two for the other one.
    assert pair.tolist() == [1, 0, 1]
    rng = np.random.default_rng(0)
    drawn = Counter(tuple(targets.draw(1, rng).tolist()) for _ in range(300))
    holding = sum(count for ngram, count in drawn.items() if 5 in ngram)
    assert {len(ngram) for ngram in drawn} == {3}
    assert len(drawn) >= 3
    assert holding > 270
    assert targets.draw(0, rng).tolist() == [20, 21, 22]  # titles from their beginning
    assert targets.draw(2, rng).tolist() == [1, 2]
    tokens, mask = targets.batch(np.array([0, 2]), ["", ""], rng)
    assert tokens.shape == (2, 3)
    assert mask.tolist() == [[True] * 3, [True, True, False]]
