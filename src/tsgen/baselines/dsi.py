"""DSI (Tay et al., 2022): a document's identifier says in which clusters of clusters it is.

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

from tsgen.baselines._clusters import document_vectors, hierarchical_codes, leaf_size
from tsgen.corpus.dataset import DataSet, watched_documents
from tsgen.docids.sequence_ids import SequenceIds
from tsgen.retrieve.sequence_systems import (
    SequenceConfig,
    SequenceFit,
    register_sequences,
    text_ids,
)


class DSIConfig(SequenceConfig):
    """Which identifiers, and the sizes of the hierarchical ones."""

    ids: Literal["hierarchical", "atomic", "naive"] = "hierarchical"
    clusters: int = Field(10, ge=2)  # k
    leaf: int = Field(100, ge=1)  # c, at most


def dsi_ids(
    data: DataSet, config: DSIConfig, seed: int, cache: Path, tokenizer: Any
) -> SequenceIds:
    """The sequence of each document."""
    ids = [document.id for document in watched_documents(data)]
    if config.ids == "naive":
        return text_ids(ids, [str(number) for number in range(len(ids))], tokenizer, 32)
    if config.ids == "atomic":
        return SequenceIds.of(ids, [[number] for number in range(len(ids))], symbols=ids)
    leaf = leaf_size(len(ids), config.leaf, config.clusters)
    codes = hierarchical_codes(document_vectors(data, cache), config.clusters, leaf, seed)
    names = [str(code) for code in range(max(config.clusters, leaf))]
    return SequenceIds.of(ids, codes, symbols=names)


def _fit(data: DataSet, config: DSIConfig, seed: int, folder: Path) -> None:
    def scheme(tokenizer: Any) -> SequenceIds:
        return dsi_ids(data, config, seed, folder.parent, tokenizer)

    SequenceFit(data, config, seed, folder).run(scheme)


register_sequences("dsi", DSIConfig, _fit)
