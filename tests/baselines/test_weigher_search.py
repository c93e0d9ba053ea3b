"""The weigher as a retriever: exact s(Q, D) over all words, the same after saving and loading."""

from pathlib import Path

import pytest
import torch

from fitted import write_bert, write_foods
from tsgen.baselines.weigher_search import WeigherRetriever
from tsgen.corpus.load import load
from tsgen.settings import WeigherConfig
from tsgen.terms.weigher import Weigher
from tsgen.terms.weights import Impact
from tsgen.terms.words import Splitter

QUERIES = ["white breads", "what goes with sour rice and tea", "nothing known here"]


def make(tmp_path: Path) -> tuple[WeigherRetriever, Weigher, list[dict[str, float]]]:
    data, splitter = load(write_foods(tmp_path / "foods", "test")), Splitter()
    impact = Impact.count((document.contents for document in data.documents()), splitter)
    bert = str(write_bert(tmp_path / "bert"))
    config = WeigherConfig(encoder=bert, window=32, overlap=8, prior="bm25")
    torch.manual_seed(0)
    weigher = Weigher(config, splitter, impact).eval()
    torch.nn.init.normal_(weigher.mlp[-1].weight)  # weights that differ visibly
    return WeigherRetriever.fit(data, weigher), weigher, list(weigher.weigh(data.documents()))


def test_hits_are_those_of_the_slow_sum(tmp_path: Path) -> None:
    retriever, weigher, documents = make(tmp_path)
    for query, hits in zip(
        weigher.weigh_queries(QUERIES), retriever.search(QUERIES, 5), strict=True
    ):
        asked = {weigher.splitter.key(word): weight for word, weight in query.items()}
        slow = {
            f"d{i}": sum(asked.get(weigher.splitter.key(t), 0.0) * w for t, w in weights.items())
            for i, weights in enumerate(documents)
        }
        best = sorted((score for score in slow.values() if score > 0), reverse=True)[:5]
        assert [hit.score for hit in hits] == pytest.approx(best, rel=1e-4)
        assert all(hit.score == pytest.approx(slow[hit.document_id], rel=1e-4) for hit in hits)


def test_saved_and_loaded_it_returns_the_same_hits(tmp_path: Path) -> None:
    retriever, _, _ = make(tmp_path)
    folder = tmp_path / "saved"
    folder.mkdir()
    retriever.save(folder)
    assert WeigherRetriever.load(folder).search(QUERIES, 5) == retriever.search(QUERIES, 5)
    assert retriever.search(QUERIES, 5)[2] == []
