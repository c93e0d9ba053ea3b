"""An engine from the files that the authors of TSGen release: their term sets and their T5.

Their repository (namespace-Pt/TSGen) names an archive with two files for NQ320K:

- `codes/…/codes.mmp`: the term sets, an array of int32 without a header, a row for each document
  in the order of `collection.tsv`. A row begins with 0, T5's start token; then come the terms,
  heaviest first, each as its pieces and the token ","; then 1, the end token; the rest is −1.
- `ckpts/TSGen/…`: the checkpoint, a file of torch with a dictionary: `model` has the weights of a
  T5ForConditionalGeneration under names that begin with `plm.`, `config` an object of a class of
  theirs, which is not needed and not made.

What comes out is an engine like any other, without training: the cheapest proof that the decoder
finds what the paper says. It differs from theirs in that a term set has no end token to generate,
and that terms whose pieces read the same are one term.
"""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.serialization import get_unsafe_globals_in_checkpoint, safe_globals

from tsgen.arrays import offsets_of
from tsgen.artifact import hash_file, hash_strings, stage
from tsgen.config import preset
from tsgen.corpus.dataset import DataSet, watched_documents
from tsgen.docids.term_set import TermSets
from tsgen.errors import ArtifactError, ConfigError, DataError
from tsgen.model.generator import TERMINATOR, Generator
from tsgen.model.pretrained import Seq2Seq, load_pretrained
from tsgen.progress import show
from tsgen.retrieve.build import engine_config
from tsgen.retrieve.engine import KIND, write_engine
from tsgen.settings import EngineConfig

START, END, PADDING = 0, 1, -1  # tokens of a row beside those of terms
PREFIX = "plm."  # of the names of T5's weights
WRAPPED = "module."  # before that, where the model was trained on several GPUs
EXTRA = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"}
"""Weights that T5 ties to `shared.weight`, so that a checkpoint may have them or not."""

Int32 = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Imported:
    """What was read: documents, distinct terms, and those that tsgen would spell otherwise."""

    documents: int
    terms: int
    spelled_otherwise: int
    shared: int  # documents whose set another one has, too


def import_authors(
    data: DataSet, codes: Path, checkpoint: Path, backbone: str, out: Path
) -> Imported:
    """Make the engine `out` from the authors' files, unless it was made from the same ones.

    Args:
        data: The documents, in the order of the term sets.
        codes: The file of term sets.
        checkpoint: The checkpoint of the T5.
        backbone: The T5 that it was trained from, by hub name or folder: its shape and tokenizer.
        out: The folder of the engine.
    """
    config = engine_config(preset("paper") | {"queries": {"writer": "none"}})
    model = config.model.model_copy(update={"backbone": backbone})
    config = config.model_copy(update={"model": model})
    found: list[Imported] = []

    def work(folder: Path) -> None:
        loaded = load_pretrained(backbone, config.model.query_tokens)
        if not isinstance(loaded, Seq2Seq):
            raise ConfigError(f"{backbone}: not an encoder-decoder; expected a T5, e.g. t5-base")
        load_checkpoint(loaded, checkpoint)
        sets, facts = read_term_sets(data, codes, loaded.tokenizer)
        found.append(facts)
        show(f"writing the engine of {len(sets):,} documents", 0)
        write_engine(folder, Generator.of(loaded, sets), config, watched_documents(data))

    inputs = {"documents": data.fingerprint, "codes": _hash(codes), "checkpoint": _hash(checkpoint)}
    stage(out, work, kind=KIND, config=config, inputs=inputs)
    return found[0] if found else _facts(data, codes, config)


def _hash(path: Path) -> str:
    if not path.is_file():
        raise ArtifactError(
            f"{path}: no such file; expected one of the archive that the authors of TSGen release"
        )
    return hash_strings(hash_file(path))


def _facts(data: DataSet, codes: Path, config: EngineConfig) -> Imported:
    """The facts of an engine that was there already."""
    tokenizer = load_pretrained(config.model.backbone, config.model.query_tokens).tokenizer
    return read_term_sets(data, codes, tokenizer)[1]


# Term sets.


def read_term_sets(data: DataSet, codes: Path, tokenizer: Any) -> tuple[TermSets, Imported]:
    """The term sets of a file of codes.

    Args:
        data: The documents, in the order of the rows.
        codes: The file.
        tokenizer: That of the T5 whose tokens the rows are.
    """
    ids = [document.id for document in watched_documents(data)]
    rows = _rows(codes, len(ids))
    comma = tokenizer.convert_tokens_to_ids(TERMINATOR)
    spelled = [list(_terms(row, comma, codes, number)) for number, row in enumerate(rows)]
    distinct = sorted(set(chain.from_iterable(spelled)))
    words = [text.strip() for text in tokenizer.batch_decode([list(one) for one in distinct])]
    spellings = sorted({word for word in words if word})
    number_of = {word: number for number, word in enumerate(spellings)}
    known = {p: number_of[word] for p, word in zip(distinct, words, strict=True) if word}
    chosen = [list(dict.fromkeys(known[p] for p in row if p in known)) for row in spelled]
    offsets = offsets_of(np.array([len(row) for row in chosen], np.int64))
    terms = np.fromiter(chain.from_iterable(chosen), np.int32)
    sets = TermSets.build(ids, spellings, offsets, terms)
    again = tokenizer([*words], add_special_tokens=False)["input_ids"] if words else []
    otherwise = sum(tuple(row) != one for row, one in zip(again, distinct, strict=True))
    equal: dict[frozenset[int], int] = {}
    for row in chosen:
        equal[frozenset(row)] = equal.get(frozenset(row), 0) + 1
    shared = sum(count for count in equal.values() if count > 1)
    return sets, Imported(len(ids), len(spellings), otherwise, shared)


