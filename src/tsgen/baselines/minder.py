"""MINDER (Li et al., 2023): several views of a document identify it, each by its n-grams.

The views are the title, the text and synthetic queries for the document. One model generates
n-grams of each view, whose name stands before the query; the n-grams of all views are scored
together, as SEAL scores those of the text (the formula is in `_ngrams`).

Deviations: those of SEAL (see `seal`); the synthetic queries are those of [queries], by whatever
writer it names, where the paper has 20 of docT5query a passage; n-grams of the view `body` may come
from any text of a document, and titles and queries count up to 10 tokens.
"""

from pathlib import Path

from tsgen.baselines._ngrams import NgramConfig, NgramRetriever, fit_ngrams, reindex_ngrams
from tsgen.corpus.dataset import DataSet
from tsgen.retrieve.sequence_systems import register_sequences
from tsgen.retrieve.systems import Fitted


class MINDERConfig(NgramConfig):
    """The settings of n-gram systems, as they are."""


def _fit(data: DataSet, config: MINDERConfig, seed: int, folder: Path) -> None:
    fit_ngrams(data, config, seed, folder, with_queries=True)


def _reindex(fitted: Fitted, data: DataSet, _scratch: Path) -> NgramRetriever:
    return reindex_ngrams(fitted, data, with_queries=True)


register_sequences("minder", MINDERConfig, _fit, NgramRetriever.load, _reindex)
