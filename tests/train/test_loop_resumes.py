"""Training that is interrupted ends in the same weights and the same learning curve."""

from pathlib import Path

import pytest
import torch
from tiny_models import PAIRS, VALIDATION, generator

from tsgen.artifact import LOGS
from tsgen.model.generator import Generator
from tsgen.settings import TrainConfig
from tsgen.train.examples import at_random, weight_order
from tsgen.train.loop import TrainingSet, train
from tsgen.training_loop import CURVE, Report, remove_checkpoint, schedule, training_seconds

CONFIG = TrainConfig(batch_size=8, epochs=4, learning_rate=1e-2, validate_every=5, patience=9)


def silent(step: int, steps: int, loss: float | None, figure: float | None) -> None:
    pass


def run(family: str, folder: Path, report: Report, config: TrainConfig = CONFIG) -> Generator:
    folder.mkdir(exist_ok=True)
    one = generator(family)
    orders = weight_order(one.sets, [pair.document for pair in PAIRS])
    train(one, TrainingSet(PAIRS, orders, at_random), VALIDATION, config, 3, folder, report)
    return one


@pytest.mark.parametrize("family", ["t5", "mini-word"])
@pytest.mark.parametrize("at", [5, 7])  # at a checkpoint, and two steps after it
def test_same_weights(family: str, at: int, tmp_path: Path) -> None:
    def interrupt(step: int, *_: object) -> None:
        if step == at:
            raise KeyboardInterrupt

    whole = run(family, tmp_path / "whole", silent)
    with pytest.raises(KeyboardInterrupt):
        run(family, tmp_path / "cut", interrupt)
    resumed = run(family, tmp_path / "cut", silent)
    for name, value in whole.backbone.state_dict().items():
        assert torch.equal(value, resumed.backbone.state_dict()[name]), name
    curves = [(tmp_path / name / CURVE).read_text() for name in ("whole", "cut")]
    assert curves[0] == curves[1]
    assert curves[0].count("\n") == 4  # before training, after 5, 10 and all 12 steps


def test_patience(tmp_path: Path) -> None:
    steps: list[int] = []
    config = CONFIG.model_copy(
        update={"learning_rate": 1e-12, "epochs": 50, "patience": 2, "weight_decay": 0.0}
    )
    run("mini-word", tmp_path, lambda step, *_: steps.append(step), config)
    assert steps[-1] == 10
    remove_checkpoint(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [CURVE, LOGS]
    assert training_seconds(tmp_path) > 0


def test_schedule() -> None:
    assert [schedule(step, 10, 0.2) for step in (0, 1, 2, 9)] == [0.5, 1.0, 1.0, 0.125]
