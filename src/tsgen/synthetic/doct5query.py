"""The writer `doct5query`: a T5 that learned on MS MARCO to write queries, or a model like it.

Nogueira and Lin, "From doc2query to docTTTTTquery" (2019): the document in, queries by top-k
sampling out. The paper of TSGen fine-tunes it on the data set's own pairs first: `tune = true`
minimises the mean −log p of a training query's tokens, given the document that answers it. The
weights that are best by this on held-out queries write.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tsgen.corpus.dataset import DataSet, watched_documents
from tsgen.errors import ConfigError
from tsgen.queries.pairs import Pair
from tsgen.records import Document
from tsgen.settings import DocT5QueryConfig
from tsgen.synthetic.local_writer import CHARACTERS, WARM_UP, pairs_to_learn
from tsgen.synthetic.writers import WRITERS, WriterKind
from tsgen.terms.encoder import DATA_ONLY
from tsgen.training_loop import TrainingLoop, shard, shown

IGNORED = -100  # a label that is padding


class DocT5Query:
    """Samples the queries of a batch of documents at once."""

    def __init__(self, config: DocT5QueryConfig) -> None:
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # it would draw over ours
        self._config = config
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(config.model, **DATA_ONLY)
            self.model = AutoModelForSeq2SeqLM.from_pretrained(config.model, **DATA_ONLY)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"cannot load the query writer {config.model!r}: {str(error).splitlines()[0]} "
                "Expected a hub name with network, or a folder with an encoder-decoder of "
                "transformers: --set queries.doct5query.model=FOLDER. Without either, choose "
                "another writer: --writer extractive, local or smollm2."
            ) from None
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model.to(self._device).eval()

    def write(self, documents: Sequence[Document], n: int, seed: int) -> list[list[str]]:
        """Write n queries for each document; every batch draws with the same seed."""
        size = self._config.batch_size
        batches = [documents[start : start + size] for start in range(0, len(documents), size)]
        return [queries for batch in batches for queries in self._batch(batch, n, seed)]

    def loss(self, documents: Sequence[str], queries: Sequence[str]) -> torch.Tensor:
        """The mean −log p of the queries' tokens, each given its document."""
        inputs = self._read(documents, self._config.document_tokens)
        labels = self._read(queries, self._config.query_tokens)
        targets = labels["input_ids"].masked_fill(labels["attention_mask"] == 0, IGNORED)
        found: torch.Tensor = self.model(**inputs, labels=targets).loss
        return found

    def _read(self, texts: Sequence[str], tokens: int) -> dict[str, Any]:
        inputs = self._tokenizer(
            list(texts), padding=True, truncation=True, max_length=tokens, return_tensors="pt"
        ).to(self._device)
        return {name: inputs[name] for name in ("input_ids", "attention_mask")}

    @torch.inference_mode()
    def _batch(self, documents: Sequence[Document], n: int, seed: int) -> list[list[str]]:
        config = self._config
        inputs = self._read([document.contents for document in documents], config.document_tokens)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            outputs = self.model.generate(
                **inputs,
                max_new_tokens=config.query_tokens,
                do_sample=True,
                top_k=config.top_k,
                temperature=config.temperature,
                num_return_sequences=n,
            )
        texts = self._tokenizer.batch_decode(outputs, skip_special_tokens=True)
        return [texts[start : start + n] for start in range(0, len(texts), n)]


def tune(
    writer: DocT5Query, data: DataSet, config: DocT5QueryConfig, seed: int, folder: Path
) -> float:
    """Fine-tune a writer on the training judgments; `folder` holds what an interrupted call goes on
    from. Returns the best figure: the geometric mean of the probabilities of held-out tokens."""
    most = CHARACTERS * config.document_tokens
    documents = [each.contents[:most] for each in watched_documents(data)]
    training, validation = pairs_to_learn(data, seed)
    size = config.batch_size
    per_epoch = -(-len(training) // size)

    def loss(pairs: Sequence[Pair]) -> torch.Tensor:
        texts = [documents[pair.document] for pair in pairs]
        return writer.loss(texts, [pair.query for pair in pairs])

    def of_step(step: int) -> torch.Tensor:
        epoch, at = divmod(step, per_epoch)
        order = np.random.default_rng((seed, epoch)).permutation(len(training))
        return loss([training[row] for row in shard(order[at * size : (at + 1) * size])])

    def held_out() -> float:
        batches = [validation[i : i + size] for i in range(0, len(validation), size)]
        return float(np.exp(-np.mean([loss(batch).item() for batch in batches])))

    rate = config.learning_rate
    groups = [{"params": list(writer.model.parameters()), "lr": rate, "peak": rate}]
    loop = TrainingLoop(
        writer.model,
        torch.optim.AdamW(groups, weight_decay=0.01),
        steps=per_epoch * config.epochs,
        warm_up=WARM_UP,
        validate_every=config.validate_every,
        patience=config.patience,
        seed=seed,
        folder=folder,
        report=shown("fine-tuning the query writer"),
    )
    return loop.run(of_step, held_out)


def _build(data: DataSet, config: DocT5QueryConfig, seed: int, folder: Path) -> DocT5Query:
    writer = DocT5Query(config)
    if config.tune:
        tune(writer, data, config, seed, folder)
    return writer


WRITERS.register(WriterKind("doct5query", DocT5QueryConfig, _build))
