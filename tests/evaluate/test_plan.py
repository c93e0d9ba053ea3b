"""A dry run says what would be done, what is done, and what the rest costs."""

from pathlib import Path
from typing import Any

import orjson
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import BertConfig, T5Config, T5ForConditionalGeneration
from typer.testing import CliRunner

from fitted import settings, write_bert, write_foods
from tsgen.cli.main import app
from tsgen.config import read_settings
from tsgen.corpus.load import load
from tsgen.errors import ConfigError
from tsgen.evaluate.experiment import Experiment, read_experiment
from tsgen.evaluate.flops import QUERY_TOKENS, SHAPES, configured, shape_of, training
from tsgen.evaluate.plan import Plan
from tsgen.evaluate.reproduce import dry_run, reproduce

TABLES = [f"table{number}" for number in range(1, 8)]


def t5_base() -> T5Config:
    return T5Config(d_model=768, d_ff=3072, d_kv=64, num_layers=12, num_heads=12)


def test_known_shapes_are_those_of_the_configurations() -> None:
    base, known = configured(t5_base()), SHAPES["google-t5/t5-base"]
    assert base.encoder == pytest.approx(known.encoder, rel=0.01)
    assert base.decoder == pytest.approx(known.decoder, rel=0.01)
    assert (base.width, base.layers, base.vocabulary) == (768, 12, 32128)
    assert base.weights == pytest.approx(222.9e6, rel=0.01)  # what T5's paper says: 220 million
    bert = configured(BertConfig())
    assert bert.encoder == pytest.approx(SHAPES["bert-base-uncased"].encoder, rel=0.02)
    assert shape_of("some/unknown-model") is None


def test_the_shape_of_a_folder(tmp_path: Path) -> None:
    T5Config(d_model=32, d_ff=64, d_kv=8, num_layers=1, num_heads=4, vocab_size=90).save_pretrained(
        tmp_path
    )
    shape = shape_of(str(tmp_path))
    assert shape is not None
    assert (shape.width, shape.layers, shape.vocabulary) == (32, 1, 90)


def test_the_formula_is_what_torch_counts() -> None:
    """Of a training step of a T5, forward and backward."""
    config = T5Config(
        d_model=64,
        d_ff=256,
        d_kv=16,
        num_layers=3,
        num_heads=4,
        vocab_size=500,
        dropout_rate=0.0,
        decoder_start_token_id=0,
        pad_token_id=0,
    )
    model, pairs, tokens = T5ForConditionalGeneration(config), 5, 26
    ids = torch.randint(3, 500, (pairs, QUERY_TOKENS))
    with FlopCounterMode(display=False) as counter:
        model(input_ids=ids, labels=torch.randint(3, 500, (pairs, tokens))).loss.backward()
    counted = counter.get_total_flops()
    estimated = training(configured(config), pairs, tokens, pairs).flops
    assert estimated == pytest.approx(counted, rel=0.25)


@pytest.mark.parametrize("name", TABLES)
def test_every_row_is_planned_without_data(name: str) -> None:
    found = dry_run(name)
    specs = read_experiment(name).specs("paper")
    assert list(found.rows) == list(specs)
    labels = [row.label for row in found.table().rows]
    assert labels == list(specs)
    for row, stages in found.rows.items():
        assert stages, row
        assert not any(stage.done for stage in stages)


def test_what_rows_share_is_counted_once() -> None:
    found = dry_run("table6")
    every = sum(stage.spent.flops for stages in found.rows.values() for stage in stages)
    left = sum(stage.spent.flops for stage in found.left())
    assert left < every / 2
    both = found.rows["N = 8"], found.rows["N = 16"]
    shared = {stage.key for stage in both[0]} & {stage.key for stage in both[1]}
    names = {stage.name for stage in both[0] if stage.key in shared}
    assert names == {"weigher", "weighing documents", "synthetic queries"}
    assert {s.key for s in found.rows["N = 12"]} == {s.key for s in found.rows["term set"]}


