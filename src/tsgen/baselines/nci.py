"""NCI (Wang et al., 2022): hierarchical codes that know their level, and a decoder that adapts.

Identifiers are made like those of DSI, with k = c = 30, but a code's symbol says its level, too:
(2, 5) is not (3, 5). The prefix-aware weight-adaptive decoder makes the output vectors of a step
depend on the codes so far (`model.adaptive`, see `tsgen.model.mini`), because the fifth cluster
inside one cluster has nothing to do with the fifth inside another.

Deviations: the adapting net is one layer of attention over the prefix and a map of rank 64, instead
of four layers and a whole matrix; no consistency loss between two dropouts; vectors, backbone and
query writer as for DSI.
"""

from pathlib import Path
from typing import Any

from pydantic import Field

from tsgen.baselines._clusters import code_ids, document_vectors, hierarchical_codes, leaf_size
from tsgen.corpus.dataset import DataSet, watched_documents
from tsgen.docids.sequence_ids import SequenceIds
from tsgen.retrieve.sequence_systems import SequenceConfig, SequenceFit, register_sequences


class NCIConfig(SequenceConfig):
    """The sizes of the identifiers and of the adaptive decoder."""

    clusters: int = Field(30, ge=2)  # k
    leaf: int = Field(30, ge=1)  # c, at most
    adaptive: int = Field(64, ge=0)  # the rank; 0: the decoder does not adapt


def nci_ids(data: DataSet, config: NCIConfig, seed: int, cache: Path) -> SequenceIds:
    """The sequence of each document."""
    ids = [document.id for document in watched_documents(data)]
    leaf = leaf_size(len(ids), config.leaf, config.clusters)
    codes = hierarchical_codes(document_vectors(data, cache), config.clusters, leaf, seed)
    return code_ids(ids, codes)


def _fit(data: DataSet, config: NCIConfig, seed: int, folder: Path) -> None:
    model = config.model.model_copy(update={"adaptive": config.adaptive or None})
    adapting = config.model_copy(update={"model": model})

    def scheme(_tokenizer: Any) -> SequenceIds:
        return nci_ids(data, config, seed, folder.parent)

    SequenceFit(data, adapting, seed, folder).run(scheme)


register_sequences("nci", NCIConfig, _fit)
