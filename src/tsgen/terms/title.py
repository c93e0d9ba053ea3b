"""Title weights: the words of the title first, as in the paper's Table 6, then tf-idf."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from tsgen.corpus.dataset import DataSet
from tsgen.records import Document
from tsgen.terms.tfidf import TfidfConfig, TfidfWeights, build_tfidf, load_tfidf
from tsgen.terms.weights import WeightsKind, Workspace, register
from tsgen.terms.words import Splitter


class TitleWeights:
    """The i-th distinct title word weighs 1 + 1 / i, any other word w / (1 + w) by its tf-idf w."""

    def __init__(self, splitter: Splitter, rest: TfidfWeights) -> None:
        self._splitter = splitter
        self._rest = rest

    def weigh(self, documents: Iterable[Document]) -> Iterator[dict[str, float]]:
        """For each document its distinct words; words of one stem weigh the same."""
        for document in documents:
            yield self._weigh(document)

    def save(self, folder: Path) -> None:
        """Write what the tf-idf weights need."""
        self._rest.save(folder)

    def _weigh(self, document: Document) -> dict[str, float]:
        title = self._splitter.spellings(document.title)
        place = {key: i for i, key in enumerate(dict.fromkeys(map(self._splitter.key, title)), 1)}
        (rest,) = self._rest.weigh([document])
        weights = {}
        for word, weight in rest.items():
            i = place.get(self._splitter.key(word))
            weights[word] = 1 + 1 / i if i else weight / (1 + weight)
        return weights


def _build(
    data: DataSet, splitter: Splitter, config: TfidfConfig, workspace: Workspace
) -> TitleWeights:
    return TitleWeights(splitter, build_tfidf(data, splitter, config))


def _load(folder: Path, splitter: Splitter, config: TfidfConfig) -> TitleWeights:
    return TitleWeights(splitter, load_tfidf(folder, splitter, config))


register(WeightsKind("title", TfidfConfig, _build, _load))
