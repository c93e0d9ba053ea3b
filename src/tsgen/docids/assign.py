"""The stage that gives every document of a data set its term set: weigh, rank, select, write."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from tsgen.arrays import save_array
from tsgen.artifact import KEPT, open_artifact, remove_pieces, stage, stage_key
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet, cache_folder_of, judged_inputs
from tsgen.docids.term_set import TermSets
from tsgen.progress import show
from tsgen.settings import QUERIES, TermsConfig, WordsConfig
from tsgen.terms.selection import RankedTerms, Selection, n_for_queries, rank, select
from tsgen.terms.weights import (
    PIECES,
    TERM_WEIGHTS,
    Weighed,
    Weights,
    WeightsKind,
    Workspace,
    weigh_corpus,
)
from tsgen.terms.words import Splitter

KIND = "term-sets"
FACTS = "selection.json"
FIRST = "doc_first"  # [D] the first document with the same set: the duplicates


class _WeighedStage(StageConfig):
    weights: str
    words: WordsConfig
    options: dict[str, Any]


def terms_config(settings: Mapping[str, Mapping[str, Any]]) -> TermsConfig:
    """The settings of the table [terms], with those of the table of the weights that it names."""
    terms = dict(settings.get("terms", {}))
    kind = TERM_WEIGHTS.get(str(terms.get("weights", TermsConfig().weights)))
    terms.setdefault("options", settings.get(kind.table or kind.name, {}))
    return TermsConfig.from_mapping(terms, source="[terms]")


def with_all_options(config: TermsConfig) -> TermsConfig:
    """The settings with every option of the chosen weights, defaults included."""
    _, options = _kind(config)
    return config.model_copy(update={"options": options.model_dump(mode="json")})


def select_terms(
    data: DataSet, config: TermsConfig, out: Path, seed: int = 0, cache: Path | None = None
) -> TermSets:
    """Weigh every word, select T(D) for every document, write the sets to `out` and open them.

    The same inputs skip the work; an interrupted run goes on after its last finished piece.

    Args:
        data: the documents, and training queries where weights or N are learned from them.
        config: how terms are chosen.
        out: the folder of the term sets.
        seed: of what is trained or drawn.
        cache: where trained weights are kept; None: the usual folder for this data set.
    """
    resolved = with_all_options(config)

    def work(folder: Path) -> None:
        weights = build_weights(data, config, seed, cache)
        slow = TERM_WEIGHTS.get(config.weights).trains
        pieces = _weighed(data, resolved, weights, seed, cache) if slow else folder
        weighed = weigh(data, weights, pieces)
        splitter = Splitter(config.words)
        candidates = rank(weighed, splitter.key)
        (folder / KEPT).mkdir(exist_ok=True)
        weights.save(folder / KEPT)
        n = config.n if isinstance(config.n, int) else None  # auto
        if config.n == QUERIES:
            n = n_for_queries(data, candidates, splitter)
        selection = select(candidates, n)
        _write(term_sets(candidates, selection, config.words), selection, folder)
        remove_pieces(folder, PIECES)

    inputs = terms_inputs(data, config)
    stage(out, work, kind=KIND, config=resolved, inputs=inputs, seed=seed, keep_pieces=True)
    return TermSets.load(out)


def terms_inputs(data: DataSet, config: TermsConfig) -> dict[str, str]:
    """Hashes of what the term sets depend on; judgments only if weights or N are learned."""
    splits = ["train"] if config.n == QUERIES else []
    if TERM_WEIGHTS.get(config.weights).trains:
        splits = ["train", "dev"]
    made_of = {"documents": data.fingerprint} | judged_inputs(data, *splits)
    return made_of | TERM_WEIGHTS.key(TERM_WEIGHTS.get(config.weights))


def terms_folder(data: DataSet, config: TermsConfig, seed: int, cache: Path) -> Path:
    """The folder of the term sets in `cache`, which all engines with the same sets share."""
    key = stage_key("terms", config.model_dump(mode="json"), terms_inputs(data, config), seed)
    return cache / f"terms-{key[:12]}"


def build_weights(
    data: DataSet, config: TermsConfig, seed: int = 0, cache: Path | None = None
) -> Weights:
    """The weights that the settings name, counted or trained on this data set."""
    kind, options = _kind(config)
    workspace = Workspace(seed, cache or cache_folder_of(data))
    return kind.build(data, Splitter(config.words), options, workspace)


def _weighed(
    data: DataSet, config: TermsConfig, weights: Weights, seed: int, cache: Path | None
) -> Path:
    """The folder in the cache with the weights of all words of all documents.

    Reading documents with a language model takes as long as training it, so term sets of every N
    share this stage.
    """
    settings = _WeighedStage(weights=config.weights, words=config.words, options=config.options)
    inputs = terms_inputs(data, config)
    key = stage_key("weighed", settings.model_dump(mode="json"), inputs, seed)
    folder = (cache or cache_folder_of(data)) / f"weighed-{key[:12]}"

    def work(partial: Path) -> None:
        weigh(data, weights, partial)

    stage(folder, work, kind="weighed", config=settings, inputs=inputs, seed=seed, keep_pieces=True)
    return folder


def weigh(data: DataSet, weights: Weights, folder: Path) -> Weighed:
    """The words of every document with their weights; finished pieces are kept in `folder`."""
    size = sum(1 for _ in data.documents())

    def watch(documents: int) -> None:
        show("weighing documents", documents, size)

    return weigh_corpus(data.documents(), weights, folder, watch)


def keep_weights(terms: Path, folder: Path) -> None:
    """Copy to `folder` what chooses the terms of new documents as those in `terms` were chosen."""
    shutil.copytree(terms / KEPT, folder, dirs_exist_ok=True)
    shutil.copyfile(terms / FACTS, folder / FACTS)


def kept_weights(folder: Path, config: TermsConfig) -> tuple[Weights, int]:
    """The weights and N from a folder that `keep_weights` wrote."""
    kind, options = _kind(config)
    return kind.load(folder, Splitter(config.words), options), summary(folder)["n"]


def term_sets(
    candidates: RankedTerms, selection: Selection, words: WordsConfig | None = None
) -> TermSets:
    """The term sets of a selection, with their postings."""
    chosen = selection.offsets, selection.terms, selection.weights
    return TermSets.build(candidates.document_ids, candidates.spellings, *chosen, words)


def open_term_sets(folder: Path) -> TermSets:
    """Open the term sets of a folder that `select_terms` wrote, and check its files."""
    open_artifact(folder, KIND)
    return TermSets.load(folder)


def summary(folder: Path) -> dict[str, int]:
    """The counts of a selection: documents, N, vocabulary, documents moved, duplicates."""
    facts: dict[str, int] = orjson.loads((folder / FACTS).read_bytes())
    return facts


def _kind(config: TermsConfig) -> tuple[WeightsKind, StageConfig]:
    kind = TERM_WEIGHTS.get(config.weights)
    return kind, kind.config.from_mapping(config.options, source=f"settings of {kind.name!r}")


def _write(sets: TermSets, selection: Selection, folder: Path) -> None:
    sets.save(folder)
    save_array(folder, FIRST, selection.first)
    members = np.bincount(selection.first)  # of the documents with one set, at the first of them
    facts = {
        "documents": len(sets),
        "n": selection.n,
        "vocabulary": len(sets.vocabulary),
        "moved": selection.moved,
        "duplicates": int(members[members > 1].sum()),
    }
    (folder / FACTS).write_bytes(orjson.dumps(facts))