def test_the_cost_follows_the_settings() -> None:
    def flops(name: str = "term set", **more: Any) -> dict[str, float]:
        rows = dry_run("table6", rows=[name], **more).rows[name]
        return {stage.name: stage.spent.flops for stage in rows}

    usual = flops()
    epochs = flops(settings={"train": {"epochs": 40}})
    assert epochs["iteration 1"] == pytest.approx(2 * usual["iteration 1"], rel=0.05)
    assert flops("beam 200")["tsgen"] == pytest.approx(2 * usual["tsgen"], rel=0.01)
    without = flops("without synthetic queries")
    assert "synthetic queries" not in without
    assert without["iteration 1"] < usual["iteration 1"] / 3
    assert flops("TSGen large")["iteration 1"] > 3 * usual["iteration 1"]
    fast, slow = (dry_run("table6", tflops=t).left() for t in (200, 100))
    assert sum(s.hours(200) for s in fast) == pytest.approx(sum(s.hours(100) for s in slow) / 2)
    minutes = dry_run("table1", rows=["DPR"], minutes=90).rows["DPR"]
    assert sum(stage.hours(100) for stage in minutes) == 1.5


def test_seeds_have_stages_of_their_own() -> None:
    one, three = (dry_run("table5", rows=["DSI"], seeds=seeds) for seeds in ([0], [0, 1, 2]))
    assert len(three.left()) == 3 * len(one.left())


def test_sizes_are_of_a_paper_set_or_of_the_data() -> None:
    small, large = (
        dry_run("table1", known_as=name, rows=["TSGen"]) for name in ("NQ320K", "MS300K")
    )
    named = {stage.name: stage.spent.flops for stage in small.rows["TSGen"]}
    others = {stage.name: stage.spent.flops for stage in large.rows["TSGen"]}
    assert others["iteration 1"] < named["iteration 1"]  # three synthetic queries, not ten
    with pytest.raises(ConfigError, match=r"no --data, and .* none of the paper's data sets"):
        dry_run("hybrid", form="cpu")


def stages(found: Plan) -> dict[str, bool]:
    return {stage.name: stage.done for stage in found.rows["set"]}


def test_finished_stages_are_found(tmp_path: Path) -> None:
    """All of an engine's stages are done after a run, and the right ones with other settings."""
    folder = write_foods(tmp_path / "set", "train", "dev", "test")
    bert = write_bert(tmp_path / "bert")
    given = [*settings(bert, epochs=1), "train.iterations=2", "queries.writer=extractive"]
    tables = read_settings(None, [*given, "queries.n=2", "terms.weights=learned"])
    tables["weigher"] = {"model": {"encoder": str(bert), "window": 32, "overlap": 8, "layers": 1}}
    forms = {"cpu": {"preset": "tiny", "settings": tables}}
    own = Experiment.from_mapping({"title": "Own", "forms": forms, "rows": [{"name": "set"}]})
    data, cache = load(folder), tmp_path / "cache"
    asked: dict[str, Any] = {"form": "cpu", "cache": cache}
    before = dry_run(own, data, **asked)
    assert not any(stages(before).values())
    reproduce(own, data, **asked)
    after = dry_run(own, data, **asked)
    assert stages(after) == dict.fromkeys(stages(before), True)
    assert not after.left()
    trained = dry_run(own, data, settings={"decode": {"beam": 7}}, **asked)
    assert stages(trained) == dict.fromkeys(stages(before), True) | {"tsgen": False}
    longer = stages(dry_run(own, data, settings={"train": {"epochs": 2}}, **asked))
    assert (longer["weigher"], longer["synthetic queries"], longer["term sets"]) == (True,) * 3
    assert (longer["iteration 1"], longer["iteration 2"]) == (False, False)
    other = stages(dry_run(own, data, settings={"terms": {"n": 3}}, **asked))
    assert (other["weigher"], other["term sets"], other["iteration 1"]) == (True, False, False)
    assert not any(stages(dry_run(own, data, seeds=[1], **asked)).values())


def test_on_the_command_line(tmp_path: Path) -> None:
    figures = tmp_path / "plan.json"
    words = ["reproduce", "table5", "--form", "paper", "--dry-run", "--json", str(figures)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "GPU hours" in done.stdout
    assert "MINDER" in done.stdout
    values = orjson.loads(figures.read_bytes())
    assert values["rows"]["NCI"]["paper"]["MB of identifiers"] == 12
    assert values["rows"]["NCI"]["stages"][-1]["name"] == "nci"
    refused = CliRunner().invoke(app, ["reproduce", "table5", "--form", "paper"])
    assert isinstance(refused.exception, ConfigError)
    assert "no --data" in str(refused.exception)
