"""An experiment as a file: the rows of a table, each a system with settings over a preset.

    title = "…"
    kind = "quality"                  # or "seen-unseen", "efficiency", "cases"

    [forms.cpu]                       # a form is a preset, with settings over it for all rows
    preset = "cpu"

    [[rows]]
    name = "without synthetic queries"
    system = "tsgen"                  # the default
    settings.queries.writer = "none"  # over the form's
    forms.paper.…                     # over these, in one form
    only = ["cpu"]                    # the forms that have the row; by default all

The first row is what the others are tested against.
"""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from tsgen.config import StageConfig, merged, preset, read_toml
from tsgen.errors import ConfigError, nearest
from tsgen.evaluate.budget import with_minutes
from tsgen.retrieve.registry import System, check_tables, system

HERE, SUFFIX = Path("experiments"), ".toml"
Tables = dict[str, dict[str, Any]]


class FormSpec(StageConfig):
    """What all rows have in common in one form of the experiment."""

    preset: str
    minutes: float | None = Field(None, gt=0)  # of training, the same for each row that trains
    settings: Tables = Field(default_factory=dict)


class RowSpec(StageConfig):
    """One row of the table."""

    name: str = Field(pattern="^[^,]+$")  # commas are between names
    system: str = "tsgen"
    settings: Tables = Field(default_factory=dict)
    forms: dict[str, Tables] = Field(default_factory=dict)
    only: tuple[str, ...] = ()


class Experiment(StageConfig):
    """What a file says."""

    title: str
    kind: Literal["quality", "seen-unseen", "efficiency", "cases"] = "quality"
    forms: dict[str, FormSpec] = Field(min_length=1)
    rows: tuple[RowSpec, ...] = Field(min_length=1)

    def chosen(
        self, form: str, names: Sequence[str] = (), minutes: float | None = None
    ) -> dict[str, tuple[System, StageConfig]]:
        """The rows of a form by name, or those of some names, each with its system and settings;
        every mistake is found here, before any work. `minutes` are those of training for each row
        that trains, in place of the form's."""
        if form not in self.forms:
            raise ConfigError(f"no form {form!r} of {self.title!r}; {nearest(form, self.forms)}")
        rows = {row.name: row for row in self.rows if form in (row.only or self.forms)}
        for name in names:
            if name not in rows:
                raise ConfigError(f"no row {name!r} in its form {form!r}; {nearest(name, rows)}")
        wanted = names or list(rows)
        budget = minutes or self.forms[form].minutes
        return {name: self._row(rows[name], form, budget) for name in rows if name in wanted}

    def _row(self, row: RowSpec, form: str, minutes: float | None) -> tuple[System, StageConfig]:
        tables: Mapping[str, Any] = preset(self.forms[form].preset)
        for over in (self.forms[form].settings, row.settings, row.forms.get(form, {})):
            tables = merged(tables, over)
        if minutes is not None:
            tables = with_minutes(tables, minutes)
        check_tables(tables)
        each = system(row.system)
        return each, each.settings(tables)


def read_experiment(name: str) -> Experiment:
    """A file by its path; or by its name, in ./experiments or among those of the package."""
    known = _known()
    if name in known:
        return Experiment.from_mapping(read_toml(known[name]), source=f"{known[name]}")
    if Path(name).suffix == SUFFIX:
        return Experiment.from_mapping(read_toml(Path(name)), source=name)
    raise ConfigError(
        f"no experiment {name!r}; expected a TOML file or a name: {nearest(name, known)}"
    )


def _known() -> dict[str, Path]:
    """Name → file; those of the working folder go first. In a checkout the package's are beside
    `src`; in an installed package they are inside it."""
    package = Path(str(files("tsgen")))
    places = (package.parents[1] / HERE, package / HERE, HERE)
    return {path.stem: path for place in places for path in sorted(place.glob(f"*{SUFFIX}"))}
