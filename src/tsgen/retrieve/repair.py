"""Whether an engine's files are whole, and what can be kept of one whose files are not.

`check` reads everything. `repair` makes a whole engine of what is left and says what is lost; the
damaged one stays, under another name. It changes as little as the damage allows:

- damaged documents are left out, and a damaged store gives the documents whose rows are whole;
- a mark or a calibration is written anew or left out, and a lost manifest is made again from the
  files as they are;
- where anything else is damaged (terms, words, model, settings), the engine is made anew of its
  documents, with the model and the term weights that it has, or as `tsgen index` made them.

A model that was trained and is damaged cannot be made again; then the documents are saved.
"""

import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from tsgen.arrays import load_array
from tsgen.artifact import (
    CALIBRATION,
    KEPT,
    MANIFEST,
    MARK,
    STORE,
    Manifest,
    damaged_files,
    exchange,
    read_manifest,
    seal,
    sync,
    write_lines,
)
from tsgen.corpus.in_memory import data_set_of
from tsgen.docids.assign import keep_weights, kept_weights, select_terms, term_sets
from tsgen.docids.term_set import TermSets
from tsgen.errors import ArtifactError, DamagedError, TsgenError
from tsgen.integrity import line_checksum
from tsgen.owner import alone
from tsgen.records import Document
from tsgen.retrieve.confidence import Calibration
from tsgen.retrieve.engine import KIND, SETTINGS, Engine, open_settings, write_engine
from tsgen.retrieve.engine_audit import mismatched
from tsgen.retrieve.snapshot import MODEL, OWN, Reader, part
from tsgen.retrieve.storage import BASE, CHECKSUMS, LINES, TERMS, DocumentStore, base_folder
from tsgen.retrieve.store import Store, read_mark, write_mark
from tsgen.settings import MINI, EngineConfig
from tsgen.terms.selection import rank, select
from tsgen.terms.weights import TERM_WEIGHTS, weigh_documents
from tsgen.terms.words import Splitter


@dataclass(slots=True)
class Checked:
    """What a look at every file of an engine found."""

    files: int = 0
    size: int = 0  # bytes
    documents: int = 0
    changes: int = 0
    problems: list[str] = field(default_factory=list)


def check(folder: Path) -> Checked:
    """Read every file of an engine and compare it with what was written."""
    if not folder.is_dir():
        raise ArtifactError(f"{folder}: not there; expected an engine's folder. Check the path.")
    found, base = Checked(), 0
    try:
        store = Store.open(folder)
        if store is not None:
            try:
                found.problems += [f"{STORE}: {problem}." for problem in store.problems()]
                base, found.changes = store.state()
            finally:
                store.close()
    except TsgenError as error:
        found.problems.append(str(error))
        base = latest_base(folder)
    for each in dict.fromkeys((folder, base_folder(folder, base))):
        _check_files(folder, each, found)
    try:
        Calibration.load(folder)
    except TsgenError as error:
        found.problems.append(str(error))
    if not found.problems:
        _check_parts(folder, found)
    return found


def _check_files(folder: Path, each: Path, found: Checked) -> None:
    try:
        manifest = read_manifest(each)
    except TsgenError as error:
        found.problems.append(str(error))
        return
    found.files += len(manifest.files)
    found.size += sum(facts.size for facts in manifest.files.values())
    prefix = "" if each == folder else f"{each.name}/"
    found.problems += [prefix + problem for problem in damaged_files(each, manifest)]


def _check_parts(folder: Path, found: Checked) -> None:
    """Whether the parts of an engine belong together, if each is whole."""
    from tsgen.owner import OpenFolder

    try:
        reader = Reader(OpenFolder(folder), open_settings(folder))
        try:
            now = reader.read()
            found.documents = len(now.documents)
            found.problems += mismatched(now)
        finally:
            reader.close()
    except TsgenError as error:
        found.problems.append(str(error))


def latest_base(folder: Path) -> int:
    """The number of the newest base in an engine's folder whose manifest can be read."""
    numbers = [0]
    for path in folder.glob(f"{BASE}*"):
        with suppress(ValueError, TsgenError):
            read_manifest(path)
            numbers.append(int(path.name.removeprefix(BASE)))
    return max(numbers)


# Repair.


@dataclass(slots=True)
class Repaired:
    """What was done to a damaged engine."""

    documents: int = 0
    done: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    damaged: str | None = None  # where the damaged engine is now; None if there was no damage


