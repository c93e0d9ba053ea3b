"""The doors of tsgen: everything that reads what others wrote, each with valid inputs to break.

A door reads one input and returns or raises `TsgenError`; any other exception is a defect.
"""

import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzzing_kit.mutation import mutated, packed
from tsgen.config import read_settings, read_toml
from tsgen.corpus.load import load
from tsgen.corpus.runs import read_run
from tsgen.corpus.sources import Problems, Source
from tsgen.corpus.text_files import SUFFIXES, parse
from tsgen.corpus.trec import qrels_file, query_file
from tsgen.errors import DataError, TsgenError
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.filters import parse as parse_filter
from tsgen.retrieve.results import hits_json
from tsgen.terms.words import Splitter

JSONL = b'{"_id": "a", "title": "Rye", "text": "dark", "year": 2020}\n{"_id": "b", "text": "x"}\n'
CSV = b'id,title,text,year\n1,Rye,"dark, ""bread""\nof rye",2020\n2,,oats,\n'
TSV = b"id\ttitle\ttext\n1\tRye\tdark bread\n2\t\toats\n"
COLLECTION = b"1\tdark bread\n2\toats\n"
NQ = b'["dark bread", "oats and \\u00e9\\ud83d\\ude00", "milk"]'
TOPICS = b"<top>\n<num> Number: 301\n<title> Topic: dark bread\n</top>\n<top>\n<num> 2\n</top>\n"
QRELS = b"q1 0 d1 1\nq1\td2\t0\nquery-id\tcorpus-id\tscore\nq2 d1\n"
RUN = b"q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1e-3 tag\nq2 Q0 d1 1 7 tag\n"
TOML = b'documents = "corpus.jsonl"\n[columns]\nid = "a"\ntext = ["b", "c"]\n[terms]\nn = 12\n'
MARKDOWN = (
    b"---\ntitle: 'Rye'\n---\n# Rye `bread` #\n\nSee [oats](oats.md) and ![a](b), *dark* **x**, "
    b"``a ` b``\n\n```python\ncode\n```\n<b>bold</b> <!-- no --> &amp; [[wiki|w]] <http://a.b>\n"
)
RST = b"===\nRye\n===\n\n.. note:: A :ref:`link <x>`_ and ``code`` *dark*\n.. _x: y\n\nOats\n---\n"
WHERE = b'lang = "en" and (year >= 2020 or not tags contains \'a\') and b in ("x", 2) and c exists'
QUERY = "what is the U.S.A. share of rye-bread in O’Neill's 3.14 tests? 汉字 café".encode()


@dataclass(frozen=True)
class Door:
    """A place where inputs come in: how one is read, and what share of all inputs it gets."""

    name: str
    seeds: list[bytes]
    read: Callable[[bytes, Path], object]
    share: int = 4
    packs: bool = False

    def input(self, rng: random.Random) -> bytes:
        """A broken input."""
        made = mutated(rng, self.seeds)
        return packed(rng, made) if self.packs else made


def file_door(name: str, seed: bytes, read: Callable[[Path], object], share: int = 4) -> Door:
    """A door that reads a file of this name in a folder of its own."""

    def written(data: bytes, folder: Path) -> object:
        path = folder / name
        path.write_bytes(data)
        return read(path)

    return Door(name, [seed], written, share, packs=not name.endswith(".toml"))


def _documents(path: Path) -> object:
    for skip_bad in (False, True):
        try:
            data = load(path, skip_bad=skip_bad)
            return [data.fingerprint, *(one.contents for one in data.documents())]
        except DataError:
            if skip_bad:
                raise
    return None


def _folder(path: Path) -> object:
    return _documents(path.parent)


def _records(source: Source[Any]) -> object:
    return list(source.rows(Problems(skip_bad=True)))


def _texts(data: bytes, _folder: Path) -> object:
    text = data.decode("utf-8", "replace")
    return [parse(text, "a-name", suffix) for suffix in SUFFIXES]


def _settings(data: bytes, _folder: Path) -> object:
    return read_settings(None, [f"terms.{data.decode('utf-8', 'replace')}"])


def doors(engine: Engine) -> list[Door]:
    """All doors; queries and filters go to an engine, and so do its own files."""
    splitter = Splitter(engine.config.terms.words)

    def ask(data: bytes, _folder: Path) -> object:
        query = data.decode("utf-8", "surrogateescape")
        found = engine.search(query, 3)
        answers = [(hit, engine.document(hit.document_id)) for hit in found]
        return hits_json(query, engine.correct_query(query), answers, splitter)

    def split(data: bytes, _folder: Path) -> object:
        return splitter.split(data.decode("utf-8", "replace"))

    def filtered(data: bytes, _folder: Path) -> object:
        return parse_filter(data.decode("utf-8", "replace"))

    return [
        file_door("corpus.jsonl", JSONL, _documents, share=8),
        file_door("corpus.csv", CSV, _documents, share=8),
        file_door("corpus.tsv", TSV, _documents),
        file_door("collection.tsv", COLLECTION, _folder),
        file_door("corpus_lite.json", NQ, _folder),
        file_door("topics.txt", TOPICS, lambda path: _records(query_file(path))),
        file_door("queries.jsonl", JSONL, lambda path: _records(query_file(path))),
        file_door("qrels.tsv", QRELS, lambda path: _records(qrels_file(path))),
        file_door("run.txt", RUN, read_run),
        file_door("settings.toml", TOML, read_toml),
        file_door("set.toml", TOML, load, share=2),
        file_door("note.md", MARKDOWN, _folder, share=2),
        Door("texts", [MARKDOWN, RST], _texts, share=10),
        Door("settings", [b"n=12", b"words={a=1}", b'x="y"'], _settings),
        Door("filter", [WHERE], filtered, share=8),
        Door("words", [QUERY], split),
        Door("query", [QUERY], ask, share=2),
        Door("engine", [b""], _EngineFiles(engine.folder), share=1),
    ]


class _EngineFiles:
    """An engine with one damaged file: it is refused, or answers as ever."""

    def __init__(self, engine: Path) -> None:
        self._engine = engine
        with Engine.load(engine) as opened:
            self._right = opened.search("rye bread", 3)

    def __call__(self, data: bytes, folder: Path) -> object:
        rng = random.Random(data)
        copy = Path(shutil.copytree(self._engine, folder / "engine", copy_function=os.link))
        files = sorted(path for path in copy.rglob("*") if path.is_file())
        path = rng.choice(files)
        before = path.read_bytes()
        path.unlink()  # the engine's own file is the same one
        place = rng.randrange(max(1, len(before) - 2**17))
        part = mutated(rng, [before[place : place + 2**17]])
        path.write_bytes(before[:place] + part + before[place + 2**17 :])
        with Engine.load(copy) as opened:
            found = opened.search("rye bread", 3)
        if [hit.document_id for hit in found] != [hit.document_id for hit in self._right]:
            raise AssertionError(f"another answer after damage to {path.relative_to(copy)}")
        return found


def outcome(door: Door, data: bytes, folder: Path) -> str:
    """What becomes of an input: read or refused; an exception of another kind is named."""
    try:
        door.read(data, folder)
    except TsgenError:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return "read"
