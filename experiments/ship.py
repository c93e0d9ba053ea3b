"""Make a pre-trained generator the one that comes with the package.

    python experiments/ship.py FOLDER

FOLDER is what `tsgen pretrain` wrote. What goes along is what training changed, in half precision;
its hash is checked whenever it is loaded.
"""

import sys
from pathlib import Path

from rich.console import Console

from tsgen.artifact import open_artifact
from tsgen.model.shipped import FOLDER, ship
from tsgen.train.iterate import MODEL
from tsgen.train.pretraining import KIND


def main(pretrained: Path) -> None:
    """Ship the model of one pre-training."""
    made = open_artifact(pretrained, KIND)
    ship(pretrained / MODEL, {"pretrained": made.key} | dict(made.inputs))
    for name, facts in open_artifact(FOLDER).files.items():
        Console().print(f"{name}  {facts.size:,} bytes  sha256 {facts.sha256}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
