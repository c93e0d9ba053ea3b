"""An engine to serve: a copy of a given one, or a small one that is made."""

import shutil
from itertools import islice
from pathlib import Path

from tsgen.corpus.load import load
from tsgen.model.mini import Mini
from tsgen.retrieve.build import index_config, index_documents
from tsgen.settings import MiniConfig

DOCUMENTS = 300


def engine_copy(given: Path | None, folder: Path) -> Path:
    """In `folder`, so that writing changes no one's engine."""
    if given is None:
        return made_engine(folder)
    return Path(shutil.copytree(given, folder / "engine"))


def made_engine(folder: Path) -> Path:
    """An untrained generator over some documentation of the Python standard library."""
    notes = folder / "notes"
    notes.mkdir()
    for number, document in enumerate(islice(load("stdlib:").documents(), DOCUMENTS)):
        (notes / f"{number}.md").write_text(f"# {document.title}\n\n{document.text}\n")
    Mini.create(MiniConfig(), ["word"]).save(folder / "model")
    tables = {"terms": {"weights": "tfidf"}, "decode": {"beam": 20}}
    source = load(str(notes))
    index_documents(
        source, index_config(tables), folder / "model", folder / "engine", folder / "cache"
    )
    return folder / "engine"
