"""PAG-style (Zeng et al., 2024): planning ahead in autoregressive generation, by a set prior.

    s(Q, D) = log p(sequence of D | Q) + weight · prior(set of D, Q)

Every document has a sequence and a set of terms. One step of a set model says how likely each
document's terms are, whatever their order: the prior. In the beam search over sequences a prefix
counts with the best prior of the documents that it can still lead to, so that it is not pruned
while a good document is ahead; a document found counts with its own prior.

The set model is the trained term-set generator of the same settings ([terms], [model], [train]);
sequences are residual-quantised codes that know their position.

Deviations: the two models are trained apart, not one after the other from the same weights; codes
are of MiniLM's vectors, 4 of at most √D instead of 8 of 2048, equal ones numbered. `train.minutes`
are shared half and half.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import Field

from tsgen.baselines._identifiers import (
    Codes,
    Floats,
    code_ids,
    kmeans,
    leaf_size,
    minilm_vectors,
)
from tsgen.config import merged
from tsgen.constrain.constraint import Int
from tsgen.constrain.trie import Float, TrieFrontier
from tsgen.corpus.dataset import DataSet, watched_documents
from tsgen.decode.beam import LookAhead
from tsgen.decode.hypotheses import Found, as_hits
from tsgen.decode.ranking import SetPrior
from tsgen.decode.search import search
from tsgen.docids.sequence_ids import SequenceIds
from tsgen.records import Hit
from tsgen.retrieve.build import engine_config, make_engine
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.sequence_systems import (
    SequenceConfig,
    SequenceFit,
    SequenceRetriever,
    settings_of,
)
from tsgen.retrieve.systems import SYSTEMS, System, Tables
from tsgen.settings import EngineConfig

NAME, SET, PRIOR = "pag", "set", "prior.json"
EXHAUSTIVE = {"early_stop": False, "compared": 16}


class PAGConfig(SequenceConfig):
    """The settings of a sequence system, of its set model and of the prior."""

    positions: int = Field(4, ge=1)
    """Codes of a sequence."""

    codes: int = Field(256, ge=2)
    """Codes at each position; at most √D."""

    weight: float = Field(1.0, ge=0)
    """How much the prior counts beside log p."""

    prior: Literal["mean", "sum", "matched"] = "matched"
    """How the set prior adds up a document's terms (see `tsgen.decode.ranking`)."""

    set_model: EngineConfig = EngineConfig()
    """The settings of the set model, which are those of an engine."""


class PAG:
    """A search over sequences, guided by the prior of a set model."""

    def __init__(
        self, sequences: SequenceRetriever, sets: Engine, weight: float, prior: str
    ) -> None:
        self._sequences, self._sets = sequences, sets
        self._weight, self._prior = weight, prior

    def search(self, queries: Sequence[str], k: int, beam: int | None = None) -> list[list[Hit]]:
        """At most `k` hits for each query; a score is log p of the sequence plus the prior."""
        generator, decode = self._sequences.generator, self._sequences.config.decode.with_beam(beam)
        priors: list[NDArray[np.float32]] = []

        def look_ahead_of(together: Sequence[str]) -> LookAhead:
            values = self._weight * self._priors(together)
            priors.extend(values)

            def ahead(frontier: TrieFrontier, query: Int) -> Float:
                return generator.constraint.best(frontier, query, values)

            return ahead

        # What log p ranks low may come first by its prior: nothing is dropped before that counts.
        wide, decode = max(k, decode.beam), decode.model_copy(update=EXHAUSTIVE)
        parts = generator.backbone, generator.constraint
        found = search(*parts, queries, wide, decode, look_ahead_of=look_ahead_of)
        ranked = [_with_prior(*one)[:k] for one in zip(found, priors, strict=True)]
        names = self._sequences.names()
        return [as_hits(hits, generator.ids.documents, names) for hits in ranked]

    def _priors(self, queries: Sequence[str]) -> NDArray[np.float32]:
        """The prior [Q, D] of every document's set, by one step of the set model."""
        generator = self._sets.generator
        _, _, hidden = generator.backbone.encode(queries)
        parts = generator.backbone, generator.constraint
        return SetPrior.after_first_step(*parts, hidden, self._prior).sums

    def save(self, folder: Path) -> None:
        """Write both models, and the weight and kind of the prior."""
        self._sequences.save(folder)
        (folder / SET).mkdir(exist_ok=True)
        self._sets.save(folder / SET)
        _save_prior(folder, self._weight, self._prior)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Open what `save` wrote."""
        settings = orjson.loads((folder / PRIOR).read_bytes())
        return cls(SequenceRetriever.load(folder), Engine.load(folder / SET), **settings)


def _with_prior(found: Sequence[Found], prior: NDArray[np.float32]) -> list[Found]:
    """Add the prior to each document's log p and sort by the sum; ties keep their order."""
    scored = [replace(one, score=one.score + float(prior[one.document])) for one in found]
    return sorted(scored, key=lambda one: -one.score)


def residual_codes(vectors: Floats, positions: int, codes: int, seed: int) -> Codes:
    """Residual quantisation: at each position the nearest centroid of what is left of a vector."""
    rest, columns = vectors.copy(), []
    for position in range(positions):
        label, centroids = kmeans(rest, codes, seed + position)
        rest -= centroids[label]
        columns.append(label)
    rows: Codes = np.stack(columns, axis=1).tolist()
    return rows


def _save_prior(folder: Path, weight: float, prior: str) -> None:
    (folder / PRIOR).write_bytes(orjson.dumps({"weight": weight, "prior": prior}))


def _settings(tables: Tables) -> PAGConfig:
    sets = {"set_model": engine_config(tables).model_dump()}
    return settings_of(NAME, PAGConfig)(merged(tables, {NAME: sets}))


def _halved(config: Any) -> Any:
    """The same settings with half of the minutes of training."""
    return config.model_copy(update={"train": config.train.part(2)})


def _fit(data: DataSet, config: PAGConfig, seed: int, folder: Path) -> None:
    (folder / SET).mkdir(exist_ok=True)
    make_engine(data, _halved(config.set_model), seed, folder / SET, folder.parent)

    def scheme(_tokenizer: object) -> SequenceIds:
        ids = [document.id for document in watched_documents(data)]
        codes = leaf_size(len(ids), config.codes, 2)
        vectors = minilm_vectors(data, folder.parent)
        return code_ids(ids, residual_codes(vectors, config.positions, codes, seed))

    SequenceFit(data, _halved(config), seed, folder).run(scheme)
    _save_prior(folder, config.weight, config.prior)


SYSTEMS.register(
    System(NAME, PAGConfig, _fit, PAG.load, True, from_tables=_settings, own_table=True)
)
