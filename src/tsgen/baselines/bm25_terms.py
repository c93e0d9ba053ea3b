"""BM25 over nothing but the N terms of each document: what lexical matching makes of term sets."""

from pathlib import Path

from tsgen.baselines.bm25 import BM25
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.docids.stage import TermsConfig, select_terms, terms_folder
from tsgen.queries.lexical import LexicalIndex
from tsgen.retrieve.registry import System, register


class BM25TermsConfig(StageConfig):
    """The terms are those with the largest tf-idf, which needs no queries."""

    n: int = 12


def _fit(data: DataSet, config: BM25TermsConfig, seed: int, folder: Path) -> None:
    terms = TermsConfig(weights="tfidf", n=config.n)
    out = terms_folder(data, terms, seed, folder.parent)
    sets = select_terms(data, terms, out, seed, folder.parent)
    texts = (" ".join(sets.term_set(number).terms) for number in range(len(sets)))
    BM25(LexicalIndex.build(texts), list(sets.documents)).save(folder)


register(System("bm25-terms", BM25TermsConfig, _fit, BM25.load, aside=True))