@dataclass(slots=True)
class _Remains:
    """What can be read of a damaged engine."""

    folder: Path
    base: int
    manifest: Manifest | None
    broken: set[str]  # top-level names of which a file is damaged
    config: EngineConfig | None
    store: Store | None
    done: list[str]
    lost: list[str]

    def part(self, name: str) -> Path | None:
        """The folder of the model or the term weights; None if it is damaged or not there."""
        found = part(self.folder, self.base, name)
        return None if name in self.broken or not found.is_dir() else found


def repair(folder: Path) -> Repaired:
    """Put a whole engine of what is left of a damaged one in its place, and say what is lost. The
    damaged engine stays beside it under another name."""
    folder = folder.resolve()
    before = check(folder)
    if not before.problems:
        return Repaired(before.documents)
    with alone(folder):
        remains = _remains(folder)
        partial = folder.with_name(f".{folder.name}.{token_hex(8)}.partial")
        try:
            if remains.broken - {LINES, STORE, MARK, CALIBRATION, MANIFEST}:
                partial.mkdir()
                _make_anew(remains, partial)
            else:
                _patch(remains, partial)
            after = check(partial)
            if after.problems:
                raise DamagedError(f"{folder}: could not be repaired: {after.problems[0]}")
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        finally:
            if remains.store is not None:
                remains.store.close()
        sync(partial)
        aside = _free_name(folder)
        if exchange(partial, folder):
            partial.rename(aside)
        else:
            folder.rename(aside)
            partial.rename(folder)
    return Repaired(after.documents, remains.done, remains.lost, str(aside))


def _free_name(folder: Path) -> Path:
    number = 1
    while (found := folder.with_name(f"{folder.name}.damaged-{number}")).exists():
        number += 1
    return found


def _remains(folder: Path) -> _Remains:
    """Look for what can be read."""
    broken: set[str] = set()
    done, lost = list[str](), list[str]()
    store, base = None, latest_base(folder)
    if (folder / STORE).is_file() and (folder / STORE).stat().st_size:
        store = _readable_store(folder)
    with suppress(TsgenError, sqlite3.Error):
        base = store.state().base if store is not None else base
    try:
        wrong = store is not None and bool(store.problems())
        changes = 0 if store is None or wrong else store.state().change
        if store is None and ((folder / STORE).exists() or base or _mark(folder) != 0):
            wrong = True
        if not wrong and _mark(folder) is None:
            broken.add(MARK)
            done.append(f"{MARK}: written anew; the store has {changes:,} changes")
        elif wrong or (_mark(folder) or 0) > changes:
            broken.add(STORE)
    except (TsgenError, sqlite3.Error):
        broken.add(STORE)
    manifest = _manifest(folder, broken, done)
    if base:
        try:
            own = read_manifest(base_folder(folder, base))
            broken |= _broken(base_folder(folder, base), own)
        except TsgenError:
            broken.add(f"{BASE}{base}/{MANIFEST}")
    if not _has_its_size(base_folder(folder, base) / LINES):
        broken.add("the file of texts")
    try:
        Calibration.load(folder)
    except TsgenError:
        broken.add(CALIBRATION)
        lost.append("the calibration of the hits' confidence: run `tsgen calibrate`")
    config = _config(folder, manifest, broken)
    return _Remains(folder, base, manifest, broken, config, store, done, lost)


def _has_its_size(path: Path) -> bool:
    """Whether the file of texts is there and as long as it was, so that an engine opens with it."""
    with suppress(TsgenError, OSError, KeyError):
        return path.stat().st_size == read_manifest(path.parent).files[LINES].size
    return (path.parent / MANIFEST).is_file() and path.is_file()


def _readable_store(folder: Path) -> Store | None:
    with suppress(TsgenError, sqlite3.Error):
        return Store(folder / STORE)
    return None


def _mark(folder: Path) -> int | None:
    try:
        return read_mark(folder)
    except DamagedError:
        return None


def _manifest(folder: Path, broken: set[str], done: list[str]) -> Manifest | None:
    try:
        manifest = read_manifest(folder)
    except TsgenError:
        broken.add(MANIFEST)
        done.append(
            f"{MANIFEST}: made again from the files as they are; they cannot be compared with what "
            "was written"
        )
        return None
    broken |= _broken(folder, manifest)
    return manifest


def _broken(folder: Path, manifest: Manifest) -> set[str]:
    """The top-level names of a folder's damaged files."""
    names = {problem.split(":")[0] for problem in damaged_files(folder, manifest)}
    return {name.removeprefix(f"{OWN}/").split("/")[0] for name in names}


