"""DSI (Tay et al., 2022): the identifier is the document's path in a tree of clusters.

`ids = "hierarchical"`: k-means over all vectors, k = 10, and again inside every cluster of over
c = 100 documents; the last code numbers a cluster's documents. `atomic`: one symbol a document.
`naive`: the document's number, written by the tokenizer. With synthetic queries ([queries]) this is
DSI-QG (Zhuang et al., 2022); `train.pairs.pieces` adds DSI's own indexing task.

Deviations: vectors are MiniLM's instead of BERT's; codes are symbols of their own instead of
digits; c is at most √D, or a small set would be a flat list; the search is kept inside the trie of
real identifiers, and all generative systems have one backbone.
"""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from tsgen.baselines._identifiers import (
    hierarchical_codes,
    leaf_size,
    minilm_vectors,
    placed_ids,
)
from tsgen.corpus.dataset import DataSet, watched_documents
from tsgen.docids.sequence_ids import SequenceIds
from tsgen.errors import ConfigError
from tsgen.retrieve.sequence_systems import (
    SequenceConfig,
    SequenceFit,
    SequenceRetriever,
    fitted_ids,
    register_sequences,
    text_ids,
    with_ids,
)
from tsgen.retrieve.systems import Fitted


class DSIConfig(SequenceConfig):
    """The settings of a sequence system, the kind of identifiers and their sizes."""

    ids: Literal["hierarchical", "atomic", "naive"] = "hierarchical"
    """The kind of identifiers: paths of clusters, one symbol a document, or numbers."""

    clusters: int = Field(10, ge=2)
    """Clusters that a cluster is split into, the paper's k."""

    leaf: int = Field(100, ge=1)
    """Clusters of more documents are split, the paper's c; at most √D."""


def dsi_ids(
    data: DataSet, config: DSIConfig, seed: int, cache: Path, tokenizer: Any
) -> SequenceIds:
    """Give each document its identifier, of the kind that the settings name."""
    ids = [document.id for document in watched_documents(data)]
    if config.ids == "naive":
        return text_ids(ids, [str(number) for number in range(len(ids))], tokenizer, 32)
    if config.ids == "atomic":
        return SequenceIds.of(ids, [[number] for number in range(len(ids))], symbols=ids)
    leaf = leaf_size(len(ids), config.leaf, config.clusters)
    codes = hierarchical_codes(minilm_vectors(data, cache), config.clusters, leaf, seed)
    names = [str(code) for code in range(max(config.clusters, leaf))]
    return SequenceIds.of(ids, codes, symbols=names)


def _fit(data: DataSet, config: DSIConfig, seed: int, folder: Path) -> None:
    def scheme(tokenizer: Any) -> SequenceIds:
        return dsi_ids(data, config, seed, folder.parent, tokenizer)

    SequenceFit(data, config, seed, folder).run(scheme)


def _reindex(fitted: Fitted, data: DataSet, _scratch: Path) -> SequenceRetriever:
    """The same model over other documents, each in the cluster of the nearest one it knows."""
    if fitted.config.ids != "hierarchical":
        raise ConfigError(
            f"dsi.ids = {fitted.config.ids!r}: such identifiers say nothing of a document; "
            "expected 'hierarchical' for documents that come later"
        )
    known = fitted_ids(fitted)
    symbols = range(len(known.symbols or ()))

    def any_symbol(_last: int) -> range:
        return symbols

    return with_ids(fitted, placed_ids(known, fitted.data, data, fitted.cache, any_symbol))


register_sequences("dsi", DSIConfig, _fit, reindex=_reindex)
