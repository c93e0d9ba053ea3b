"""DPR (Karpukhin et al., 2020): dense passage retrieval by two BERTs and the inner product.

The defaults are the paper's: an encoder for queries and one for documents, the vector of [CLS], one
BM25 negative a query and the other queries' documents of the batch, searched exactly by faiss.
It deviates in its start, where a hub is out of reach: MiniLM, which pip brings, instead of
BERT-base. That one was trained as a sentence encoder before, with one encoder for both sides, the
mean of its states and cosines: the preset `cpu` goes on from there.
"""

from pathlib import Path

from tsgen.baselines._bi_encoder import finish, trained
from tsgen.baselines._dense import DenseConfig, DenseEncoder, DenseRetriever
from tsgen.corpus.dataset import DataSet
from tsgen.retrieve.systems import SYSTEMS, System


class DPRConfig(DenseConfig):
    """DPR's settings."""

    separate: bool = True


def trained_dpr(data: DataSet, config: DPRConfig, seed: int, cache: Path) -> Path:
    """The folder in `cache` of the trained encoders."""
    return trained("dpr", lambda: DenseEncoder.pretrained(config), data, config, seed, cache)


def _fit(data: DataSet, config: DPRConfig, seed: int, folder: Path) -> None:
    kept = trained_dpr(data, config, seed, folder.parent)
    finish(DenseRetriever, data, [kept], folder)


SYSTEMS.register(System("dpr", DPRConfig, _fit, DenseRetriever.load, trains=True))
