"""Engines of a few made-up documents, by a model with random weights, to be changed by tests."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from string import ascii_lowercase

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

import tiny
from tsgen.config import read_settings
from tsgen.corpus.load import load
from tsgen.docids.term_set import TermSets
from tsgen.model.generator import Generator
from tsgen.model.mini import Mini
from tsgen.records import Document, Hit
from tsgen.retrieve.build import index_config, index_documents
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.snapshot import Snapshot
from tsgen.settings import MiniConfig

PLANTS = "fern moss oak elm ash yew fir box ivy hop".split()
DOCUMENTS = [
    Document(f"d{i}", f"the {PLANTS[i % 10]} and {PLANTS[(3 * i + 1) % 10]} grow {i}", f"on {word}")
    for i, word in enumerate("hill lake moor bank dune reef cape fjord".split())
]


def write_model(folder: Path) -> Path:
    """A generator that spells words by letters, so that it has a vector for any."""
    letters = [*ascii_lowercase, *"0123456789"]
    known = [*tiny.SPECIAL, *letters, *(f"##{letter}" for letter in letters)]
    pieces = {piece: i for i, piece in enumerate(known)}
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tiny.write_bert(folder / "bert", tokenizer, width=16)
    torch.manual_seed(1)
    config = MiniConfig(
        encoder=str(folder / "bert"), encoder_layers=1, layers=1, heads=4, inner=32, positions=40
    )
    model = Mini.create(config, ["tea"])
    for weight in model.parameters():  # larger, so that scores differ by more than rounding
        weight.data.mul_(2)
    model.save(folder / "model")
    return folder / "model"


def write_documents(path: Path, documents: Iterable[Document]) -> Path:
    """As JSON lines."""
    rows = (
        {"_id": one.id, "title": one.title, "text": one.text, **one.metadata} for one in documents
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_engine(
    work: Path, documents: Iterable[Document], *settings: str, model: Path | None = None
) -> Path:
    """The engine `work`/engine; its terms are the three heaviest by tf-idf."""
    data = load(write_documents(work / "documents.jsonl", documents))
    config = index_config(
        read_settings(None, ["terms.n=3", "terms.weights=tfidf", *settings], "mini")
    )
    index_documents(data, config, model or write_model(work), work / "engine", work / "cache")
    return work / "engine"


def copied(engine: Path, to: Path) -> Path:
    """To be changed."""
    return Path(shutil.copytree(engine, to))


def rebuilt(collection: Engine) -> Snapshot:
    """A fresh engine with the same documents and term sets: its model is read from disk, and all
    it derives from the sets is made anew."""
    now = collection.snapshot
    sets = TermSets.of(now.generator.sets.term_set(i) for i in range(len(collection)))
    model = collection.folder / "model"
    generator = Generator.load_with_terms(model, sets, now.config.model)
    return Snapshot.of(generator, now.config, now.documents)


def rounded(found: Iterable[Iterable[Hit]]) -> list[list[tuple[object, ...]]]:
    """Hits to compare; floats differ in the last places where a batch has another shape."""
    return [
        [
            (hit.document_id, round(hit.score, 3), hit.reason.terms, hit.reason.valid_documents)
            for hit in hits
            if hit.reason is not None
        ]
        for hits in found
    ]
