"""The control against memorisation: N random words of the collection, none of them the document's.

Such identifiers say nothing of what they identify. What a generator finds by them it has learned by
heart, so it finds nothing of a document that no training query asked for.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
import orjson

from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.progress import show
from tsgen.records import Document
from tsgen.terms.weights import WeightsKind, Workspace, register
from tsgen.terms.words import Splitter

FILE = "control.json"
CANDIDATES = 128  # words drawn for a document: as many as N and the swaps of uniqueness may need


class ControlConfig(StageConfig):
    """Nothing to set: the seed is the stage's."""


class ControlWeights:
    """Words drawn by a hash of seed and document id; the first drawn weighs most."""

    def __init__(self, splitter: Splitter, words: Sequence[str], seed: int) -> None:
        self._splitter, self._words, self._seed = splitter, words, seed

    def weigh(self, documents: Iterable[Document]) -> Iterator[dict[str, float]]:
        """For each document some words that it does not have."""
        for document in documents:
            own = set(map(self._splitter.key, self._splitter.spellings(document.contents)))
            drawn = [
                word for word in self._drawn(document.id) if self._splitter.key(word) not in own
            ]
            yield {word: 1 - i / CANDIDATES for i, word in enumerate(drawn)}

    def save(self, folder: Path) -> None:
        """Write the words and the seed."""
        values = {"seed": self._seed, "words": list(self._words)}
        (folder / FILE).write_bytes(orjson.dumps(values))

    def _drawn(self, document_id: str) -> list[str]:
        """Different words, each as likely as any other."""
        digest = blake2b(f"{self._seed}\x00{document_id}".encode(), digest_size=8).digest()
        rng = np.random.default_rng(int.from_bytes(digest))
        places = rng.integers(len(self._words), size=CANDIDATES) if self._words else ()
        return [self._words[i] for i in dict.fromkeys(int(place) for place in places)]


def _build(
    data: DataSet, splitter: Splitter, config: ControlConfig, workspace: Workspace
) -> ControlWeights:
    """Draw from the words of two documents or more, one spelling for each stem; from all words, if
    there are none such."""
    counts: Counter[str] = Counter()
    spelling: dict[str, str] = {}
    for position, document in enumerate(data.documents()):
        show("counting words", position)
        words = sorted(set(splitter.spellings(document.contents)))
        keys = {splitter.key(word): word for word in reversed(words)}
        counts.update(keys.keys())
        for key, word in keys.items():
            spelling.setdefault(key, word)
    shared = [key for key, count in counts.items() if count > 1] or list(counts)
    return ControlWeights(splitter, sorted(spelling[key] for key in shared), workspace.seed)


def _load(folder: Path, splitter: Splitter, config: ControlConfig) -> ControlWeights:
    values = orjson.loads((folder / FILE).read_bytes())
    return ControlWeights(splitter, values["words"], values["seed"])


register(WeightsKind("control", ControlConfig, _build, _load))
