"""NCI (Wang et al., 2022): hierarchical codes that know their level, and a decoder that adapts.

Identifiers are made like those of DSI, with k = c = 30, but each level has symbols of its own: code
5 of level 2 is another symbol than code 5 of level 3. In the prefix-aware weight-adaptive decoder
the output vectors of a step depend on the codes so far (`model.adaptive`, see `tsgen.model.mini`),
because the fifth cluster inside one cluster has nothing to do with the fifth inside another.

Deviations: the adapting net is one layer of attention over the prefix and a map of rank 64, instead
of four layers and a whole matrix; no consistency loss between two dropouts; vectors, backbone and
query writer as for DSI.
"""

from pathlib import Path
from typing import Any

from pydantic import Field

from tsgen.baselines._identifiers import (
    code_ids,
    hierarchical_codes,
    leaf_size,
    minilm_vectors,
    placed_ids,
)
from tsgen.corpus.dataset import DataSet, watched_documents
from tsgen.docids.sequence_ids import SequenceIds
from tsgen.retrieve.sequence_systems import (
    SequenceConfig,
    SequenceFit,
    SequenceRetriever,
    fitted_ids,
    register_sequences,
    with_ids,
)
from tsgen.retrieve.systems import Fitted


class NCIConfig(SequenceConfig):
    """The settings of a sequence system, the sizes of identifiers and of the adaptive decoder."""

    clusters: int = Field(30, ge=2)
    """Clusters that a cluster is split into, the paper's k."""

    leaf: int = Field(30, ge=1)
    """Clusters of more documents are split, the paper's c; at most √D."""

    adaptive: int = Field(64, ge=0)
    """The rank of the decoder's adaptive map; 0: the decoder does not adapt."""


def nci_ids(data: DataSet, config: NCIConfig, seed: int, cache: Path) -> SequenceIds:
    """Give each document its path of clusters as its identifier."""
    ids = [document.id for document in watched_documents(data)]
    leaf = leaf_size(len(ids), config.leaf, config.clusters)
    codes = hierarchical_codes(minilm_vectors(data, cache), config.clusters, leaf, seed)
    return code_ids(ids, codes)


def _fit(data: DataSet, config: NCIConfig, seed: int, folder: Path) -> None:
    model = config.model.model_copy(update={"adaptive": config.adaptive or None})
    adapting = config.model_copy(update={"model": model})

    def scheme(_tokenizer: Any) -> SequenceIds:
        return nci_ids(data, config, seed, folder.parent)

    SequenceFit(data, adapting, seed, folder).run(scheme)


def _reindex(fitted: Fitted, data: DataSet, _scratch: Path) -> SequenceRetriever:
    """The same model over other documents, each in the cluster of the nearest one it knows."""
    known = fitted_ids(fitted)
    levels = [name.split(":")[0] for name in known.symbols or ()]

    def of_level(last: int) -> list[int]:
        return [symbol for symbol, level in enumerate(levels) if level == levels[last]]

    return with_ids(fitted, placed_ids(known, fitted.data, data, fitted.cache, of_level))


register_sequences("nci", NCIConfig, _fit, reindex=_reindex)
