"""Time per query against the number of documents, on Zipf sets, one process for each size.

The backbone is mini-sized with 32,000 output symbols. Untrained, it would find all terms about as
likely; each query therefore leans towards the terms of one document and, less, towards some
others, as peaked as the briefly trained model is on real queries.
"""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from decoding_kit.measure import SEARCHES, OurSearch, peak_gigabytes, summary
from decoding_kit.synthetic import TERMS, ZipfSets, zipf_sets
from tsgen.constrain.constraint import Ragged
from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.docids.spelling import words
from tsgen.model.mini import Mini
from tsgen.settings import DecodeConfig, MiniConfig
from tsgen.terms.encoder import load_encoder

WANTED, DISTRACTORS = 9.0, 300  # what the leaning adds to the wanted terms' logits; others get less


class Leaning:
    """A backbone that leans towards the terms of one document at a time."""

    def __init__(self, backbone: Mini) -> None:
        self._backbone, self._lean = backbone, torch.zeros(backbone.output_size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backbone, name)

    def lean(self, sets: ZipfSets, target: int, rng: np.random.Generator) -> None:
        """Prefer the target's terms from now on, and less so others, as frequent as they come."""
        self._lean.zero_()
        others = sets.doc_terms[rng.integers(len(sets.doc_terms), size=DISTRACTORS)]
        strength = rng.uniform(3, 8, DISTRACTORS).astype(np.float32)
        self._lean[torch.from_numpy(others.astype(np.int64))] = torch.from_numpy(strength)
        self._lean[torch.from_numpy(sets.terms(target).astype(np.int64))] = WANTED

    def logits(self, hidden: torch.Tensor, tokens: torch.Tensor | None = None) -> torch.Tensor:
        """As the backbone's, with the leaning added."""
        lean = self._lean if tokens is None else self._lean[tokens]
        return self._backbone.logits(hidden, tokens) + lean

    def log_normaliser(self, hidden: torch.Tensor) -> torch.Tensor:
        """log Σ exp of all scores."""
        return torch.logsumexp(self.logits(hidden), dim=-1)


def growth(
    cache: Path, documents: int, n: int, beams: list[int], queries: int, threads: int
) -> list[dict[str, Any]]:
    """A row of figures for each search and beam; the sets are written by a process of its own."""
    _alone(_write, cache, documents, n)
    rows = _alone(_measure, cache, documents, n, beams, queries, threads)
    for row in rows:
        print(
            f"  {documents:>9,} × {n}, beam {row['beam']:>3}, {row['search']}: "
            f"{row['seconds']:.3f} s, {row['constraint_share']:.1%} in the constraint, "
            f"{row['peak_gb']:.2f} GB"
        )
    return rows


def _alone(work: Any, *args: Any) -> Any:
    """Run in a fresh process, so that its peak of memory is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *args).result()


def _write(cache: Path, documents: int, n: int) -> None:
    zipf_sets(cache, documents, n)


def _measure(
    cache: Path, documents: int, n: int, beams: list[int], queries: int, threads: int
) -> list[dict[str, Any]]:
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    backbone, sets = Leaning(_backbone()), zipf_sets(cache, documents, n)
    constraint = PostingsConstraint(sets, words(TERMS))
    return [
        {
            "documents": documents,
            "n": n,
            "beam": beam,
            "search": kind,
            **_asked(backbone, constraint, sets, beam, kind, queries),
            "disk_gb": sets.nbytes / 2**30,
            "peak_gb": peak_gigabytes(),
        }
        for beam in beams
        for kind in ("full", "sum")
    ]


def _asked(
    backbone: Leaning,
    constraint: PostingsConstraint,
    sets: ZipfSets,
    beam: int,
    kind: str,
    queries: int,
) -> dict[str, float]:
    """The first query compiles and warms up; it is not counted."""
    searching = OurSearch(backbone, constraint, DecodeConfig(beam=beam, **SEARCHES[kind]))
    rng, found = np.random.default_rng(1), 0
    for number in range(queries + 1):
        target = int(rng.integers(len(sets)))
        backbone.lean(sets, target, rng)
        hits = searching.search(f"query number {number} about some eight words", 100)
        found += bool(number) and any(document == target for document, _ in hits)
    return summary(searching.times[1:]) | {"found": found / queries}


def _backbone() -> Mini:
    """Mini with one symbol a term; which pieces a term is made of makes no difference here."""
    config = MiniConfig()
    encoder, tokenizer = load_encoder(config.encoder, config.encoder_layers)
    pieces = (np.arange(TERMS) % len(tokenizer)).astype(np.int32)
    return Mini(config, encoder, tokenizer, Ragged(np.arange(TERMS + 1), pieces)).eval()
