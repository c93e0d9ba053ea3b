"""Sequences are learned by every family, as pieces or as free symbols, and training resumes."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tiny_models import HF, PAIRS, PIECES, TINY, VALIDATION, settings_of

from tsgen.decode.search import search
from tsgen.docids.sequence_ids import SequenceIds
from tsgen.errors import ConfigError
from tsgen.model.generator import load_backbone
from tsgen.model.mini import WEIGHTS_FILE
from tsgen.model.shipped import tsgen_mini
from tsgen.settings import ModelConfig, SequenceTrainConfig
from tsgen.train.loop import validate_by_search
from tsgen.train.sequence_generator import SequenceGenerator, new_backbone, train_sequences
from tsgen.training_loop import CURVE, LOGS, TIME, Report, schedule_by_share

CODES = [[i // 8, 8 + i % 8 // 4, 10 + i % 4] for i in range(20)]
TEXTS = [f"{PIECES[i // 8]} {PIECES[i % 8]}" if i % 3 else PIECES[i // 8] for i in range(20)]
IDS = [f"d{i}" for i in range(20)]
CONFIG = SequenceTrainConfig(
    batch_size=8, epochs=30, learning_rate=1e-2, validate_every=15, patience=9
)


def silent(*_: object) -> None:
    pass


def generator(family: str) -> SequenceGenerator:
    torch.manual_seed(0)
    kind, _, free = family.partition("-")
    backbone = HF[kind]() if kind in HF else TINY.mini(free_symbols=14 if free else None)
    if free:
        if kind in HF:
            backbone.write_free_symbols(14)
        return SequenceGenerator.of(
            backbone, SequenceIds.of(IDS, CODES, symbols=[f"c{i}" for i in range(14)])
        )

    def tokenize(texts: object) -> list[list[int]]:
        return [TINY.tokenizer()(text, add_special_tokens=False)["input_ids"] for text in texts]

    return SequenceGenerator.of(
        backbone, SequenceIds.of_texts(IDS, TEXTS, tokenize, end=3, longest=8)
    )


def run(
    family: str, folder: Path, report: Report = silent, config: SequenceTrainConfig = CONFIG
) -> tuple[SequenceGenerator, float]:
    folder.mkdir(exist_ok=True)
    one = generator(family)
    queries = [pair.query for pair in PAIRS]
    targets = one.targets([pair.document for pair in PAIRS])
    return one, train_sequences(one, queries, targets, VALIDATION, config, 3, folder, report)


@pytest.mark.parametrize("family", ["mini", "mini-free", "t5-free", "bart-free", "llama-free"])
def test_learned_saved_and_loaded(family: str, tmp_path: Path) -> None:
    one, best = run(family, tmp_path / "train")
    # Documents that share a text come together: the second of two has rank 2.
    assert best >= (0.95 if "free" in family else 0.7)
    one.backbone.save(tmp_path / "model")
    again = SequenceGenerator.of(
        load_backbone(tmp_path / "model", settings_of(one.backbone)), one.ids
    )
    found = [search(g.backbone, g.constraint, VALIDATION.queries, 5) for g in (one, again)]
    assert [[h.document for h in hits] for hits in found[0]] == [
        [h.document for h in hits] for hits in found[1]
    ]
    assert validate_by_search(again, VALIDATION, CONFIG) == best


def test_end_is_learned_and_not_shown(tmp_path: Path) -> None:
    one = generator("mini")
    assert one.targets([0, 1]).row(0).tolist() == [5, 3]
    found = search(one.backbone, one.constraint, ["q0"], 20)[0]
    short = next(hit for hit in found if hit.document == 0)
    assert short.units == (5, -1)


@pytest.mark.parametrize("at", [15, 20])
def test_interrupted_ends_in_the_same_weights(at: int, tmp_path: Path) -> None:
    def interrupt(step: int, *_: object) -> None:
        if step == at:
            raise KeyboardInterrupt

    config = CONFIG.model_copy(update={"epochs": 10})
    whole, _ = run("mini-free", tmp_path / "whole", config=config)
    with pytest.raises(KeyboardInterrupt):
        run("mini-free", tmp_path / "cut", interrupt, config)
    resumed, _ = run("mini-free", tmp_path / "cut", config=config)
    for name, value in whole.backbone.state_dict().items():
        assert torch.equal(value, resumed.backbone.state_dict()[name]), name


def test_minutes_end_the_training_and_count_over_interruptions(tmp_path: Path) -> None:
    config = CONFIG.model_copy(update={"epochs": 0, "minutes": 1.0, "validate_every": 4})
    clock = Clock()
    steps: list[int] = []

    def interrupt(step: int, *_: object) -> None:
        clock.now += 3.0  # a step takes three seconds
        steps.append(step)
        if step == 8 and steps.count(8) == 1:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tsgen.training_loop.time", clock)
        patch.setattr("tsgen.train.loop.time", clock)
        with pytest.raises(KeyboardInterrupt):
            run("mini-free", tmp_path / "x", interrupt, config)
        clock.now += 1000.0  # while nothing ran
        run("mini-free", tmp_path / "x", interrupt, config)
    curve = [json.loads(line) for line in (tmp_path / "x" / CURVE).read_text().splitlines()]
    # 24 s are over at the checkpoint of step 8; before each of the others 3 s, before step 9, too.
    assert [point["step"] for point in curve] == [0, 4, 8, 12, 16, 20]
    assert json.loads((tmp_path / "x" / LOGS / TIME).read_text())["seconds"] >= 60


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_only_the_small_decoder_adapts() -> None:
    with pytest.raises(
        ConfigError, match="adaptive = 8 with the backbone 'minilm'; expected 'mini"
    ):
        new_backbone(ModelConfig(backbone="minilm", adaptive=8), 0)


def test_sequences_start_from_what_tsgen_mini_learned_but_its_symbols() -> None:
    codes, pieces = new_backbone(ModelConfig(), 0, symbols=5), new_backbone(ModelConfig(), 0)
    flat = new_backbone(ModelConfig(backbone="mini-flat"), 0, symbols=5)
    saved = load_file(tsgen_mini() / WEIGHTS_FILE)
    learned = [name for name in saved if name.startswith(("encoder.encoder.", "layers."))]
    for name in learned:
        assert torch.equal(codes.state_dict()[name], saved[name].float())
        assert torch.equal(pieces.state_dict()[name], saved[name].float())
    assert not torch.equal(flat.state_dict()[learned[0]], saved[learned[0]].float())
    assert (codes.output_size, pieces.output_size) == (5, len(pieces.tokenizer))


def test_schedule_by_share() -> None:
    shares = (0.0, 0.1, 0.2, 0.6, 1.0, 1.1)
    assert [schedule_by_share(share, 0.2) for share in shares] == [0.0, 0.5, 1.0, 0.5, 0.0, 0.0]
    assert schedule_by_share(0.25, 0.0) == 0.75
