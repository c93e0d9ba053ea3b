"""A few hundred inputs that no one should give; the long run is benchmarks/fuzz_inputs.py."""

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from living import DOCUMENTS, write_engine
from tsgen.retrieve.engine import Engine

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from fuzzing_kit.doors import Door, doors, outcome

FEW = 20  # for each door
NAMES = "corpus.jsonl corpus.csv corpus.tsv collection.tsv corpus_lite.json topics.txt".split()
NAMES += "queries.jsonl qrels.tsv run.txt settings.toml set.toml note.md texts settings".split()
NAMES += ["filter", "words", "query", "engine"]


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Door]]:
    folder = write_engine(tmp_path_factory.mktemp("fuzzed"), DOCUMENTS)
    with Engine.load(folder) as engine:
        yield {door.name: door for door in doors(engine)}


def test_every_door_is_here(every: dict[str, Door]) -> None:
    assert sorted(every) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_broken_inputs_are_read_or_refused(
    name: str, every: dict[str, Door], tmp_path: Path
) -> None:
    found = set()
    for number in range(FEW):
        (tmp_path / str(number)).mkdir()
        data = every[name].input(random.Random(number))
        data = data[:30] if name == "query" else data  # the tiny model reads 40 tokens
        found.add(outcome(every[name], data, tmp_path / str(number)))
    assert found <= {"read", "refused"}
