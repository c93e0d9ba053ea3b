"""Ultron (Zhou et al., 2022): the URL is the identifier, learned in three stages.

`ids = "url"`: the parts of the document's URL (its metadata `url`) from the last to the first, for
the last says most; where there is none, one is made of the title, numbered if there are several.
`ids = "pq"`: product-quantised codes of the document's vector, the nearest centroid of K in each of
the vector's G parts.

Training goes from text pieces → id over synthetic queries → id to real queries → id. Of
`train.minutes` each stage has a third; `train.epochs` are those of each. A stage without pairs is
left out.

Deviations: vectors are MiniLM's, the backbone is that of all generative systems; 24 groups of 256
codes are for millions of documents, here are 6 of at most √D; equal codes are numbered.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import numpy as np
from pydantic import Field

from tsgen.baselines._identifiers import (
    Codes,
    Floats,
    code_ids,
    kmeans,
    leaf_size,
    minilm_vectors,
    unique_texts,
)
from tsgen.corpus.dataset import DataSet, watched_documents
from tsgen.docids.sequence_ids import SequenceIds
from tsgen.errors import ConfigError
from tsgen.model.backbone import tokenizer_of
from tsgen.queries.pairs import Pair
from tsgen.records import Document
from tsgen.retrieve.sequence_systems import (
    SequenceConfig,
    SequenceFit,
    SequenceRetriever,
    register_sequences,
    text_ids,
    with_ids,
)
from tsgen.retrieve.systems import Fitted
from tsgen.train.examples import own_pairs, read_pairs
from tsgen.training_loop import remove_checkpoint

URL = "url"  # in a document's metadata


class UltronConfig(SequenceConfig):
    """The settings of a sequence system, the kind of identifiers and the first stage."""

    ids: Literal["url", "pq"] = "url"
    """Identifiers are URLs (`url`) or product-quantised codes (`pq`)."""

    longest: int = Field(32, ge=1)
    """URLs are cut off after so many tokens."""

    words: int = Field(8, ge=1)
    """A document without URL and title has so many first words of its text for an identifier."""

    groups: int = Field(6, ge=1)
    """Parts of a vector that are quantised, each as one code."""

    codes: int = Field(256, ge=2)
    """Codes of a group; fewer in a small set."""

    pieces: int = Field(2, ge=0)
    """Pieces of each text that the first stage learns."""


def url_text(document: Document, words: int) -> str:
    """The words of a document's URL: its path from the last part to the first, then its host."""
    url = document.metadata.get(URL)
    if not isinstance(url, str) or not url.strip():
        title = document.title.strip() or " ".join(document.text.split()[:words])
        return "-".join(re.findall(r"\w+", title.lower()))
    parts = urlsplit(url if "//" in url else f"//{url}")
    path = [part for part in unquote(parts.path).split("/") if part]
    path += [parts.query] if parts.query else []
    return "/".join([*reversed(path), parts.hostname or ""]).replace("_", " ").rstrip("/")


def ultron_ids(
    data: DataSet, config: UltronConfig, seed: int, cache: Path, tokenizer: Any
) -> SequenceIds:
    """Give each document its identifier: its URL or its product-quantised codes."""
    urls = [(each.id, url_text(each, config.words)) for each in watched_documents(data)]
    ids = [document_id for document_id, _ in urls]
    if config.ids == "url":
        return text_ids(ids, unique_texts(url for _, url in urls), tokenizer, config.longest)
    codes = leaf_size(len(ids), config.codes, 2)
    rows = product_codes(minilm_vectors(data, cache), config.groups, codes, seed)
    return code_ids(ids, rows)


def product_codes(vectors: Floats, parts: int, codes: int, seed: int) -> Codes:
    """Product quantisation: of each of the `parts` of vectors [D, d], the nearest of `codes`
    centroids."""
    columns = [
        kmeans(np.ascontiguousarray(part), codes, seed)[0]
        for part in np.array_split(vectors, parts, axis=1)
    ]
    rows: Codes = np.stack(columns, axis=1).tolist()
    return rows


def stages(fit: SequenceFit, pairs: Sequence[Pair], synthetic: Path | None) -> list[list[Pair]]:
    """Sort the pairs into stages by their queries (pieces of text, synthetic, real);
    a stage without pairs is left out."""
    numbers = {document.id: number for number, document in enumerate(fit.data.documents())}
    own = set(own_pairs(fit.data, fit.config.train.pairs, fit.seed))
    written = set(read_pairs(synthetic, numbers)) if synthetic else set()
    kinds: list[list[Pair]] = [[], [], []]
    for pair in pairs:
        kinds[0 if pair in own else 1 if pair in written else 2].append(pair)
    return [kind for kind in kinds if kind]


def _fit(data: DataSet, config: UltronConfig, seed: int, folder: Path) -> None:
    pieces = max(config.train.pairs.pieces, config.pieces)
    learned = config.train.pairs.model_copy(update={"pieces": pieces})
    train = config.train.model_copy(update={"pairs": learned})
    fit = SequenceFit(data, config.model_copy(update={"train": train}), seed, folder)
    synthetic = fit.synthetic()
    generator = fit.generator(
        fit.ids(lambda tokenizer: ultron_ids(data, config, seed, folder.parent, tokenizer))
    )
    pairs, validation = fit.examples(generator.ids, synthetic)
    in_turn = stages(fit, pairs, synthetic)
    train = train.part(len(in_turn))
    parts = [folder / f"stage-{number}" for number, _ in enumerate(in_turn, 1)]
    for learned_now, part in zip(in_turn, parts, strict=True):
        part.mkdir(exist_ok=True)  # a finished one has its checkpoint, and is over at once
        fit.learn(generator, learned_now, validation, part, train)
    fit.finish(generator)
    for part in parts:
        remove_checkpoint(part)


def _reindex(fitted: Fitted, data: DataSet, _scratch: Path) -> SequenceRetriever:
    """The same model over the URLs of other documents."""
    if fitted.config.ids != "url":
        raise ConfigError(
            f"ultron.ids = {fitted.config.ids!r}: its codes are those of the documents it was "
            "trained on; expected 'url' for documents that come later"
        )
    tokenizer = tokenizer_of(fitted.config.model)
    ids = ultron_ids(data, fitted.config, fitted.seed, fitted.cache, tokenizer)
    return with_ids(fitted, ids)


register_sequences("ultron", UltronConfig, _fit, reindex=_reindex)
