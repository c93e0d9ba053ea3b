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
from tsgen.train.objective import Objective
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


def after_all_steps(
    family: str, folder: Path, config: TrainConfig, cut: int | None = None
) -> dict[str, torch.Tensor]:
    """The weights after the last step of a training in the order by weight."""
    folder.mkdir(exist_ok=True)
    one, last = generator(family), {}
    one.backbone.eval()

    def report(step: int, steps: int, *_: object) -> None:
        if step == cut:
            raise KeyboardInterrupt
        if step == steps:
            last.update({n: value.clone() for n, value in one.backbone.state_dict().items()})

    orders = weight_order(one.sets, [pair.document for pair in PAIRS])
    train(one, TrainingSet(PAIRS, orders), VALIDATION, config, 3, folder, report)
    return last


@pytest.mark.parametrize("family", ["t5", "mini-word"])
def test_gradients_of_parts_add_up_to_those_of_the_batch(family: str, tmp_path: Path) -> None:
    """Also of 8 pairs in parts of 3, and of the last batch of an epoch, which has 4."""
    whole = after_all_steps(family, tmp_path / "whole", CONFIG)
    parts = CONFIG.model_copy(update={"micro_batch": 3})
    in_parts = after_all_steps(family, tmp_path / "parts", parts)
    assert whole.keys() == in_parts.keys()
    for name, value in whole.items():
        torch.testing.assert_close(in_parts[name], value, rtol=1e-2, atol=1e-3)
    with pytest.raises(KeyboardInterrupt):
        after_all_steps(family, tmp_path / "cut", parts, cut=7)
    resumed = after_all_steps(family, tmp_path / "cut", parts)
    for name, value in in_parts.items():
        assert torch.equal(value, resumed[name]), name


def test_parts_are_computed_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    compute = Objective.__call__

    def watched(self: Objective, queries: list[str], *rest: object) -> torch.Tensor:
        sizes.append(len(queries))
        return compute(self, queries, *rest)

    monkeypatch.setattr(Objective, "__call__", watched)
    config = CONFIG.model_copy(update={"micro_batch": 3, "epochs": 1})
    after_all_steps("mini-word", tmp_path / "set", config)
    assert sorted(sizes) == [1, 1, 2, 2, 2, 3, 3, 3, 3]  # 8 = 3 + 3 + 2 twice, 4 = 2 + 1 + 1
