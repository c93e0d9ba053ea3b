"""SE-DSI (Tang et al., 2023): one synthetic query is the identifier, as in the paper's figure 1.

A document's identifier is the longest of its synthetic queries, which says most about it, or its
first words where it has none. Equal identifiers are numbered. The model is trained on the synthetic
and the real queries, and with `train.pairs.pieces` on pieces of the text (the paper's rehearsal).

Deviations: the query writer is that of [queries], by default extractive, instead of docT5query; the
backbone is that of all generative systems.
"""

from pathlib import Path
from typing import Any

from pydantic import Field

from tsgen.baselines._identifiers import unique_texts
from tsgen.corpus.dataset import DataSet, watched_documents
from tsgen.docids.sequence_ids import SequenceIds
from tsgen.errors import ConfigError
from tsgen.retrieve.sequence_systems import (
    SequenceConfig,
    SequenceFit,
    register_sequences,
    text_ids,
)
from tsgen.train.examples import read_pairs


class SEDSIConfig(SequenceConfig):
    """The settings of a sequence system, and how long identifiers are."""

    longest: int = Field(32, ge=1)
    """Queries are cut off after so many tokens."""

    words: int = Field(16, ge=1)
    """A document without synthetic queries has so many first words for an identifier."""


def query_ids(data: DataSet, config: SEDSIConfig, queries: Path, tokenizer: Any) -> SequenceIds:
    """Give each document its longest synthetic query, in the tokenizer's pieces."""
    documents = list(watched_documents(data))
    texts = [" ".join(document.text.split()[: config.words]) for document in documents]
    numbers = {document.id: number for number, document in enumerate(documents)}
    longest: dict[int, str] = {}
    for pair in read_pairs(queries, numbers):
        if len(pair.query) > len(longest.get(pair.document, "")):
            longest[pair.document] = pair.query
    chosen = unique_texts(longest.get(number, text) for number, text in enumerate(texts))
    return text_ids([document.id for document in documents], chosen, tokenizer, config.longest)


def _fit(data: DataSet, config: SEDSIConfig, seed: int, folder: Path) -> None:
    fit = SequenceFit(data, config, seed, folder)
    queries = fit.synthetic()
    if queries is None:
        raise ConfigError(
            "se-dsi: identifiers are synthetic queries, but there are none; expected a writer. Set "
            "queries.writer=extractive, or another one that `tsgen queries --help` names."
        )
    fit.run(lambda tokenizer: query_ids(data, config, queries, tokenizer))


register_sequences("se-dsi", SEDSIConfig, _fit)
