"""DPR (Karpukhin et al., 2020): dense passage retrieval by two BERTs and the inner product.

    s(Q, D) = BERT_Q(Q)[CLS] · BERT_D(D)[CLS]

The defaults are the paper's: an encoder for queries and one for documents, one BM25 negative a
query and the other queries' documents of the batch as negatives, exact search by faiss.

Deviations: without a hub training starts from MiniLM, which pip brings, instead of BERT-base.
MiniLM was trained as a sentence encoder, with one encoder for both sides, the mean of its states
and cosines; the preset `cpu` keeps those.
"""

from pathlib import Path

from tsgen.baselines._bi_encoder import encode_corpus, train_bi_encoder
from tsgen.baselines._dense import DenseConfig, DenseEncoder, DenseRetriever
from tsgen.corpus.dataset import DataSet
from tsgen.retrieve.systems import SYSTEMS, System


class DPRConfig(DenseConfig):
    """The settings of dense encoders, with two encoders by default."""

    separate: bool = True
    """Whether queries have an encoder of their own."""


def train_dpr(data: DataSet, config: DPRConfig, seed: int, cache: Path) -> Path:
    """Train the encoders, unless the cache has them; return their folder."""

    def start() -> DenseEncoder:
        return DenseEncoder.pretrained(config)

    return train_bi_encoder("dpr", start, data, config, seed, cache)


def _fit(data: DataSet, config: DPRConfig, seed: int, folder: Path) -> None:
    encoders = train_dpr(data, config, seed, folder.parent)
    encode_corpus(DenseRetriever, data, [encoders], folder)


SYSTEMS.register(System("dpr", DPRConfig, _fit, DenseRetriever.load, trains=True))
