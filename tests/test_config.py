"""Settings: typed, frozen, from TOML; a wrong key or value is named."""

from pathlib import Path
from typing import Self

import pytest
from pydantic import Field, ValidationError, model_validator

from tsgen.config import Option, StageConfig, preset, read_settings, read_toml, to_toml
from tsgen.errors import ConfigError


class Beam(StageConfig):
    beams: int = Field(10, ge=1)
    temperature: float = 3.0

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.beams > 100 and self.temperature > 5:
            raise ValueError("many beams need a low temperature")
        return self


def test_defaults_and_deltas() -> None:
    assert Beam.from_mapping({}) == Beam(beams=10, temperature=3.0)
    assert Beam.from_mapping({"beams": 5}) == Beam(beams=5, temperature=3.0)


def test_frozen() -> None:
    with pytest.raises(ValidationError):
        Beam().beams = 3  # type: ignore[misc]


def test_unknown_key_names_the_nearest() -> None:
    with pytest.raises(ConfigError) as error:
        Beam.from_mapping({"beam": 5}, source="beam.toml")
    expected = "beam.toml: unknown setting 'beam'; did you mean 'beams'? known: beams, temperature"
    assert str(error.value) == expected


def test_unknown_key_like_none_lists_the_known() -> None:
    with pytest.raises(ConfigError, match="unknown setting 'xyz'; known: beams, temperature"):
        Beam.from_mapping({"xyz": 5})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"beams": 0}, "beams = 0: .*greater than or equal to 1"),
        ({"beams": "many"}, "beams = 'many': .*valid integer"),
        ({"beams": 0, "temperature": []}, r"beams = 0: .*; temperature = \[\]: "),
        ({"beams": 101, "temperature": 6}, "settings: many beams need a low temperature"),
    ],
)
def test_bad_values_are_named(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Beam.from_mapping(values)


def test_from_toml_whole_file_and_table(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("beams = 2\n")
    assert Beam.from_toml(path).beams == 2
    path.write_text("[decode]\nbeams = 4\n[other]\nx = 1\n")
    assert Beam.from_toml(path, section="decode").beams == 4
    assert Beam.from_toml(path, section="absent") == Beam()


def test_bad_table_is_named(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("decode = 3\n[other]\nbeems = 1\n")
    with pytest.raises(ConfigError, match=r"decode = 3; expected a table \[decode\]"):
        Beam.from_toml(path, section="decode")
    with pytest.raises(ConfigError, match=r"settings\.toml \[other\]: unknown setting 'beems'"):
        Beam.from_toml(path, section="other")


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"a = 1\nb = = 2\n", "not valid TOML: .*line 2"), (b"a = '\xff'", "not valid TOML")],
)
def test_broken_toml_names_the_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        read_toml(path)


def test_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.toml: No such file.*expected a TOML file"):
        read_toml(tmp_path / "absent.toml")
    with pytest.raises(ConfigError, match="Is a directory"):
        read_toml(tmp_path)


class Search(StageConfig):
    beam: Beam = Beam()
    plan: Beam | None = None


@pytest.mark.parametrize("part", ["beam", "plan"])
def test_unknown_key_in_a_table_names_the_nearest_there(part: str) -> None:
    with pytest.raises(ConfigError) as error:
        Search.from_mapping({part: {"temprature": 1}})
    assert f"unknown setting '{part}.temprature'; did you mean 'temperature'?" in str(error.value)


def test_assignments_go_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("[a]\nx = 1\ny = 2\n[a.deep]\nz = 3\n")
    assignments = ["a.y=2.5", "a.deep.z = [1, 2]", "a.deep.w=true", "b.name=german", 'b.q="4"']
    assert read_settings(path, assignments) == {
        "a": {"x": 1, "y": 2.5, "deep": {"z": [1, 2], "w": True}},
        "b": {"name": "german", "q": "4"},
    }
    assert read_settings(None, []) == {}
    with pytest.raises(ConfigError, match="x = 1 is a value, not a table"):
        read_settings(path, ["a.x.y=1"])


def test_unset_stands_for_none(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('[a]\nx = "unset"\n[a.deep]\ny = "unset"\nz = "set"\n')
    assert read_settings(path, ["a.w=unset", 'a.v="unset"']) == {
        "a": {"x": None, "w": None, "v": None, "deep": {"y": None, "z": "set"}}
    }


@pytest.mark.parametrize("value", [True, 3, 1e-05, 'a "b" ü', ["x", "y"], [], None])
def test_values_are_written_as_toml_reads_them(value: object, tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(to_toml([Option("a.b", "x", value, "What it does. " * 20)]))
    assert read_settings(path, []) == {"a": {"b": {"x": value}}}


@pytest.mark.parametrize("assignment", ["", "k1=3", "bm25.k1", "bm25.=3", ".k1=3", "a..b=3"])
def test_assignment_of_another_form(assignment: str) -> None:
    with pytest.raises(ConfigError, match=r"expected section\.key=value, e\.g\. bm25\.k1=1\.2"):
        read_settings(None, [assignment])


def test_settings_file_needs_tables(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("k1 = 3\n")
    with pytest.raises(ConfigError, match=r"k1 = 3; expected tables like \[k1\]"):
        read_settings(path, [])


def test_a_file_goes_over_the_preset_table_by_table(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[weigher.training]\nepochs = 7\n")
    settings = read_settings(file, ["weigher.training.negatives=5"], base="cpu")
    expected = preset("cpu")
    expected["weigher"]["training"] |= {"epochs": 7, "negatives": 5}
    assert settings == expected


def test_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'cpu'"):
        preset("cpuu")