def _config(folder: Path, manifest: Manifest | None, broken: set[str]) -> EngineConfig | None:
    """The engine's settings from their file or, if that is damaged, from the manifest."""
    if SETTINGS not in broken:
        with suppress(TsgenError, OSError, ValueError):
            values = orjson.loads((folder / SETTINGS).read_bytes())
            return EngineConfig.from_mapping(values, source=SETTINGS)
    broken.add(SETTINGS)
    if manifest is None:
        return None
    with suppress(TsgenError):
        known = {k: v for k, v in manifest.config.items() if k in EngineConfig.model_fields}
        return EngineConfig.from_mapping(known, source=MANIFEST)
    return None


def _documents(remains: _Remains) -> Iterator[Document]:
    """Every document that can be read as it was written, each id once."""
    changed, removed = _of_store(remains)
    ids = {document.id for document in changed}
    for number, document in _of_base(remains):
        if document is None:
            name = _name(remains, number)
            if number not in removed and name not in ids:
                remains.lost.append(f"document {name}: its text is damaged")
        elif number not in removed and document.id not in ids:
            ids.add(document.id)
            yield document
    yield from changed


def _name(remains: _Remains, number: int) -> str:
    with suppress(TsgenError, OSError, IndexError):
        sets = TermSets.load(base_folder(remains.folder, remains.base) / TERMS)
        return sets.document_id(number)
    return f"number {number:,}"


def _of_base(remains: _Remains) -> Iterator[tuple[int, Document | None]]:
    """The documents of the base by number; None for one that is damaged."""
    folder = base_folder(remains.folder, remains.base)
    try:
        store = DocumentStore(folder)
        for number in range(len(store)):
            try:
                yield number, store[number]
            except DamagedError:
                yield number, None
        return
    except TsgenError:
        pass  # the offsets or the checksums are lost: each line is a document
    trusted, lines, known = LINES not in remains.broken, list[bytes](), list[int]()
    with suppress(OSError):
        lines = (folder / LINES).read_bytes().splitlines(keepends=True)
    with suppress(TsgenError):
        known = load_array(folder, CHECKSUMS).tolist()
    for number in range(max(len(lines), len(known), _count(remains))):
        line = lines[number] if number < len(lines) else b""
        same = number < len(known) and line_checksum(line) == known[number]
        document = None
        if line and (trusted or same):
            with suppress(ValueError, TypeError):
                id, title, text, *metadata = orjson.loads(line)
                document = Document(id, text, title, *metadata)
        yield number, document


def _count(remains: _Remains) -> int:
    """The number of the base's documents by its term sets, if these can be read."""
    with suppress(TsgenError, OSError):
        return len(TermSets.load(base_folder(remains.folder, remains.base) / TERMS))
    return 0


def _of_store(remains: _Remains) -> tuple[list[Document], set[int]]:
    """The documents that were added, and the numbers of the base's documents that were removed."""
    changed, removed, store = list[Document](), set[int](), remains.store
    if store is None:
        if STORE in remains.broken:
            remains.lost.append(
                "what was added since the engine was made or compacted; what was removed since is "
                "back"
            )
        return changed, removed
    try:
        for id, document, whole in store.rows():
            if whole and document is not None:
                changed.append(document)
            else:
                remains.lost.append(f"document {id!r}, which was added: its row is damaged")
    except (TsgenError, sqlite3.Error, ValueError, TypeError):
        remains.lost.append("some of the documents that were added: the store is damaged")
    try:
        removed = set(store.removed().tolist())
    except (TsgenError, sqlite3.Error, ValueError, TypeError):
        with suppress(TsgenError, sqlite3.Error):
            rows = store.run("SELECT number FROM removed")
            removed = {row[0] for row in rows if isinstance(row[0], int)}
        remains.lost.append(
            "some of what was removed may be back, or be lost: the list of removals is damaged"
        )
    if STORE in remains.broken and _mark(remains.folder) is not None:
        with suppress(TsgenError, sqlite3.Error):
            missing = (_mark(remains.folder) or 0) - store.state().change
            if missing > 0:
                remains.lost.append(f"the last {missing:,} changes")
    return changed, removed


