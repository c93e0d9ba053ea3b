"""How long a query takes without training: tsgen-mini at beam 10 and by its set prior alone, beside
BM25 and a dense search with MiniLM, one query at a time on one thread, in one run.

    python benchmarks/latency.py DATA [--queries 200] [--out docs/results]

The engine is made first, by the preset `mini`; how long that takes is in the table's notes.
"""

import shlex
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
import torch
from rich.console import Console

from tsgen.artifact import write_beside
from tsgen.cli.common import progress, write_json
from tsgen.config import preset
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.load import load
from tsgen.decode.search import search_by_prior
from tsgen.evaluate.tables import Column, Row, Table, to_markdown, to_rich
from tsgen.queries.lexical import LexicalIndex
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.indexing import index_config, index_documents
from tsgen.terms.encoder import MINILM, load_encoder

Answer = Callable[[str], object]
K = 10


class Dense:
    """The mean of MiniLM's states, and the documents with the largest cosine."""

    def __init__(self, texts: list[str]) -> None:
        self._encoder, self._tokenizer = load_encoder(MINILM, None)
        self._vectors = torch.cat(
            [self._encode(texts[i : i + 64]) for i in range(0, len(texts), 64)]
        )

    def __call__(self, query: str) -> object:
        """The best documents of a query."""
        return torch.topk(self._vectors @ self._encode([query])[0], K)

    @torch.no_grad()
    def _encode(self, texts: list[str]) -> torch.Tensor:
        read = self._tokenizer(
            texts, padding=True, truncation=True, max_length=256, return_tensors="pt"
        )
        mask = read["attention_mask"][..., None]
        mean = (self._encoder(**read).last_hidden_state * mask).sum(1) / mask.sum(1)
        return torch.nn.functional.normalize(mean, dim=1)


def main() -> None:
    """Make the systems, time them in turn, print and write."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    data = load(options.data)
    queries = [data.queries()[id].text for id in data.judgments("test")][: options.queries]
    with tempfile.TemporaryDirectory() as folder, progress():
        systems, seconds = _systems(data, Path(folder))
        times = _times(systems, queries)
    table = _table(times, len(queries), f"{seconds:.0f} s for {data.name}")
    Console().print(to_rich(table))
    made = {name: values.tolist() for name, values in times.items()}
    write_json(str(options.out / "latency.json"), {"seconds": made, "notes": dict(table.notes)})
    with write_beside(options.out / "latency.md") as beside:
        beside.write_text(to_markdown(table), encoding="utf-8")


def _systems(data: DataSet, folder: Path) -> tuple[dict[str, Answer], float]:
    """Each as a function of the query, and how long the engine took to make."""
    texts = [document.contents for document in data.documents()]
    lexical, dense = LexicalIndex.build(texts), Dense(texts)
    start = time.perf_counter()
    index_documents(data, index_config(preset("mini")), None, folder / "engine", folder / "cache")
    seconds = time.perf_counter() - start
    engine = Engine.load(folder / "engine")
    generator, config = engine.generator, engine.config.decode
    systems: dict[str, Answer] = {
        "BM25": lambda query: lexical.top_k([query], K),
        "MiniLM, dense": dense,
        "tsgen-mini, beam 10": lambda query: engine.search([query], K, beam=10),
        f"tsgen-mini, beam {config.beam}": lambda query: engine.search([query], K),
        "tsgen-mini, set prior": lambda query: search_by_prior(
            generator.backbone, generator.constraint, [query], K, config
        ),
    }
    return systems, seconds


def _times(systems: dict[str, Answer], queries: list[str]) -> dict[str, np.ndarray]:
    """Seconds [Q] of each system; all of them answer a query before the next one comes."""
    for answer in systems.values():
        for query in queries[:20]:
            answer(query)
    times: dict[str, list[float]] = {name: [] for name in systems}
    for query in queries:
        for name, answer in systems.items():
            start = time.perf_counter()
            answer(query)
            times[name].append(time.perf_counter() - start)
    return {name: np.array(values) for name, values in times.items()}


def _table(times: dict[str, np.ndarray], queries: int, index: str) -> Table:
    reference = float(np.median(times["MiniLM, dense"]))
    columns = [Column(name, "low", 1) for name in ("p50, ms", "p99, ms")]
    columns.append(Column("p50 / dense", "low", 2))
    rows = []
    for name, values in times.items():
        p50, p99 = np.percentile(values, [50, 99])
        rows.append(Row(name, [1000 * p50, 1000 * p99, p50 / reference]))
    notes = {
        "queries": f"{queries}, one at a time, one thread",
        "engine made in": index,
        "command": shlex.join(["python", *sys.argv]),
        "date": date.today().isoformat(),
    }
    return Table(columns, rows, "Time for a query without training", notes)


if __name__ == "__main__":
    main()
