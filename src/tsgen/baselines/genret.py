"""GenRet (Sun et al., 2023): identifiers are discrete codes that are themselves learned.

Codes are learned position by position from pairs of queries and documents (see `_codebooks`:
retrieval, reconstruction and commitment, codebooks that start from balanced clusters); then the
generator learns to write them, inside the trie.

Deviations: the tokenizer that makes codes reads vectors of a frozen MiniLM, where GenRet trains a
T5 end to end, and codes are fixed before the generator learns them; a codebook has at most √D
entries, for 512 are for larger sets; equal codes are numbered, where GenRet takes such documents in
any order. `train.minutes` are shared half and half.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import Field

from tsgen.baselines._clusters import Codes, code_ids, document_vectors, leaf_size
from tsgen.baselines._codebooks import CodePairs, CodeTraining, learn_codes
from tsgen.corpus.dataset import DataSet, watched_documents
from tsgen.docids.sequence_ids import SequenceIds
from tsgen.queries.pairs import Pair
from tsgen.retrieve.sequences import SequenceConfig, SequenceFit, register_sequences
from tsgen.write.round_trip import VectorReader


class GenRetConfig(SequenceConfig):
    """The sizes of the codes, and how they are learned."""

    positions: int = Field(3, ge=1)
    codes: int = Field(512, ge=2)  # of a position, at most
    epochs: int = Field(5, ge=0)  # of each position, unless there are minutes
    retrieval: float = Field(1.0, ge=0)  # the weights of the parts of the loss
    reconstruction: float = Field(1.0, ge=0)
    commitment: float = Field(1.0, ge=0)


def learned_codes(
    data: DataSet, config: GenRetConfig, pairs: Sequence[Pair], seed: int, folder: Path
) -> Codes:
    """The codes of each document, from what is asked for it."""
    documents = document_vectors(data, folder.parent)
    queries = VectorReader().vectors([pair.query for pair in pairs], "reading queries")
    answers = np.array([pair.document for pair in pairs], np.int64)
    minutes = config.train.part(2 * config.positions).minutes
    how = CodeTraining(
        config.epochs,
        minutes,
        retrieval=config.retrieval,
        reconstruction=config.reconstruction,
        commitment=config.commitment,
    )
    codes = leaf_size(len(documents), config.codes, 2)
    known = CodePairs(documents, queries, answers)
    return learn_codes(known, config.positions, codes, how, seed, folder)


def _fit(data: DataSet, config: GenRetConfig, seed: int, folder: Path) -> None:
    half = config.model_copy(update={"train": config.train.part(2)})
    fit = SequenceFit(data, half, seed, folder)
    synthetic = fit.synthetic()
    ids = [document.id for document in watched_documents(data)]
    empty = SequenceIds.of(ids, [[] for _ in ids])
    pairs, validation = fit.examples(empty, synthetic)

    def scheme(_tokenizer: object) -> SequenceIds:
        codes = learned_codes(data, config, pairs, seed, folder)
        return code_ids(ids, codes)

    generator = fit.generator(fit.ids(scheme))
    fit.learn(generator, pairs, validation, folder)
    fit.finish(generator)


register_sequences("genret", GenRetConfig, _fit)
