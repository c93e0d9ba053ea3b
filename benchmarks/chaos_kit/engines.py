"""Engines of a few made-up documents in three states, and what must be true of each of them."""

import os
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from string import ascii_lowercase, digits
from typing import Any

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

import tsgen
from tsgen.artifact import MARK, STORE
from tsgen.model.mini import Mini
from tsgen.records import Document
from tsgen.retrieve.engine import Engine
from tsgen.settings import MiniConfig

WORDS = """amber basil cedar dahlia ebony fennel garnet hazel indigo jasper kelp lilac maple nettle
olive pepper quince reed sage thyme umber violet willow yarrow zinnia""".split()
QUERIES = ["amber basil", "a cedar by the willow", "zinnia", "dahlya", "hazel indigo jasper"]
WHERE = "year >= 2010"
STATES = ("fresh", "changed", "compacted")
IN_PLACE = (STORE, f"{STORE}-wal", f"{STORE}-shm", MARK)  # files that are written where they are


def documents(first: int, count: int, seed: int = 0) -> list[Document]:
    """Documents of six words each."""
    rng = random.Random(seed)
    return [
        Document(
            f"b-{i}", " ".join(rng.choices(WORDS, k=6)), WORDS[i % 25], {"year": 2000 + i % 20}
        )
        for i in range(first, first + count)
    ]


def options(work: Path, small: bool) -> dict[str, Any]:
    """What `tsgen.index` is to be told: for a generator with few random weights, whose work takes
    no time, or as users do."""
    terms: dict[str, Any] = {"n": 4, "weights": "tfidf"}
    chosen = {"settings": {"terms": terms}, "cache": work / "cache"}
    return chosen | ({"model": work / "random" / "model", "preset": "mini"} if small else {})


def write_model(folder: Path) -> None:
    """A generator of random weights that spells words by letters."""
    letters = [*ascii_lowercase, *digits]
    known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", ",", *letters, *(f"##{one}" for one in letters)]
    pieces = {piece: number for number, piece in enumerate(known)}
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]"}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)
    fast.save_pretrained(folder / "bert")
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 4}
    sizes |= {"intermediate_size": 32, "max_position_embeddings": 40}
    BertModel(BertConfig(vocab_size=len(known), **sizes)).save_pretrained(folder / "bert")
    config = MiniConfig(
        encoder=str(folder / "bert"), encoder_layers=1, layers=1, heads=4, inner=32, positions=40
    )
    Mini.create(config, ["tea"]).save(folder / "model")


def make(work: Path, small: bool = True) -> dict[str, Path]:
    """An engine as it was made, one that was changed since, and one that was compacted and changed
    again; each a folder of its own."""
    found = {state: work / state for state in STATES}
    if small:
        write_model(work / "random")
    tsgen.index(documents(0, 40), out=found["fresh"], **options(work, small)).close()
    shutil.copytree(found["fresh"], found["changed"])
    change(found["changed"], 100)
    shutil.copytree(found["changed"], found["compacted"])
    with Engine.load(found["compacted"]) as engine:
        engine.compact()
    change(found["compacted"], 200)
    return found


def change(folder: Path, first: int) -> None:
    """Add documents, replace some, remove some."""
    with Engine.load(folder) as engine:
        engine.add(documents(first, 6, seed=first))
        engine.add([Document("b-3", "amber and nothing else", "Three")])
        engine.remove(["b-7", "b-8", f"b-{first + 1}"] if "b-7" in engine else [f"b-{first + 1}"])


def linked(engine: Path, to: Path) -> Path:
    """A copy to change: files that are only ever replaced as a whole are shared."""
    shutil.rmtree(to, ignore_errors=True)

    def copy(source: str, target: str) -> None:
        if Path(source).name in IN_PLACE:
            shutil.copy2(source, target)
        else:
            os.link(source, target)

    return Path(shutil.copytree(engine, to, copy_function=copy))


def answers(folder: Path) -> Iterator[Any]:
    """All that an engine answers, one thing after another: its documents, searches, a change."""
    with Engine.load(folder) as engine:
        yield len(engine)
        yield sorted((one.id, one.title, one.text, dict(one.metadata)) for one in engine)
        for query in QUERIES:
            yield [(hit.document_id, round(hit.score, 3)) for hit in engine.search(query, 5)]
            yield engine.correct_query(query)
        yield [hit.document_id for hit in engine.search("amber", 5, where=WHERE)]
        engine.add([Document("later", "amber basil cedar", "Later")])
        yield engine.document("later").text
        yield [hit.document_id for hit in engine.search("amber basil cedar", 5)]
        yield len(engine)


def contents(folder: Path) -> dict[str, str]:
    """The text of every document."""
    with Engine.load(folder) as engine:
        return {one.id: one.text for one in engine}


@contextmanager
def mounted(where: Path, size: int) -> Iterator[bool]:
    """A small disk of its own, if this process may have one; says whether it has."""
    where.mkdir(exist_ok=True)
    made = os.system(f"mount -t tmpfs -o size={size} none {where} 2>/dev/null") == 0
    try:
        yield made
    finally:
        if made:
            with suppress(OSError):
                os.system(f"umount {where}")
