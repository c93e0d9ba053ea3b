"""A system that was trained on the seen documents, searched over unseen ones and over both."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from thirty import NAMES, tables, write_bert, write_thirty
from typer.testing import CliRunner

from tsgen.baselines import _identifiers
from tsgen.baselines._identifiers import placed_ids
from tsgen.cli.main import app
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet, cache_folder_of
from tsgen.corpus.load import load
from tsgen.corpus.shards import Shard, sharded
from tsgen.docids.sequence_ids import SequenceIds
from tsgen.errors import ConfigError, DataError
from tsgen.evaluate.experiment import Experiment
from tsgen.evaluate.generalisation import (
    GrowthStep,
    forgetting,
    generalisation,
    growing,
    growth,
    reindexed_run,
)
from tsgen.evaluate.reproduce import reproduce
from tsgen.records import Hit, Run
from tsgen.retrieve.bench import Bench
from tsgen.retrieve.systems import SYSTEMS, System

SEEN = [f"d{i}" for i in range(0, 30, 2)]
UNSEEN = [f"d{i}" for i in range(1, 30, 2)]


def write_shards(folder: Path) -> Path:
    folder.mkdir()
    (folder / "seen.ids").write_text("\n".join(SEEN))
    (folder / "unseen.ids").write_text("\n".join([*UNSEEN, SEEN[0]]))  # one of both is seen
    return folder


@pytest.fixture
def shards(tmp_path: Path) -> dict[str, Shard]:
    return sharded(write_thirty(tmp_path / "thirty"), write_shards(tmp_path / "shards"))


def own_tables(tmp_path: Path, epochs: int = 3) -> dict[str, dict[str, Any]]:
    small = {"train": {"epochs": epochs, "validate_every": 100}}
    found = tables(write_bert(tmp_path / "bert"), epochs) | {"seal": {"longest": 4, **small}}
    return found | {"minder": {"longest": 4, **small}, "dsi": {"clusters": 4, "leaf": 4}}


def test_shards_are_data_sets(shards: dict[str, Shard]) -> None:
    assert {name: sum(1 for _ in shard.documents()) for name, shard in shards.items()} == {
        "seen": 15,
        "unseen": 15,
        "all": 30,
    }
    assert set(shards["unseen"].judgments("test")) == {f"q{i}" for i in range(1, 30, 2)}
    assert len({shard.fingerprint for shard in shards.values()}) == 3
    assert shards["seen"].splits == ["train", "dev", "test"]


def test_what_is_tested_on_is_no_dev_split(tmp_path: Path) -> None:
    """On MS300K the queries named dev are the test: nothing that trains may see them."""
    write_thirty(tmp_path / "thirty")
    (tmp_path / "thirty" / "qrels" / "test.tsv").unlink()
    data = load(tmp_path / "thirty")
    found = sharded(data, write_shards(tmp_path / "shards"), tested="dev")["seen"]
    assert found.splits == ["train", "test"]
    assert found.judgments("test") == {f"q{i}": {f"d{i}": 1} for i in range(0, 30, 2)}


def ranked(run: Run) -> dict[str, list[tuple[str, float]]]:
    return {q: [(hit.document_id, round(hit.score, 4)) for hit in hits] for q, hits in run.items()}


@pytest.mark.parametrize(
    "name", ["bm25", "tsgen", "genre", "ultron", "dsi", "nci", "seal", "minder"]
)
def test_the_trained_model_searches_other_documents(
    name: str, shards: dict[str, Shard], tmp_path: Path
) -> None:
    seen, system = shards["seen"], SYSTEMS.get(name)
    settings = system.settings(own_tables(tmp_path))
    cache = cache_folder_of(seen, tmp_path / "cache")
    queries = list(seen.queries().values())
    bench = Bench(seen, queries, 30, 0, cache)
    own = bench.run(system, settings)
    ids = {hit.document_id for hits in own.values() for hit in hits}
    assert ids <= set(SEEN)
    again = reindexed_run(bench, system, settings, Shard(seen, "again", set(SEEN)))
    assert ranked(again) == ranked(own)  # the model is the one that was trained
    other = reindexed_run(bench, system, settings, shards["unseen"])
    ids = {hit.document_id for hits in other.values() for hit in hits}
    assert ids
    assert ids <= set(UNSEEN)
    both = reindexed_run(bench, system, settings, shards["all"])
    ids = {hit.document_id for hits in both.values() for hit in hits}
    assert ids <= {*SEEN, *UNSEEN}
    assert len(ids) > 5
    if name == "bm25":
        assert all(other[f"q{i}"][0].document_id == f"d{i}" for i in range(1, 30, 2))
    fitted = [
        path
        for path in cache.glob(f"{name}-*")
        if "run" not in path.name and "reindexed" not in path.name
    ]
    assert len(fitted) == 1  # trained once


def test_identifiers_of_later_documents(
    shards: dict[str, Shard], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Known documents keep theirs; others go to their neighbour's leaf as long as it has room."""
    seen, every = shards["seen"], shards["all"]
    vectors = np.eye(15, dtype=np.float32)

    def of(data: DataSet, _cache: Path) -> Any:
        numbers = [int(document.id[1:]) // 2 for document in data.documents()]
        return vectors[numbers]  # d1 is nearest to d0, d3 to d2, and so on

    monkeypatch.setattr(_identifiers, "minilm_vectors", of)
    rows = [[place // 5, place % 5] for place in range(15)]
    names = [str(code) for code in range(8)]
    known = SequenceIds.of(SEEN, rows, symbols=names)
    found = placed_ids(known, seen, every, tmp_path, lambda _: range(8))
    numbers = found.document_numbers()
    got = {name: found.sequence(numbers[name]).tolist() for name in numbers}
    assert all(got[name] == row for name, row in zip(SEEN, rows, strict=True))
    assert [got[name] for name in UNSEEN[:5]] == [[0, 5], [0, 6], [0, 7], [0, 3], [0, 4]]
    assert [got[name][0] for name in UNSEEN] == [place // 5 for place in range(15)]


def test_table2_by_shards(tmp_path: Path) -> None:
    data = write_thirty(tmp_path / "thirty")
    form = {"preset": "tiny", "settings": own_tables(tmp_path, epochs=5)}
    rows = [
        {"name": "BM25", "system": "bm25", "expected": {"THIRTY": {"seen M@10": 0.5}}},
        {"name": "GENRE", "system": "genre"},
    ]
    values = {"title": "T", "kind": "seen-unseen", "forms": {"cpu": form}, "rows": rows}
    folder = write_shards(tmp_path / "shards")
    own = Experiment.from_mapping(values)
    found = reproduce(own, data, shards=folder, cache=tmp_path / "cache", limit=10)
    first, whole = found.tables
    names = [column.name for column in first.columns]
    assert names[:2] == ["seen M@10", "seen R@10"]
    assert names[-1] == "paper seen M@10"
    bm25 = dict(zip(names, first.rows[0].values, strict=True))
    assert bm25["paper seen M@10"] == 0.5
    assert bm25["all M@10"] <= max(bm25["seen M@10"], bm25["unseen M@10"])
    assert {row.group for row in whole.rows} == {"seen", "unseen", "all"}
    others = Experiment.from_mapping(values | {"rows": [{"name": "DPR", "system": "dpr"}]})
    with pytest.raises(ConfigError, match=r"'dpr' has no identifiers .* one of: bm25, dsi"):
        reproduce(others, data, shards=folder, cache=tmp_path)


def test_table3_on_the_command_line(tmp_path: Path) -> None:
    write_thirty(tmp_path / "NQ320K")
    words = ["reproduce", "table3", "--data", str(tmp_path / "NQ320K"), "--form", "paper"]
    options = ["--out", str(tmp_path / "out"), "--cache", str(tmp_path / "cache")]
    refused = CliRunner().invoke(app, [*words, *options])
    assert "expected --shards FOLDER" in str(refused.exception)
    half = str(tmp_path / "half")
    done = CliRunner().invoke(app, ["split", str(tmp_path / "NQ320K"), "--out", half])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, [*words, *options, "--shards", half])
    assert done.exit_code == 0, done.output
    values = orjson.loads((tmp_path / "out" / "table3-paper-NQ320K.json").read_bytes())
    counts = {"documents": 15, "training": 15, "validation": 15, "test": 15}
    assert values["shards"]["seen"] == counts
    assert values["shards"]["unseen"] == counts | {"training": None, "validation": None}
    assert "59,739" in (tmp_path / "out" / "table3-paper-NQ320K.md").read_text()
    assert len(NAMES) == 30


def test_bad_lists(tmp_path: Path) -> None:
    data = write_thirty(tmp_path / "thirty")
    folder = write_shards(tmp_path / "shards")
    (folder / "unseen.ids").write_text(SEEN[0])
    with pytest.raises(DataError, match=r"unseen\.ids: all of its documents are seen ones"):
        sharded(data, folder)
    (folder / "unseen.ids").unlink()
    with pytest.raises(DataError, match=r"unseen\.ids: no such file; .*tsgen split"):
        sharded(data, folder)


def test_a_collection_that_grows(tmp_path: Path) -> None:
    """Trained once on D0; what is asked, and of whom, follows the documents that are there."""
    data = write_thirty(tmp_path / "thirty")
    shards = growing(data, parts=3, first=0.4, seed=1)
    sizes = [sum(1 for _ in shard.documents()) for shard in shards]
    assert sizes == [12, 18, 24, 30]
    sets = [{document.id for document in shard.documents()} for shard in shards]
    assert all(one < other for one, other in pairwise(sets))
    system, cache = SYSTEMS.get("bm25"), cache_folder_of(shards[0], tmp_path / "cache")
    steps = growth(Bench(shards[0], [], 30, 0, cache), shards, system, system.settings({}))
    assert [step.documents for step in steps] == sizes
    assert (steps[0].added, steps[0].newest) == (None, None)
    assert [step.old for step in steps] == [1.0] * 4
    assert [step.added for step in steps[1:]] == [1.0] * 3
    assert (forgetting(steps), generalisation(steps)) == (0.0, 1.0)


def test_forgetting_is_what_is_lost_of_the_first() -> None:
    rows = [(10, 0.9, None, None), (15, 0.7, 0.2, 0.2), (20, 0.6, 0.4, 0.6)]
    steps = [GrowthStep(*row) for row in rows]
    assert forgetting(steps) == pytest.approx(0.3)
    assert generalisation(steps) == pytest.approx(0.4)


def test_hits_are_judged_by_whose_documents_a_query_asks_for(tmp_path: Path) -> None:
    """A system that answers with the first documents only loses nothing and finds nothing new."""

    class First:
        def search(self, queries: list[str], k: int) -> list[list[Hit]]:
            return [[Hit(name, -i) for i, name in enumerate(sorted(FIRST))] for _ in queries]

    data = write_thirty(tmp_path / "thirty")
    shards = growing(data, parts=2, first=0.3, seed=0)
    FIRST = {document.id for document in shards[0].documents()}
    made = System("first", StageConfig, lambda *_: None, lambda _: First())  # type: ignore[arg-type,return-value]
    made = replace(made, reindex=lambda *_: First())  # type: ignore[arg-type]
    bench = Bench(shards[0], [], 30, 0, tmp_path / "cache")
    steps = growth(bench, shards, made, StageConfig())
    assert [(step.old, step.added, step.newest) for step in steps] == [
        (1.0, None, None),
        (1.0, 0.0, 0.0),
        (1.0, 0.0, 0.0),
    ]
