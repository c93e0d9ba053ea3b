"""How much of the encoder's own speed the weigher keeps, on real texts, in one run.

    python benchmarks/weighing.py [DATA] [--documents 1000] [--json FILE]

The peer is the bare encoder's forward pass over the same windows, tokenised beforehand, in the
same batches. The weigher splits, tokenises, encodes, pools and pairs words with weights. Rounds
alternate.
"""

import argparse
import json
import time
from itertools import islice
from pathlib import Path
from statistics import median

import torch

from tsgen.config import preset
from tsgen.corpus.load import load
from tsgen.records import Document
from tsgen.settings import LearnedConfig
from tsgen.terms.weigher import Weigher
from tsgen.terms.weights import Impact
from tsgen.terms.words import Splitter

BATCH = 64


def bare(weigher: Weigher, windows: list) -> float:
    """Seconds for the encoder alone."""
    start = time.perf_counter()
    with torch.inference_mode():
        for at in range(0, len(windows), BATCH):
            weigher.encode(windows[at : at + BATCH])
    return time.perf_counter() - start


def whole(weigher: Weigher, documents: list[Document]) -> float:
    """Seconds for everything from text to weights."""
    start = time.perf_counter()
    for _ in weigher.weigh(documents, BATCH):
        pass
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", default="stdlib:")
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--preset", default="cpu")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()

    documents = list(islice(load(options.data).documents(), options.documents))
    texts = [document.contents for document in documents]
    splitter = Splitter()
    config = LearnedConfig.from_mapping(preset(options.preset)["weigher"]).weigher
    weigher = Weigher(config, splitter, Impact.count(texts, splitter)).eval()
    windows = [window.tokens for found in weigher.documents.windows(texts) for window in found]
    windows.sort(key=len)
    bare(weigher, windows[:BATCH])  # warm up

    rounds = [(bare(weigher, windows), whole(weigher, documents)) for _ in range(options.rounds)]
    share = median(encoder / everything for encoder, everything in rounds)
    figures = {
        "documents": len(documents),
        "threads": torch.get_num_threads(),
        "documents_per_second": len(documents) / median(everything for _, everything in rounds),
        "bare_documents_per_second": len(documents) / median(encoder for encoder, _ in rounds),
        "share_of_bare_encoder": share,
    }
    for name, value in figures.items():
        print(f"{name:28} {value:,.2f}" if isinstance(value, float) else f"{name:28} {value:,}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
