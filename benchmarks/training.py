"""How much of the backbone's own training speed the training loop keeps, in one run.

    python benchmarks/training.py [--backbone mini] [--preset cpu] [--steps 20] [--json FILE]

The peer is a copy of the same backbone: its bare forward and backward pass on the same batch,
tokenised beforehand, with a plain cross-entropy; and the same with an optimizer step. The loop also
draws batches, tokenises queries, makes targets, clips gradients, steps and reports. Each step of
the loop is followed by the peer's on its batch. Texts are random words of the tokenizer.
"""

import argparse
import json
import time
from copy import deepcopy
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from tsgen.config import read_settings
from tsgen.docids.term_set import TermSets
from tsgen.model.generator import Generator
from tsgen.queries.pairs import Pair
from tsgen.records import TermSet
from tsgen.settings import MINILM, ModelConfig, TrainConfig
from tsgen.terms.encoder import load_encoder
from tsgen.train.examples import Validation, weight_order
from tsgen.train.loop import TrainingSet, train

TARGET = 0.8  # of the bare forward and backward pass
TERMS, N = 6000, 12
WARM_UP = 2  # steps that are not counted


def corpus(documents: int, rng: np.random.Generator) -> tuple[TermSets, list[Pair]]:
    """Random sets of common words, and queries of four to twelve of them."""
    _, tokenizer = load_encoder(MINILM, 1)
    words = sorted(word for word in tokenizer.get_vocab() if word.isalpha() and len(word) > 3)
    words = [words[i] for i in rng.choice(len(words), TERMS, replace=False)]
    sets = TermSets.of(
        TermSet(f"d{i}", tuple(rng.choice(words, N, replace=False)), tuple(range(N, 0, -1)))
        for i in range(documents)
    )
    lengths = rng.integers(4, 13, size=documents)
    return sets, [Pair(" ".join(rng.choice(words, n)), i) for i, n in enumerate(lengths)]


class Tokenised:
    """A tokenizer that remembers what it was asked last, for the peer to take from it."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer, self.last = tokenizer, None

    def __call__(self, *texts: Any, **options: Any) -> Any:
        """Tokenise, and remember."""
        self.last = self._tokenizer(*texts, **options)
        return self.last

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)


class Race:
    """Called by the loop after each step: notes its time, then lets the peer run on its batch."""

    def __init__(self, generator: Generator, config: TrainConfig) -> None:
        self.ours: list[float] = []
        self.bare: list[float] = []
        self.with_optimizer: list[float] = []
        self._backbone, self._peer = generator.backbone, deepcopy(generator.backbone)
        remembering = Tokenised(generator.backbone.tokenizer)
        self._backbone.tokenizer = remembering
        self._peer.tokenizer = lambda *_, **__: remembering.last
        self._backbone.register_forward_pre_hook(self._note)
        self._optimizer = torch.optim.AdamW(self._peer.parameters(), lr=config.learning_rate)
        self.parameters = sum(weights.numel() for weights in self._peer.parameters())
        self._batch: tuple[Any, ...] = ()
        self._mark = time.perf_counter()

    def report(self, step: int, steps: int, loss: float | None, _figure: float | None) -> None:
        """The last step of the loop is validated and not counted."""
        if loss is not None and step < steps:
            self.ours.append(time.perf_counter() - self._mark)
            self._run_peer()
        self._mark = time.perf_counter()

    def _note(self, _module: Any, batch: tuple[Any, ...]) -> None:
        self._batch = batch

    def _run_peer(self) -> None:
        for mine, other in zip(self._peer.parameters(), self._backbone.parameters(), strict=True):
            mine.requires_grad_(other.requires_grad)
        self._peer.train()
        self._optimizer.zero_grad(set_to_none=True)
        start = time.perf_counter()
        scores = self._peer(*self._batch)  # [B, T, V]
        targets = torch.zeros(scores.shape[:2], dtype=torch.long, device=scores.device)
        torch.nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten()).backward()
        self.bare.append(time.perf_counter() - start)
        self._optimizer.step()
        self.with_optimizer.append(time.perf_counter() - start)


def race(options: argparse.Namespace) -> tuple[Race, ModelConfig, TrainConfig]:
    """Train for some steps, the peer beside."""
    settings = [] if options.backbone is None else [f"model.backbone={options.backbone}"]
    settings += [f"train.batch_size={options.batch}"] * (options.batch is not None)
    tables = read_settings(None, [*settings, *options.settings], options.preset)
    config = TrainConfig.from_mapping(tables["train"] | {"epochs": 1, "validate_every": 10**9})
    steps = options.steps + WARM_UP + 1
    sets, pairs = corpus(steps * config.batch_size, np.random.default_rng(0))
    model = ModelConfig.from_mapping(tables["model"])
    generator = Generator.new(model, sets, seed=0)
    running = Race(generator, config)
    training = TrainingSet(pairs, weight_order(sets, [pair.document for pair in pairs]))
    with TemporaryDirectory() as folder:
        train(generator, training, Validation([], []), config, 0, Path(folder), running.report)
    return running, model, config


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backbone", help="default: the preset's")
    parser.add_argument("--preset", default="cpu")
    parser.add_argument("--set", dest="settings", action="append", default=[])
    parser.add_argument("--batch", type=int)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()

    running, model, config = race(options)
    ours, bare, stepped = (
        np.array(times[WARM_UP:]) for times in (running.ours, running.bare, running.with_optimizer)
    )
    figures = {
        "backbone": model.backbone,
        "parameters": running.parameters,
        "threads": torch.get_num_threads(),
        "batch_size": config.batch_size,
        "steps": len(ours),
        "examples_per_second": config.batch_size / median(ours),
        "bare_examples_per_second": config.batch_size / median(bare),
        "bare_with_optimizer_per_second": config.batch_size / median(stepped),
        "share_of_bare": median(bare / ours),
        "share_of_bare_with_optimizer": median(stepped / ours),
        "target_share_of_bare": TARGET,
        "met": bool(median(bare / ours) >= TARGET),
    }
    for name, value in figures.items():
        print(f"{name:32} {value:,.2f}" if isinstance(value, float) else f"{name:32} {value}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
