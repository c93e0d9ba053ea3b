"""Which runtime and which numeric format reads texts fastest, and what it costs in M@10.

    python benchmarks/encoders.py DATA… [--documents 3000] [--out docs/results]

MiniLM by torch in float32 and with dynamic int8, by ONNX Runtime in the three formats of
`tsgen.terms.onnx_graph`, and by OpenVINO where it is installed. Speed: queries one at a time and
documents in batches, all on one thread, all in turn in one run; processor time, which other work on
the machine changes little. Quality: M@10 by cosine on the development queries, among the documents
that are judged and others up to `--documents`, with queries and documents in every format, and with
queries in a format and documents in float32 (which is how engines use `blocks`). A paired t-test
compares each with float32 throughout.
"""

import time
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tsgen.cli.common import progress
from tsgen.cli.publishing import made, publish
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.load import load
from tsgen.evaluate.tables import Column, Row, Table
from tsgen.progress import show
from tsgen.reciprocal_rank import DEPTH, reciprocal_ranks
from tsgen.settings import MINILM, ModelConfig
from tsgen.terms.encoder import load_encoder
from tsgen.terms.onnx_graph import FORMATS
from tsgen.terms.sentence_vectors import sentence_vectors
from tsgen.terms.text_encoder import OnnxEncoder

Read = Callable[[Sequence[str], int], np.ndarray]
"""Texts and a window → their vectors."""

EXACT, TOGETHER = "ONNX Runtime float32", 32
NAMES = {"float32": EXACT, "blocks": "ONNX Runtime 8-bit blocks", "int8": "ONNX Runtime int8"}
WINDOWS = ModelConfig(backbone="term-vectors")