def _rows(codes: Path, documents: int) -> Int32:
    """[D, L] the codes of all documents."""
    size = codes.stat().st_size
    length, rest = divmod(size, 4 * documents)
    if rest or not length:
        raise DataError(
            f"{codes}: {size:,} bytes are no whole number of int32 for each of {documents:,} "
            "documents; expected the codes of this very collection, in its order. Check that DATA "
            "is the folder that was released with them."
        )
    return np.memmap(codes, np.int32, mode="r", shape=(documents, length))


def _terms(row: Int32, comma: int, codes: Path, number: int) -> Iterator[tuple[int, ...]]:
    """The pieces of each term of a row, without the comma that ends it."""
    tokens = [int(token) for token in row if token != PADDING]
    if not tokens or tokens[0] != START or min(tokens) < 0:
        raise DataError(
            f"{codes}: row {number} begins with {tokens[:3]}; expected 0, then the terms' tokens"
        )
    pieces: list[int] = []
    for token in tokens[1:]:
        if token == comma:
            if pieces:
                yield tuple(pieces)
            pieces = []
        elif token == END:
            return
        else:
            pieces.append(token)


# The checkpoint.


class Inert:
    """What a checkpoint gets for an object of a class that we do not have: a dictionary, whatever
    it was to be made of."""

    def __new__(cls, *_: object, **__: object) -> "OrderedDict[Any, Any]":  # type: ignore[misc]
        """Make an empty dictionary; what the object has is put into it."""
        return OrderedDict()


_SCALARS: Any = import_module("numpy._core.multiarray").scalar
NUMBERS: list[Any] = [
    (_SCALARS, "numpy.core.multiarray.scalar"),
    (_SCALARS, "numpy._core.multiarray.scalar"),
    np.dtype,
    *(type(np.dtype(kind)) for kind in (np.float32, np.float64, np.int64)),
]
"""What numbers of numpy are made with, such as figures of an evaluation."""


def load_checkpoint(backbone: Seq2Seq, path: Path) -> None:
    """Put the weights of a checkpoint into a T5; nothing of the file but tensors is executed."""
    state = _state(path)
    names = {name: name.removeprefix(WRAPPED) for name in state}
    weights = {
        short.removeprefix(PREFIX): state[name]
        for name, short in names.items()
        if short.startswith(PREFIX)
    }
    if not weights:
        raise ArtifactError(
            f"{path}: its weights are named {', '.join(sorted(state)[:3]) or 'nothing'}; expected "
            f"names like {PREFIX}shared.weight"
        )
    wanted = backbone.model.state_dict()
    for name, weight in weights.items():
        if name in wanted and wanted[name].shape != weight.shape:
            raise ArtifactError(
                f"{path}: {name} has the shape {tuple(weight.shape)}, the backbone's has "
                f"{tuple(wanted[name].shape)}; expected the T5 that was trained, by --backbone"
            )
    left = set(wanted) - set(weights) - EXTRA
    unknown = set(weights) - set(wanted) - EXTRA
    if left or unknown:
        raise ArtifactError(
            f"{path}: {len(left)} weights of the backbone are not in it and {len(unknown)} of its "
            f"own are not the backbone's ({', '.join(sorted(left | unknown)[:3])}); expected the "
            "T5 that was trained, by --backbone"
        )
    backbone.model.load_state_dict(weights, strict=False)
    backbone.model.tie_weights()


def _state(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a checkpoint by name."""
    try:
        names = get_unsafe_globals_in_checkpoint(path)
        with ExitStack() as allowed:
            inert = [(Inert, name) for name in names if not name.startswith("numpy.")]
            allowed.enter_context(safe_globals([*NUMBERS, *inert]))
            found = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, ValueError, TypeError, EOFError, UnpicklingError, OSError) as error:
        raise ArtifactError(
            f"{path}: not readable as a checkpoint of torch ({str(error).splitlines()[0]}); "
            "expected the file below ckpts/ of the authors' archive"
        ) from None
    state = found.get("model") if isinstance(found, dict) else None
    if not isinstance(state, dict):
        raise ArtifactError(
            f"{path}: has no weights named 'model'; expected the authors' checkpoint"
        )
    return {str(name): value for name, value in state.items() if isinstance(value, torch.Tensor)}
