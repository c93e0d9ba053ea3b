"""Train a weigher that comes with the package: for documents without queries.

    python experiments/ship_weigher.py DATA [--without OTHER] [--set weigher.training.epochs=1]

DATA has documents, queries and judgments; documents that OTHER has, too, are left out, so that
nothing measured on OTHER was learned from it. What goes along is what training changed, in half
precision; its hash is checked whenever it is loaded.
"""

from argparse import ArgumentParser
from pathlib import Path

from rich.console import Console

from tsgen.artifact import open_artifact, stage
from tsgen.cli.common import progress
from tsgen.config import StageConfig, read_settings
from tsgen.corpus.dataset import DataSet, DataSetWithout, cache_folder_of
from tsgen.corpus.load import load
from tsgen.docids.assign import terms_config
from tsgen.settings import LearnedConfig
from tsgen.terms.shipped_weigher import FOLDER, KIND
from tsgen.terms.weigher import Weigher
from tsgen.terms.weigher_training import trained_weigher
from tsgen.terms.words import Splitter


def main() -> None:
    """Train, unless the cache has it, and ship."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()

    data: DataSet = load(options.data)
    if options.without:
        data = DataSetWithout(data, [load(name) for name in options.without])
    tables = read_settings(None, options.set, "cpu")
    config = LearnedConfig.from_mapping(tables["weigher"], source="[weigher]")
    splitter = Splitter(terms_config(tables).words)
    with progress():
        trained = trained_weigher(data, splitter, config, 0, cache_folder_of(data))
    made = open_artifact(trained, "weigher")
    ship(trained, {"weigher": made.key} | dict(made.inputs))
    for name, facts in open_artifact(FOLDER).files.items():
        Console().print(f"{name}  {facts.size:,} bytes  sha256 {facts.sha256}")


def ship(trained: Path, inputs: dict[str, str]) -> None:
    """Make a trained weigher the one that comes with the package."""
    work = Weigher.load(trained).save_small
    stage(FOLDER, work, kind=KIND, config=StageConfig(), inputs=inputs)


if __name__ == "__main__":
    main()
