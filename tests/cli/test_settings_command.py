"""`tsgen settings`: every option explained, and presets complete as files."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from typer.testing import CliRunner

from tsgen import settings as page
from tsgen.cli.main import app
from tsgen.config import StageConfig, presets, read_settings
from tsgen.docids.assign import with_all_options
from tsgen.errors import ConfigError
from tsgen.retrieve.build import engine_config, index_config
from tsgen.retrieve.systems import SYSTEMS, check_tables
from tsgen.settings import engine_options, preset_options, where_presets_differ
from tsgen.synthetic.writers import WRITERS
from tsgen.train.pretraining import pretrain_config

KINDS = [
    each
    for each in vars(page).values()
    if isinstance(each, type) and issubclass(each, StageConfig) and each is not StageConfig
]


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["settings", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def resolved(config: Any) -> dict[str, Any]:
    """All settings, with those of the chosen weights and writer by default as well."""
    values = config.model_copy(update={"terms": with_all_options(config.terms)}).model_dump()
    if values.get("queries"):
        kind = WRITERS.get(values["queries"]["writer"]).config
        values["queries"]["options"] = kind.from_mapping(values["queries"]["options"]).model_dump()
    return values


def undocumented(kind: type[BaseModel]) -> list[str]:
    return [name for name, field in kind.model_fields.items() if not field.description]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_option_of_an_engine_is_explained(kind: type[BaseModel]) -> None:
    assert undocumented(kind) == []


def test_every_option_of_a_system_is_explained() -> None:
    assert {each.name: undocumented(each.config) for each in SYSTEMS.all()} == {
        name: [] for name in SYSTEMS.names()
    }


def test_all_tables_of_an_engine_with_defaults_and_presets() -> None:
    shown = run()
    for table in ("terms", "terms.words", "weigher.model", "weigher.training", "pretrained",
                  "queries", "queries.local", "model", "train", "train.favourite", "decode",
                  "search", "pseudo.noise"):  # fmt: skip
        assert f"[{table}]" in shown
    rows = json.loads(run("--json", "-"))
    assert len({(row["table"], row["name"]) for row in rows}) == len(rows) == len(engine_options())
    (beam,) = (row for row in rows if (row["table"], row["name"]) == ("decode", "beam"))
    assert (beam["value"], beam["presets"]["cpu"]) == (100, 50)
    assert "number of hypotheses" in beam["description"]


def test_some_tables_and_those_of_systems() -> None:
    shown = run("train", "bm25")
    assert "[train.favourite]" in shown
    assert "[bm25]" in shown
    assert "\n[decode]" not in shown
    with pytest.raises(ConfigError, match=r"no table \[decod\] of settings; did you mean 'decode'"):
        run("decod")


@pytest.mark.parametrize("name", sorted({*presets()} - {"pretrain", "mini"}))
def test_a_printed_preset_is_that_preset_whatever_it_is_read_over(
    name: str, tmp_path: Path
) -> None:
    file = tmp_path / "my.toml"
    file.write_text(run("--preset", name))
    check_tables(read_settings(file, []))
    expected = resolved(engine_config(read_settings(None, [], name)))
    for base in (None, *presets()):
        assert resolved(engine_config(read_settings(file, [], base))) == expected


def test_the_presets_of_other_commands(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text(run("--preset", "mini"))
    expected = resolved(index_config(read_settings(None, [], "mini")))
    assert resolved(index_config(read_settings(file, [], "cpu"))) == expected
    file.write_text(run("--preset", "pretrain"))
    check_tables(read_settings(file, []), "pseudo")
    made = resolved(pretrain_config(read_settings(None, [], "pretrain")))
    assert resolved(pretrain_config(read_settings(file, [], "cpu"))) == made


def test_tables_of_other_systems_stay_as_the_preset_has_them() -> None:
    values = {(one.table, one.name): one.value for one in preset_options("cpu")}
    assert values["dpr", "pooling"] == "mean"
    assert values["dsi.train", "epochs"] == 5
    assert values["decode", "temperature"] == 1.0  # by default


def test_what_presets_change() -> None:
    options = engine_options()
    changes = zip(options, where_presets_differ(options), strict=True)
    found = {(one.table, one.name): change for one, change in changes}
    assert found["weigher.model", "layers"]["cpu"] == 3
    assert found["decode", "early_stop"] == {}


def test_torch_is_not_imported() -> None:
    code = """
import sys
from tsgen.cli.main import app
app(["settings", "--json", "-"], standalone_mode=False)
app(["settings", "--preset", "cpu"], standalone_mode=False)
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
