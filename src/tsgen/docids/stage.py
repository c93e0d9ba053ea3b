"""The stage that gives every document of a data set its term set."""

from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field

from tsgen.artifact import open_artifact, stage
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet, judgments_fingerprint
from tsgen.docids.term_set import TermSets
from tsgen.progress import show
from tsgen.terms.arrays import save_array
from tsgen.terms.rank import Candidates, rank
from tsgen.terms.select import Selection, select
from tsgen.terms.weighed import remove_pieces, weigh_corpus
from tsgen.terms.weights import WeightsKind, weights_kind
from tsgen.terms.words import Splitter, WordsConfig

KIND = "term-sets"
FACTS = "selection.json"  # N, and how many documents had to move
FIRST = "doc_first"  # [D] the first document with the same set: the duplicates


class TermsConfig(StageConfig):
    """How T(D) is chosen."""

    weights: str = "learned"  # or tfidf, title, random
    n: Annotated[int, Field(ge=1)] | Literal["auto"] = 12  # auto: the smallest without collisions
    words: WordsConfig = WordsConfig()
    options: dict[str, Any] = Field(default_factory=dict)  # settings of the chosen weights


def select_terms(data: DataSet, config: TermsConfig, out: Path, seed: int = 0) -> TermSets:
    """Weigh every word, select T(D) for every document, write them to `out` and open it.

    The same inputs skip the work; an interrupted run goes on after its last finished piece.
    """
    kind = weights_kind(config.weights)
    options = kind.config.from_mapping(config.options, source=f"options of {kind.name!r}")
    resolved = config.model_copy(update={"options": options.model_dump(mode="json")})

    def work(folder: Path) -> None:
        splitter = Splitter(config.words)
        weights = kind.build(data, splitter, options, seed, folder)
        weighed = weigh_corpus(data.documents(), weights, folder, _show)
        candidates = rank(weighed, splitter.key)
        selection = select(candidates, None if config.n == "auto" else config.n)
        _write(candidates, selection, folder)
        remove_pieces(folder)

    stage(out, work, kind=KIND, config=resolved, inputs=_inputs(data, kind), seed=seed)
    return TermSets.load(out)


def open_term_sets(folder: Path) -> TermSets:
    """The term sets of a folder that `select_terms` wrote, its files checked."""
    open_artifact(folder, KIND)
    return TermSets.load(folder)


def _inputs(data: DataSet, kind: WeightsKind) -> dict[str, str]:
    splits = [split for split in ("train", "dev") if kind.trains and split in data.splits]
    judged = {split: judgments_fingerprint(data, split) for split in splits}
    return {"documents": data.fingerprint} | judged


def _show(documents: int) -> None:
    show("weighing documents", documents)


def _write(candidates: Candidates, selection: Selection, folder: Path) -> None:
    TermSets.build(
        candidates.document_ids,
        candidates.spellings,
        selection.offsets,
        selection.terms,
        selection.weights,
    ).save(folder)
    save_array(folder, FIRST, selection.first)
    facts = {"n": selection.n, "moved": selection.moved}
    (folder / FACTS).write_bytes(orjson.dumps(facts))