def _patch(remains: _Remains, partial: Path) -> None:
    """Copy the engine and mend the copy, where terms, words and model are whole."""
    folder = remains.folder
    shutil.copytree(folder, partial, ignore=shutil.ignore_patterns(".*", f"{STORE}-*"))
    if CALIBRATION in remains.broken:
        (partial / CALIBRATION).unlink(missing_ok=True)
    if MARK in remains.broken:
        write_mark(partial, remains.store.state().change if remains.store else 0)
    if MANIFEST in remains.broken:
        (partial / MANIFEST).unlink(missing_ok=True)
        if remains.config is None:
            raise DamagedError(f"{folder}: neither {MANIFEST} nor {SETTINGS} can be read.")
        seal(partial, KIND, remains.config, {})
    if not remains.broken & {STORE, LINES}:
        return
    documents = list(_documents(remains))
    if STORE in remains.broken:
        for name in (STORE, MARK):
            (partial / name).unlink(missing_ok=True)
        write_mark(partial, 0)
        Store.start(partial, remains.base)
    with Engine.load(partial) as engine:
        keep = {document.id for document in documents}
        engine.remove(
            [id for id in engine.snapshot.sets.documents if id in engine and id not in keep]
        )
        if STORE in remains.broken:
            there = set(_base_texts(remains, engine))
            engine.add([one for one in documents if (one.id, one.text) not in there])
        engine.compact()
    remains.done.append(f"{len(documents):,} documents were kept, with the terms and the model")


def _base_texts(remains: _Remains, engine: Engine) -> Iterator[tuple[str, str]]:
    for _, document in _of_base(remains):
        if document is not None and document.id in engine:
            yield document.id, document.text


def _make_anew(remains: _Remains, partial: Path) -> None:
    """Write an engine of the documents that are left."""
    documents = list(_documents(remains))
    config, folder = remains.config, remains.folder
    weights, model = remains.part(KEPT), remains.part(MODEL)
    trained = (folder / "training").is_dir()
    missing = "settings" if config is None else "trained model" if trained and not model else None
    if config is not None and not weights and TERM_WEIGHTS.get(config.terms.weights).trains:
        missing = "trained term weights"
    if missing is not None or config is None or not documents:
        saved = folder.with_name(f"{folder.name}.documents.jsonl")
        write_lines(saved, map(_row, documents))
        raise DamagedError(
            f"{folder}: its {missing or 'documents'} cannot be made again. The {len(documents):,} "
            f"documents that are whole are now in {saved}: tsgen index {saved} --out ENGINE. The "
            "damaged engine stays as it is."
        )
    with TemporaryDirectory() as work:
        sets = _sets(documents, config, weights, Path(work))
        generator = _generator(documents, config, sets, model, Path(work))
        write_engine(partial, generator, config, documents)
        if weights is not None:
            shutil.copytree(weights, partial / KEPT)
        else:
            keep_weights(Path(work) / "terms", partial / KEPT)
    if trained:
        shutil.copytree(folder / "training", partial / "training")
    with suppress(OSError):
        if CALIBRATION not in remains.broken:
            shutil.copyfile(folder / CALIBRATION, partial / CALIBRATION)
    seal(partial, KIND, config, {})
    remains.done.append(
        f"the engine was made anew of {len(documents):,} documents; damaged were: "
        f"{', '.join(sorted(remains.broken))}"
    )


def _row(document: Document) -> dict[str, Any]:
    own = {"_id": document.id, "title": document.title, "text": document.text}
    return dict(document.metadata) | own


def _sets(
    documents: Sequence[Document], config: EngineConfig, weights: Path | None, work: Path
) -> TermSets:
    if weights is None:
        return select_terms(data_set_of(documents), config.terms, work / "terms", cache=work)
    weigh, n = kept_weights(weights, config.terms)
    candidates = rank(weigh_documents(documents, weigh), Splitter(config.terms.words).key)
    return term_sets(candidates, select(candidates, n), config.terms.words)


def _generator(
    documents: Sequence[Document],
    config: EngineConfig,
    sets: TermSets,
    model: Path | None,
    work: Path,
) -> Any:
    from tsgen.model.document_vectors import learned_generator, read_documents
    from tsgen.model.generator import Generator
    from tsgen.model.shipped import saved_settings, tsgen_mini

    if model is None and config.model.backbone == MINI:
        return Generator.load_with_terms(tsgen_mini(), sets, saved_settings(tsgen_mini()))
    if model is None:
        return learned_generator(data_set_of(documents), config.model, sets, 0, work)
    generator = Generator.load_with_terms(model, sets, config.model)
    vectors = read_documents(documents, generator.backbone)
    if vectors is None:
        return generator
    return Generator.of(generator.backbone, sets.with_vectors(vectors)).learned()
