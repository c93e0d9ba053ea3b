"""An experiment as a file: the rows of a table, each a system with settings over a preset.

    title = "…"
    kind = "quality"                  # or "seen-unseen", "shards", "efficiency", "cases"
    measures = ["M@10", "R@100"]      # by default all
    data = "NQ320K"                   # the paper's data set that a dry run without DATA is about
    star = true                       # test TSGen against the best generative baseline as well

    [forms.cpu]                       # a form is a preset, with settings over it for all rows
    preset = "cpu"
    sets.MS300K = { … }               # settings on one of the paper's data sets

    [[rows]]
    name = "without synthetic queries"
    system = "tsgen"                  # the default
    settings.queries.writer = "none"  # over the form's
    forms.paper.…                     # over these, in one form
    only = ["cpu"]                    # the forms that have the row; by default all
    expected.NQ320K = { "M@10" = 0.771 }  # the paper's figures, by its data set

The first row is what the others are tested against. `reproduce` runs an experiment, `plan` says
what that would cost.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from tsgen.config import StageConfig, merged, preset, read_toml
from tsgen.errors import ConfigError, nearest
from tsgen.evaluate.compare import with_minutes
from tsgen.evaluate.metrics import MEASURES
from tsgen.retrieve.systems import SYSTEMS, System, check_tables

HERE, SUFFIX = Path("experiments"), ".toml"
Tables = dict[str, dict[str, Any]]
Expected = dict[str, dict[str, float]]
Rows = Mapping[str, tuple[System, StageConfig]]
"""The rows of a form: name → system and settings."""


class FormSpec(StageConfig):
    """A form of the experiment: the preset of all its rows, with settings over it."""

    preset: str
    minutes: float | None = Field(None, gt=0)  # of training, the same for each row that trains
    settings: Tables = Field(default_factory=dict)
    sets: dict[str, Tables] = Field(default_factory=dict)  # below `settings`, by data set


class RowSpec(StageConfig):
    """One row of the experiment's table: a system with settings, and the paper's figures."""

    name: str = Field(pattern="^[^,]+$")  # commas are between names
    system: str = "tsgen"
    settings: Tables = Field(default_factory=dict)
    forms: dict[str, Tables] = Field(default_factory=dict)
    only: tuple[str, ...] = ()
    expected: Expected = Field(default_factory=dict)


def known_measures(names: Iterable[str]) -> tuple[str, ...]:
    """The names of measures, in the order of the tables; an unknown one is an error."""
    wanted = list(names)
    for name in wanted:
        if name not in MEASURES:
            raise ConfigError(f"no measure {name!r}; {nearest(name, MEASURES)}")
    return tuple(name for name in MEASURES if name in wanted)


class Experiment(StageConfig):
    """An experiment as its file describes it."""

    title: str
    kind: Literal["quality", "seen-unseen", "shards", "efficiency", "cases"] = "quality"
    measures: tuple[str, ...] = tuple(MEASURES)
    data: str | None = None
    star: bool = False
    forms: dict[str, FormSpec] = Field(min_length=1)
    rows: tuple[RowSpec, ...] = Field(min_length=1)

    @field_validator("measures")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        try:
            return known_measures(names)
        except ConfigError as error:
            raise ValueError(str(error)) from None

    def chosen(
        self,
        form: str,
        names: Sequence[str] = (),
        minutes: float | None = None,
        over: Mapping[str, Any] | None = None,
        known_as: str | None = None,
    ) -> dict[str, tuple[System, StageConfig]]:
        """The rows of a form, each with its system and settings.

        Every mistake in an experiment is found here, before any work.

        Args:
            form: The name of the form.
            names: Names of the rows to take; by default all.
            minutes: Minutes of training for each row that trains, in place of the form's.
            over: Tables of settings over those of every row.
            known_as: The paper's name of the data set, if it is one of the paper's.
        """
        specs = self.specs(form, names)
        budget = minutes or self.forms[form].minutes
        return {
            name: self._row(spec, form, budget, over or {}, known_as)
            for name, spec in specs.items()
        }

    def specs(self, form: str, names: Sequence[str] = ()) -> dict[str, RowSpec]:
        """The rows of a form as the file describes them, all or those of some names."""
        if form not in self.forms:
            raise ConfigError(f"no form {form!r} of {self.title!r}; {nearest(form, self.forms)}")
        rows = {row.name: row for row in self.rows if form in (row.only or self.forms)}
        for name in names:
            if name not in rows:
                raise ConfigError(f"no row {name!r} in its form {form!r}; {nearest(name, rows)}")
        wanted = names or list(rows)
        return {name: row for name, row in rows.items() if name in wanted}

    def known_as(self, name: str) -> str | None:
        """Which of the paper's data sets a name stands for, such as NQ320K for `nq320k-genret`."""
        sets = {one for row in self.rows for one in row.expected}
        sets |= {one for form in self.forms.values() for one in form.sets}
        sets |= {self.data} if self.data else set()
        return next((one for one in sorted(sets) if _letters(one) in _letters(name)), None)

    def expected(self, known_as: str | None) -> Expected:
        """The paper's figures on one of its data sets: row → measure → figure."""
        found = {row.name: row.expected.get(known_as or "", {}) for row in self.rows}
        return {name: figures for name, figures in found.items() if figures}

    def _row(
        self,
        row: RowSpec,
        form: str,
        minutes: float | None,
        over: Mapping[str, Any],
        known_as: str | None,
    ) -> tuple[System, StageConfig]:
        spec, own = self.forms[form], row.forms.get(form, {})
        tables: Mapping[str, Any] = preset(spec.preset)
        of_set = spec.sets.get(known_as or "", {})
        for each in (of_set, spec.settings, row.settings, own, over):
            tables = merged(tables, each)
        if minutes is not None:
            tables = with_minutes(tables, minutes)
        check_tables(tables)
        system = SYSTEMS.get(row.system)
        return system, system.settings(tables)


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def read_experiment(name: str) -> Experiment:
    """Read an experiment's file, by its path or by the name that it has in ./experiments or in the
    package."""
    known = _known()
    if name in known:
        return Experiment.from_mapping(read_toml(known[name]), source=f"{known[name]}")
    if Path(name).suffix == SUFFIX:
        return Experiment.from_mapping(read_toml(Path(name)), source=name)
    raise ConfigError(
        f"no experiment {name!r}; expected a TOML file or a name: {nearest(name, known)}"
    )


def _known() -> dict[str, Path]:
    """The known experiments, name → file; those of the working folder hide the package's own, which
    are beside `src` in a checkout and inside the package where it is installed."""
    package = Path(str(files("tsgen")))
    places = (package.parents[1] / HERE, package / HERE, HERE)
    return {path.stem: path for place in places for path in sorted(place.glob(f"*{SUFFIX}"))}
