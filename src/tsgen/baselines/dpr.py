"""DPR (Karpukhin et al., 2020): dense passage retrieval by two BERTs and the inner product.

    s(Q, D) = BERT_Q(Q)[CLS] · BERT_D(D)[CLS]

The defaults are the paper's: an encoder for queries and one for documents, one BM25 negative a
query and the other queries' documents of the batch as negatives, exact search by faiss.

Deviations: without a hub training starts from MiniLM, which pip brings, instead of BERT-base.
MiniLM was trained as a sentence encoder, with one encoder for both sides, the mean of its states
and cosines; the preset `cpu` keeps those.
"""

from tsgen.baselines._bi_encoder import register_bi_encoder
from tsgen.baselines._dense_encoder import DenseConfig, DenseEncoder, DenseRetriever


class DPRConfig(DenseConfig):
    """The settings of dense encoders, with two encoders by default."""

    separate: bool = True
    """Whether queries have an encoder of their own."""


register_bi_encoder("dpr", DPRConfig, DenseRetriever, DenseEncoder.pretrained)
