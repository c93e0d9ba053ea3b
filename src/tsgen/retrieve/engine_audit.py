"""The audit of an engine as it is now: its term sets, its files, and the store of its changes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tsgen.artifact import MANIFEST, damaged_files, read_manifest
from tsgen.docids.assign import summary
from tsgen.docids.audit import Audit, audit, audit_sets, term_frequencies
from tsgen.docids.term_set import TermSets
from tsgen.owner import OpenFolder
from tsgen.retrieve.engine import KIND, SETTINGS, open_settings, weights_folder
from tsgen.retrieve.snapshot import Reader, Snapshot
from tsgen.retrieve.store import Store
from tsgen.settings import EngineConfig
from tsgen.terms.selection import PrefixHashes, first_with_same
from tsgen.terms.words import Splitter


def is_engine(folder: Path) -> bool:
    """Whether a folder holds an engine rather than the term sets of one."""
    if (folder / MANIFEST).is_file():
        return read_manifest(folder).kind == KIND
    return (folder / SETTINGS).is_file()


def audit_folder(folder: Path, tokenizer: str) -> Audit:
    """Check what a folder of term sets, or of an engine, promises."""
    return audit_engine(folder, tokenizer) if is_engine(folder) else audit(folder, tokenizer)


def audit_engine(folder: Path, tokenizer: str) -> Audit:
    """Check that every document can be reached by its terms and only it, documents with the same
    words aside; that its files are whole; and that the store's rows belong together."""
    config = open_settings(folder)
    reader = Reader(OpenFolder(folder), config)
    now = reader.read()
    facts = _facts(folder, now.state.base, config)
    found = audit_sets(
        folder, now.sets, _recorded(now, config), config.terms.weights, facts, tokenizer
    )
    problems = [*_damaged(folder, now), *_store_problems(folder), *mismatched(now)]
    reader.close()
    return replace(
        found,
        added=len(now.documents.added),
        removed=len(now.documents.base.documents) - len(now.documents.kept),
        problems=problems,
    )


def frequencies_of(folder: Path) -> NDArray[np.int64]:
    """[V] the number of documents that have each term, in a folder of either kind."""
    if not is_engine(folder):
        return term_frequencies(TermSets.load(folder))
    reader = Reader(OpenFolder(folder), open_settings(folder))
    return term_frequencies(reader.read().sets)


def _facts(folder: Path, base: int, config: EngineConfig) -> dict[str, int]:
    """N, and what its selection counted when the engine was made, if the engine keeps that."""
    weights = weights_folder(folder, base)
    if weights is not None:
        return summary(weights)
    return {"n": config.terms.n if isinstance(config.terms.n, int) else 0, "moved": 0}


def _recorded(now: Snapshot, config: EngineConfig) -> NDArray[np.int32]:
    """[D] the first document with the same set, if its words are the same, too."""
    sets, splitter = now.sets, Splitter(config.terms.words)
    first = first_with_same(PrefixHashes(sets.doc_offsets.astype(np.int64), sets.doc_terms).all())

    def words(number: int) -> set[str]:
        contents = now.documents[number].contents
        return set(splitter.keys(contents))

    for number in np.flatnonzero(first != np.arange(len(first))).tolist():
        if words(number) != words(int(first[number])):
            first[number] = number
    return first


def _damaged(folder: Path, now: Snapshot) -> list[str]:
    """What the manifests of the engine and of its base say about their files."""
    found = []
    for each in {folder, now.documents.base.folder}:
        found += [f"{each / wrong}" for wrong in damaged_files(each, read_manifest(each))]
    return found


def _store_problems(folder: Path) -> list[str]:
    store = Store.open(folder)
    if store is None:
        return []
    try:
        return store.problems()
    finally:
        store.close()


def mismatched(now: Snapshot) -> list[str]:
    """Documents that are not where the term sets say, or are there twice."""
    documents = now.documents
    found = [documents.base.documents[int(number)].id for number in documents.kept]
    found += [one.id for one in documents.added]
    expected = list(now.sets.documents)
    wrong = [id for id, other in zip(found, expected, strict=True) if id != other]
    twice = len(found) - len(set(found))
    told = [f"{len(wrong)} documents under another one's id ({wrong[0]!r})"] if wrong else []
    return told + ([f"{twice} ids that several documents have"] if twice else [])
