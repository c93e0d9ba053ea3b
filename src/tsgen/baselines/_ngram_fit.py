"""Fitting a system of n-grams: pairs as for all generative systems, n-grams drawn as targets."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tsgen.baselines._ngram_targets import View, make_targets
from tsgen.baselines._ngrams import BODY, NgramConfig, NgramRetriever, prompt, view_of
from tsgen.constrain.constraint import Ragged
from tsgen.constrain.suffixes import Suffixes
from tsgen.corpus.dataset import DataSet, watched_documents
from tsgen.decode.select import Float
from tsgen.errors import ConfigError
from tsgen.retrieve.sequences import SequenceFit, tokenizer_of
from tsgen.terms.strings import Strings
from tsgen.train.examples import numbered_examples, read_pairs
from tsgen.train.loop import DEPTH, Batches, mean_of_ranks, minimise
from tsgen.train.objective import TokenObjective
from tsgen.train.sequences import new_backbone
from tsgen.training_loop import remove_checkpoint, shown

TITLE, QUERY = "title", "query"


def fit_ngrams(
    data: DataSet, config: NgramConfig, seed: int, folder: Path, with_queries: bool
) -> None:
    """Index the views, train, save; `folder` holds what an interrupted call goes on from."""
    written = SequenceFit(data, config, seed, folder).synthetic()
    if with_queries and written is None:
        raise ConfigError(
            "no synthetic queries, of which this system makes a view; expected a writer of them. "
            "Set queries.writer=extractive, or give a file with train.pairs.queries."
        )
    since = time.monotonic()  # queries are shared between systems and do not count
    tokenizer = tokenizer_of(config.model)
    documents = [(each.id, each.title, each.text) for each in watched_documents(data)]
    numbers = {id: number for number, (id, _, _) in enumerate(documents)}
    texts = {
        TITLE: [(number, title) for number, (_, title, _) in enumerate(documents)],
        BODY: [(number, text) for number, (_, _, text) in enumerate(documents)],
    }
    if with_queries and written is not None:
        pairs = sorted(read_pairs(written, numbers), key=lambda pair: pair.document)
        texts[QUERY] = [(pair.document, pair.query) for pair in pairs]
    views = [
        view_of(name, rows, lambda some: tokenized(tokenizer, some), whole=name != BODY)
        for name, rows in texts.items()
    ]
    backbone = new_backbone(config.model, seed)
    retriever = NgramRetriever.of(backbone, Strings.pack(numbers), views, config)
    _train(retriever, data, numbers, views, written, seed, folder, since)
    retriever.save(folder)
    remove_checkpoint(folder)


def tokenized(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """The pieces of texts of any length."""
    rows: list[list[int]] = tokenizer(list(texts), add_special_tokens=False, verbose=False)[
        "input_ids"
    ]
    return rows


def _train(
    retriever: NgramRetriever,
    data: DataSet,
    numbers: dict[str, int],
    views: Sequence[View],
    written: Path | None,
    seed: int,
    folder: Path,
    since: float,
) -> None:
    config, train = retriever.config, retriever.config.train
    wanted = train.pairs.model_copy(update={"queries": written and str(written)})
    pairs, validation = numbered_examples(data, numbers, wanted, train.validation_queries, seed)
    asked = _ragged(tokenized(retriever.backbone.tokenizer, [pair.query for pair in pairs]))
    documents = np.array([pair.document for pair in pairs], dtype=np.int64)
    idf = inverse_frequency(retriever.everything, retriever.backbone.output_size)
    row, targets = make_targets(views, asked, documents, idf, config.longest, config.temperature)
    prompts = [
        prompt(views[view].name, pairs[pair].query)
        for pair, view in zip(row.tolist(), targets.view.tolist(), strict=True)
    ]
    over = retriever.constraint.alphabet if train.softmax == "docid" else None
    objective = TokenObjective(retriever.backbone, over)
    batches = Batches(objective, prompts, targets, train.batch_size, seed)

    def figure() -> float:
        found = retriever.rank(validation.queries, DEPTH, train.validation)
        return mean_of_ranks([one.documents.tolist() for _, one in found], validation)

    steps = batches.per_epoch * train.epochs
    parts = train, seed, folder, shown("training"), since, figure
    minimise(batches.loss, steps, retriever, validation, *parts)


def _ragged(rows: Sequence[Sequence[int]]) -> Ragged:
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return Ragged(offsets, np.array([token for row in rows for token in row], dtype=np.int32))


def inverse_frequency(everything: Suffixes, tokens: int) -> Float:
    """[V] log(N / (1 + F)) of every token, so that rare ones count more; never below 0."""
    counts = np.bincount(everything.text[everything.text >= 0], minlength=tokens)
    idf: Float = np.maximum(0.0, np.log(max(len(everything), 1) / (1 + counts)))
    return idf
