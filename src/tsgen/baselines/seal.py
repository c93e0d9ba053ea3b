"""SEAL (Bevilacqua et al., 2022): every n-gram of a document identifies it, more or less.

The model is trained to generate n-grams of the relevant document, drawn with a bias to those that
overlap with the query, and its title. A beam search over all n-grams of the corpus (up to 10
tokens) keeps every n-gram that it meets. N-grams are weighed by how much likelier the query makes
them than the corpus does, and a document's score adds up the weights of its n-grams that do not
overlap, less for those that repeat tokens: the paper's LM + FM intersective scoring with its α = 2
and β = 0.8, whose formula is in `_ngrams`.

Deviations: a suffix array in place of the FM-index, which answers the same questions; overlap with
the query is measured in tokens by idf instead of in characters; there are no examples of spans that
predict one another, because all generative systems learn the same queries ([queries] has synthetic
ones, `train.pairs.pieces` adds spans); titles are a view of their own, asked for before the query
as the authors' code asks for them after it; the backbone is that of all generative systems instead
of BART. As in the authors' code, n-grams in over 1,500 places count nothing.
"""

from pathlib import Path

from tsgen.baselines._ngrams import NgramConfig, NgramRetriever, fit_ngrams, reindex_ngrams
from tsgen.corpus.dataset import DataSet
from tsgen.retrieve.sequence_systems import register_sequences
from tsgen.retrieve.systems import Fitted


class SEALConfig(NgramConfig):
    """The settings of n-gram systems, as they are."""


def _fit(data: DataSet, config: SEALConfig, seed: int, folder: Path) -> None:
    fit_ngrams(data, config, seed, folder, with_queries=False)


def _reindex(fitted: Fitted, data: DataSet, _scratch: Path) -> NgramRetriever:
    return reindex_ngrams(fitted, data, with_queries=False)


register_sequences("seal", SEALConfig, _fit, NgramRetriever.load, _reindex)
