"""Run by torchrun: trains in every process, keeps each one's weights, then runs `tsgen …`."""

import sys
from pathlib import Path

from safetensors.torch import save_file
from tiny_models import PAIRS, VALIDATION, generator

from tsgen import parallel as processes
from tsgen.__main__ import run
from tsgen.model.generator import Generator
from tsgen.settings import TrainConfig
from tsgen.train.examples import weight_order
from tsgen.train.loop import TrainingSet, train

CONFIG = TrainConfig(batch_size=8, epochs=4, learning_rate=1e-2, validate_every=5, patience=9)
LAST = 12


def trained(folder: Path, keep: Path, micro: int = 0, cut: int | None = None) -> Generator:
    """Train, and keep the weights after the last step, before the best ones are put back.

    Args:
        folder: where checkpoints go.
        keep: where the weights go.
        micro: pairs that are computed at once.
        cut: the step after which the training is interrupted, to go on from its checkpoint.
    """
    folder.mkdir(exist_ok=True)
    one = generator("mini-word")

    def report(step: int, *_: object) -> None:
        if step == cut:
            raise KeyboardInterrupt
        if step == LAST:
            weights = {name: value.clone() for name, value in one.backbone.state_dict().items()}
            save_file(weights, keep)

    orders = weight_order(one.sets, [pair.document for pair in PAIRS])
    config = CONFIG.model_copy(update={"micro_batch": micro})
    try:
        train(one, TrainingSet(PAIRS, orders), VALIDATION, config, 3, folder, report)
    except KeyboardInterrupt:
        return trained(folder, keep, micro)
    return one


if __name__ == "__main__":
    work, *arguments = sys.argv[1:]
    own = Path(work) / f"rank-{processes.rank()}"
    own.mkdir()
    trained(own, own / "last.safetensors")
    trained(own / "parts", own / "parts.safetensors", micro=3)
    trained(own / "cut", own / "cut.safetensors", micro=3, cut=7)
    sys.argv[1:] = arguments
    run()