def main() -> None:
    """Time all readers, then compare what they find; print and write."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=["stdlib:"])
    parser.add_argument("--documents", type=int, default=3000)
    parser.add_argument("--timed", type=int, default=150, help="queries and documents to time")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    readers = _readers()
    sets = [load(name) for name in options.data]
    with progress():
        speed = _speed(readers, sets[0], options.timed)
        found = {data.name: _quality(readers, data, options.documents) for data in sets}
    notes = {"threads": "1", "time": "processor time", "data": f"timed on {sets[0].name}"} | made()
    tables = [_speed_table(speed, notes), *(_quality_table(*item) for item in found.items())]
    figures = {"speed": speed, "quality": {name: rows for name, (rows, _) in found.items()}}
    publish(options.out / "encoders", figures | {"notes": notes}, *tables)


def _readers() -> dict[str, Read]:
    encoder, tokenizer = load_encoder(MINILM)
    encoder.pooler = None
    encoder.eval()
    readers: dict[str, Read] = {"torch float32": _torch_reader(encoder, tokenizer)}
    small = torch.ao.quantization.quantize_dynamic(encoder, {torch.nn.Linear}, dtype=torch.qint8)
    readers["torch dynamic int8"] = _torch_reader(small, tokenizer)
    for form in FORMATS:
        graph = OnnxEncoder.of(encoder, tokenizer, form)
        assert graph is not None
        readers[NAMES[form]] = graph.vectors
    readers |= _openvino_readers(encoder, tokenizer)
    return readers


def _torch_reader(encoder: Any, tokenizer: Any) -> Read:
    return lambda texts, window: sentence_vectors(encoder, tokenizer, texts, window)


def _openvino_readers(encoder: Any, tokenizer: Any) -> dict[str, Read]:
    """OpenVINO in float32, by its own reading of the torch module; none if it is not there."""
    try:
        import openvino
    except ImportError:
        return {}
    inputs = dict(tokenizer(["a text", "another"], return_tensors="pt", padding=True))
    with torch.inference_mode():
        model = openvino.convert_model(encoder, example_input=inputs)
    settings = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(model, "CPU", settings)

    def read(texts: Sequence[str], window: int) -> np.ndarray:
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        vectors = np.zeros((len(texts), encoder.config.hidden_size), np.float32)
        for start in range(0, len(order), TOGETHER):
            rows = order[start : start + TOGETHER]
            given = dict(
                tokenizer(
                    [texts[i] for i in rows],
                    padding=True,
                    truncation=True,
                    max_length=window,
                    return_tensors="np",
                )
            )
            states = compiled(given)[0]
            total = (states * given["attention_mask"][:, :, None]).sum(axis=1)
            vectors[rows] = total / np.linalg.norm(total, axis=1, keepdims=True)
        return vectors

    return {"OpenVINO float32": read}


def _speed(readers: dict[str, Read], data: DataSet, count: int) -> dict[str, dict[str, float]]:
    """Milliseconds a query (median) and documents a second of each reader, and the mean cosine of
    its query vectors with those of torch."""
    queries = [query.text for query in data.queries().values()][:count]
    documents = [document.contents for document, _ in zip(data.documents(), queries, strict=False)]
    times: dict[str, list[float]] = {name: [] for name in readers}
    vectors: dict[str, list[np.ndarray]] = {name: [] for name in readers}
    for read in readers.values():
        read(queries[:5], WINDOWS.query_tokens)
    for number, query in enumerate(queries):
        show("timing queries", number, len(queries))
        for name, read in readers.items():
            start = time.process_time()
            vectors[name].append(read([query], WINDOWS.query_tokens))
            times[name].append(time.process_time() - start)
    exact = np.concatenate(vectors["torch float32"])
    found = {}
    for name, read in readers.items():
        start = time.process_time()
        read(documents, WINDOWS.document_tokens)
        seconds = time.process_time() - start
        found[name] = {
            "ms": 1000 * float(np.median(times[name])),
            "documents": len(documents) / seconds,
            "cosine": float((np.concatenate(vectors[name]) * exact).sum(axis=1).mean()),
        }
    return found


def _quality(
    readers: dict[str, Read], data: DataSet, most: int
) -> tuple[dict[str, dict[str, float]], int]:
    """M@10 and p by format of queries and documents; and the number of documents."""
    judged = data.judgments("dev")
    texts = _collection(data, {one for row in judged.values() for one in row}, most)
    queries = [data.queries()[name].text for name in judged]
    numbers = {name: number for number, name in enumerate(texts)}
    relevant = [[numbers[one] for one in row if one in numbers] for row in judged.values()]
    documents = {}
    for form in ("float32", "int8", "blocks"):
        show(f"reading {data.name}: {form}", 0)
        documents[form] = readers[NAMES[form]](list(texts.values()), WINDOWS.document_tokens)
    asked = {name: read(queries, WINDOWS.query_tokens) for name, read in readers.items()}
    pairs = [(name, "float32") for name in readers]
    pairs += [(NAMES["int8"], "int8"), (NAMES["blocks"], "blocks"), (NAMES["blocks"], "int8")]
    exact = _ranks(asked[EXACT], documents["float32"], relevant)
    found = {}
    for name, form in pairs:
        own = _ranks(asked[name], documents[form], relevant)
        row = {"M@10": float(own.mean()), "change": float(own.mean() - exact.mean())}
        found[f"{name}, documents {form}"] = row | {"p": _p(own, exact)}
    return found, len(texts)


def _collection(data: DataSet, judged: set[str], most: int) -> dict[str, str]:
    """The judged documents and the first others, by id."""
    rest = max(most - len(judged), 0)
    texts = {}
    for document in data.documents():
        if document.id in judged or rest:
            rest -= document.id not in judged
            texts[document.id] = document.contents
    return texts


def _ranks(queries: np.ndarray, documents: np.ndarray, relevant: list[list[int]]) -> np.ndarray:
    """1 / rank [Q] of the first relevant document by cosine, 0 beyond the first ten."""
    scores = queries @ documents.T
    best = [row[own].max(initial=-np.inf) for row, own in zip(scores, relevant, strict=True)]
    ranks = 1 + (scores > np.array(best)[:, None]).sum(axis=1)
    return reciprocal_ranks(ranks)


def _p(own: np.ndarray, exact: np.ndarray) -> float:
    """p of a paired t-test; 1 where nothing differs."""
    from scipy.stats import ttest_rel

    return 1.0 if np.array_equal(own, exact) else float(ttest_rel(own, exact).pvalue)


def _speed_table(speed: dict[str, dict[str, float]], notes: dict[str, str]) -> Table:
    columns = [Column("ms a query", "low", 2), Column("documents / s", "high", 1)]
    columns.append(Column("cosine with torch", None, 5))
    rows = [Row(name, list(values.values())) for name, values in speed.items()]
    return Table(columns, rows, "MiniLM on one thread", notes, "runtime and format")


def _quality_table(name: str, found: tuple[dict[str, dict[str, float]], int]) -> Table:
    rows, documents = found
    columns = [Column(f"M@{DEPTH}", "high", 4), Column("change", None, 4), Column("p", None, 3)]
    listed = [Row(label, list(values.values())) for label, values in rows.items()]
    notes = {"split": "dev", "documents": f"{documents:,}", "compared with": EXACT}
    return Table(columns, listed, f"Cosine search on {name}", notes, "queries, documents")


if __name__ == "__main__":
    main()
