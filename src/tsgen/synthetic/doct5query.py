"""The writer `doct5query`: a T5 that learned on MS MARCO to write queries, or a model like it.

Nogueira and Lin, "From doc2query to docTTTTTquery" (2019): the document in, queries by top-k
sampling out.
"""

from collections.abc import Sequence
from pathlib import Path

import torch

from tsgen.corpus.dataset import DataSet
from tsgen.errors import ConfigError
from tsgen.records import Document
from tsgen.settings import DocT5QueryConfig
from tsgen.synthetic.writers import WRITERS, WriterKind
from tsgen.terms.encoder import DATA_ONLY


class DocT5Query:
    """Samples the queries of a batch of documents at once."""

    def __init__(self, config: DocT5QueryConfig) -> None:
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # it would draw over ours
        self._config = config
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(config.model, **DATA_ONLY)
            self._model = AutoModelForSeq2SeqLM.from_pretrained(config.model, **DATA_ONLY)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"cannot load the query writer {config.model!r}: {str(error).splitlines()[0]} "
                "Expected a hub name with network, or a folder with an encoder-decoder of "
                "transformers: --set queries.doct5query.model=FOLDER. Without either, choose "
                "another writer: --writer extractive, local or smollm2."
            ) from None
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model.to(self._device).eval()

    def write(self, documents: Sequence[Document], n: int, seed: int) -> list[list[str]]:
        """Write n queries for each document; every batch draws with the same seed."""
        size = self._config.batch_size
        batches = [documents[start : start + size] for start in range(0, len(documents), size)]
        return [queries for batch in batches for queries in self._batch(batch, n, seed)]

    @torch.inference_mode()
    def _batch(self, documents: Sequence[Document], n: int, seed: int) -> list[list[str]]:
        config = self._config
        inputs = self._tokenizer(
            [document.contents for document in documents],
            padding=True,
            truncation=True,
            max_length=config.document_tokens,
            return_tensors="pt",
        ).to(self._device)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            outputs = self._model.generate(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                max_new_tokens=config.query_tokens,
                do_sample=True,
                top_k=config.top_k,
                temperature=config.temperature,
                num_return_sequences=n,
            )
        texts = self._tokenizer.batch_decode(outputs, skip_special_tokens=True)
        return [texts[start : start + n] for start in range(0, len(texts), n)]


def _build(data: DataSet, config: DocT5QueryConfig, seed: int, folder: Path) -> DocT5Query:
    return DocT5Query(config)


WRITERS.register(WriterKind("doct5query", DocT5QueryConfig, _build))
