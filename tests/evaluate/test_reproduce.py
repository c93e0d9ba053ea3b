"""Experiments from their files to results, with toy systems and with an engine."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from fitted import settings, write_bert, write_foods
from toy import write_beir
from tsgen.cli.main import app
from tsgen.config import StageConfig, read_settings, read_toml
from tsgen.corpus.load import load
from tsgen.errors import ConfigError, DataError
from tsgen.evaluate.experiment import Experiment, read_experiment
from tsgen.evaluate.reproduce import reproduce
from tsgen.records import Hit
from tsgen.retrieve.systems import SYSTEMS, System

TABLES = ("table1", "table2", "table3", "table4", "table5", "table6", "table7")
ANIMALS = {"d1": "cat", "d2": "dog", "d3": "cow", "d4": "hen"}
QUERIES = {"q1": "cat", "q2": "dog", "q3": "cow", "q4": "hen", "t1": "my cat", "t2": "my dog"}


class ToyConfig(StageConfig):
    answer: str = "d1"


class Toy:
    """Answers every query with the same document."""

    fitted: list[str]

    def __init__(self, folder: Path) -> None:
        self._answer = (folder / "answer").read_text()

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return [[Hit(self._answer, 1.0)] for _ in queries]

    @staticmethod
    def fit(_data: Any, config: ToyConfig, _seed: int, folder: Path) -> None:
        Toy.fitted.append(config.answer)
        (folder / "answer").write_text(config.answer)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    Toy.fitted = []
    monkeypatch.setitem(SYSTEMS._entries, "toy", System("toy", ToyConfig, Toy.fit, Toy))  # type: ignore[arg-type]
    test = [("q1", "d1"), ("q2", "d2"), ("q3", "d3"), ("q4", "d4")]
    train = [("t1", "d1"), ("t2", "d2")]
    return write_beir(tmp_path / "animals", ANIMALS, QUERIES, train=train, test=test)


def experiment(**values: Any) -> Experiment:
    rows = [
        {"name": "lexical", "system": "bm25"},
        {"name": "cats", "system": "toy"},
        {"name": "cows", "system": "toy", "settings": {"toy": {"answer": "d3"}}},
        {"name": "hens", "system": "toy", "forms": {"other": {"toy": {"answer": "d4"}}}},
        {"name": "only", "system": "toy", "only": ["other"]},
    ]
    forms = {
        "cpu": {"preset": "tiny"},
        "other": {"preset": "tiny", "settings": {"bm25": {"k1": 1}}},
    }
    return Experiment.from_mapping({"title": "Toys", "forms": forms, "rows": rows} | values)


def test_rows_are_settings_over_settings() -> None:
    Toy.fitted = []
    SYSTEMS.register(System("toy", ToyConfig, Toy.fit, Toy))  # type: ignore[arg-type]
    try:
        cpu, other = experiment().chosen("cpu"), experiment().chosen("other")
        assert list(cpu) == ["lexical", "cats", "cows", "hens"]
        assert [cpu[name][1].answer for name in ("cats", "cows", "hens")] == ["d1", "d3", "d1"]  # type: ignore[attr-defined]
        assert other["hens"][1].answer == "d4"  # type: ignore[attr-defined]
        assert other["lexical"][1].k1 == 1  # type: ignore[attr-defined]
        assert list(experiment().chosen("other", ["only", "cats"])) == ["cats", "only"]
    finally:
        del SYSTEMS._entries["toy"]


def test_figures_and_cache(folder: Path, tmp_path: Path) -> None:
    data, cache = load(folder), tmp_path / "cache"
    first = reproduce(experiment(), data, rows=["lexical", "cows"], cache=cache)
    assert Toy.fitted == ["d3"]
    (table,) = first.tables
    assert [column.name for column in table.columns][-1] == "minutes"
    by_row = {(row.label, row.group): row.values[1] for row in table.rows}
    assert by_row["cows", "all"] == 0.25
    assert by_row["cows", "unseen"] == 0.5
    assert first.series["seen"] == {"lexical": 1.0, "cows": 0.0}
    assert set(first.figures["minutes"]) == {"lexical", "cows"}
    reproduce(experiment(), data, cache=cache)
    assert Toy.fitted == ["d3", "d1"]  # cats and hens are the same, cows were there


def test_seen_and_unseen(folder: Path, tmp_path: Path) -> None:
    found = reproduce(experiment(kind="seen-unseen"), load(folder), cache=tmp_path / "cache")
    first, _ = found.tables
    values = {row.label: dict(zip((c.name for c in first.columns), row.values, strict=True))
              for row in first.rows}  # fmt: skip
    assert values["cows"]["unseen M@10"] == 0.5
    assert set(found.series) == {"seen", "unseen"}


def test_seeds_settings_and_measures(folder: Path, tmp_path: Path) -> None:
    """Every seed is fitted once; figures are means, with their deviation beside them."""
    monkey = {"toy": {"answer": "d2"}}
    asked: dict[str, Any] = {"rows": ["cats"], "cache": tmp_path / "cache", "settings": monkey}
    found = reproduce(experiment(), load(folder), seeds=[0, 1, 2], measures=["R@10"], **asked)
    assert Toy.fitted == ["d2"] * 3
    (table,) = found.tables
    names = [column.name for column in table.columns]
    assert names == ["n", "R@10", "± R@10", "minutes"]
    by_group = {row.group: row.values[:3] for row in table.rows}
    assert by_group["all"] == [4, 0.25, 0.0]
    assert found.figures["seeds"] == [0, 1, 2]
    assert found.axis == "R@10"
    reproduce(experiment(), load(folder), seeds=[1, 3], **asked)
    assert Toy.fitted == ["d2"] * 4  # seed 1 is in the cache, whatever the measures


def test_deviations_are_those_of_the_seeds(folder: Path, tmp_path: Path) -> None:
    class Lucky(Toy):
        """Answers by its seed."""

        @staticmethod
        def fit(_data: Any, config: ToyConfig, seed: int, folder: Path) -> None:
            (folder / "answer").write_text("d1" if seed else "nothing")

    SYSTEMS._entries["toy"] = System("toy", ToyConfig, Lucky.fit, Toy)  # type: ignore[arg-type]
    found = reproduce(
        experiment(), load(folder), rows=["cats"], seeds=[0, 1], cache=tmp_path, measures=["R@1"]
    )
    (table,) = found.tables
    by_group = {row.group: row.values[:3] for row in table.rows}
    assert by_group["all"] == [4, 0.125, pytest.approx(0.25 / 2**0.5)]


def test_the_papers_figures_stand_beside_ones_own(folder: Path, tmp_path: Path) -> None:
    rows = [
        {"name": "cats", "system": "toy", "expected": {"ANIMALS": {"M@10": 0.5}}},
        {"name": "cows", "system": "toy", "settings": {"toy": {"answer": "d3"}}},
    ]
    own = experiment(rows=rows, measures=["M@10", "R@1"])
    found = reproduce(own, load(folder), cache=tmp_path / "cache")
    (table,) = found.tables
    assert [column.name for column in table.columns][-2:] == ["paper M@10", "minutes"]
    by_row = {(row.label, row.group): row.values[-2] for row in table.rows}
    assert by_row["cats", "all"] == 0.5
    assert by_row["cats", "seen"] is None
    assert by_row["cows", "all"] is None
    other = reproduce(own, load(folder), cache=tmp_path / "cache", known_as="PLANTS")
    assert "paper M@10" not in [column.name for column in other.tables[0].columns]


def test_settings_of_a_data_set() -> None:
    """Three synthetic queries on MS300K, ten on NQ320K; --set goes over both."""
    table = read_experiment("table1")
    n = {
        name: table.chosen("paper", ["TSGen"], known_as=name)["TSGen"][1].queries.n  # type: ignore[attr-defined]
        for name in ("NQ320K", "MS300K")
    }
    assert n == {"NQ320K": 10, "MS300K": 3}
    over = {"queries": {"n": 2}}
    config = table.chosen("paper", ["TSGen"], over=over, known_as="MS300K")["TSGen"][1]
    assert config.queries.n == 2  # type: ignore[attr-defined]
    assert table.known_as("ms-300k") == "MS300K"
    assert table.known_as("kitchen") is None
    scale = read_experiment("table4").chosen("paper")
    assert scale["DSI + DocT5 × 40"][1].queries.n == 40  # type: ignore[attr-defined]
    config = scale["TSGen"][1]
    assert (config.queries.n, config.terms.n, config.train.pairs.judged) == (1, 16, False)  # type: ignore[attr-defined]


def test_only_some_tables_have_the_papers_star() -> None:
    assert {name for name in TABLES if read_experiment(name).star} == {"table1", "table2", "table4"}


def test_unknown_measures(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no measure 'M@1'; did you mean"):
        reproduce(experiment(), load(folder), measures=["M@1"], cache=tmp_path)
    with pytest.raises(ConfigError, match=r"no measure 'MRR'"):
        experiment(measures=["MRR"])


def test_efficiency(folder: Path, tmp_path: Path) -> None:
    found = reproduce(experiment(kind="efficiency"), load(folder), cache=tmp_path / "cache")
    assert [row.label for row in found.tables[0].rows] == ["lexical", "cats", "cows", "hens"]
    assert all(value > 0 for values in found.series.values() for value in values.values())


@pytest.mark.parametrize(
    ("form", "rows", "message"),
    [
        ("gpu", [], "no form 'gpu' of 'Toys'"),
        ("cpu", ["cat"], "no row 'cat' in its form 'cpu'; did you mean 'cats'"),
        ("cpu", ["only"], "no row 'only'"),
    ],
)
def test_mistakes_are_found_first(
    folder: Path, tmp_path: Path, form: str, rows: list[str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        reproduce(experiment(), load(folder), form=form, rows=rows, cache=tmp_path / "cache")
    assert Toy.fitted == []


def test_cases_are_those_of_engines(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected rows with the system tsgen"):
        reproduce(experiment(kind="cases"), load(folder), rows=["cats"], cache=tmp_path / "cache")


@pytest.mark.parametrize("name", TABLES)
def test_every_table_has_both_forms(name: str) -> None:
    read = read_experiment(name)
    assert set(read.forms) == {"cpu", "paper"} | ({"small"} if name == "table6" else set())
    for form in read.forms:
        names = [row.name for row in read.rows if form in (row.only or read.forms)]
        assert list(read.chosen(form)) == names


def test_the_recipe_changes_one_thing_at_a_time() -> None:
    rows = read_experiment("recipe").chosen("cpu")
    first = rows.pop("the preset")[1].model_dump(mode="json")
    for name, (_, config) in rows.items():
        values = config.model_dump(mode="json")
        assert sum(values[table] != first[table] for table in first) == 1, name


def test_all_of_them_come_with_the_package() -> None:
    root = Path(__file__).parents[2]
    build = read_toml(root / "pyproject.toml")["tool"]["hatch"]["build"]["targets"]["wheel"]
    found = sorted(path.name for path in (root / "experiments").glob("*.toml"))
    assert build["force-include"] == {f"experiments/{n}": f"tsgen/experiments/{n}" for n in found}


@pytest.mark.parametrize("form", ["cpu", "small"])
def test_table6_changes_one_thing_at_a_time(form: str) -> None:
    rows = read_experiment("table6").chosen(form)
    first = rows.pop("term set")[1].model_dump(mode="json")
    for name, (system, config) in rows.items():
        if system.name != "tsgen":
            continue
        values = config.model_dump(mode="json")
        changed = {table for table in first if values[table] != first[table]}
        assert len(changed) <= 2, (name, changed)
        assert changed or name in ("N = 12", "two iterations", "beam 100")


def test_the_set_and_the_sequence_stand_side_by_side_in_every_form() -> None:
    """In the recipe's form beside a set that has no more help than the sequence."""
    for form, other in (("cpu", "term set from the beam alone"), ("small", "one iteration")):
        rows = read_experiment("table6").chosen(form, [other, "as a sequence"])
        one, sequence = (rows[name][1].model_dump() for name in (other, "as a sequence"))
        assert sequence["decode"] == one["decode"] | {"in_order": True}
        assert sequence["terms"] == one["terms"]
        assert sequence["model"] == one["model"]
        assert sequence["train"]["loss"] == "seq2seq"
        assert sequence["train"]["order"] == "weight"


def test_the_small_form_is_the_papers_method() -> None:
    """What differs from the form `paper` is the size of things, not what is done."""
    table = read_experiment("table6")
    small, paper = (table.chosen(form, ["term set"])["term set"][1] for form in ("small", "paper"))
    one, other = small.model_dump(), paper.model_dump()
    assert one["decode"] == other["decode"] | {"normalise": "docid"}
    assert one["terms"]["words"] == other["terms"]["words"]
    sizes = "batch_size epochs learning_rate encoder_learning_rate freeze_embeddings normalise"
    sizes += " validate_every validation_queries validation"
    differ = {name for name, value in one["train"].items() if value != other["train"][name]}
    assert differ <= set(sizes.split())
    assert one["train"]["iterations"] == 2
    assert one["model"]["spelling"] == "subword"
    assert one["model"]["copying"] is False


def test_a_budget_is_for_all_rows() -> None:
    rows = read_experiment("table6").chosen("cpu", ["term set", "N = 8"], minutes=5)
    assert [config.train.minutes for _, config in rows.values()] == [5, 5]  # type: ignore[attr-defined]


def test_names_and_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (
        'title = "Mine"\n[forms.cpu]\npreset = "tiny"\n[[rows]]\nname = "BM25"\nsystem = "bm25"\n'
    )
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "table6.toml").write_text(text)
    assert read_experiment("table6").title == "Mine"  # the working folder goes first
    assert read_experiment(str(tmp_path / "experiments" / "table6.toml")).title == "Mine"
    assert read_experiment("table5").title.startswith("Table 5")
    with pytest.raises(ConfigError, match=r"no experiment 'tabel5'.* did you mean 'table5'"):
        read_experiment("tabel5")
    (tmp_path / "comma.toml").write_text(text.replace('"BM25"', '"BM25, again"'))
    with pytest.raises(ConfigError, match=r"rows\.0\.name = 'BM25, again'"):
        read_experiment(str(tmp_path / "comma.toml"))
    (tmp_path / "bad.toml").write_text(text.replace("title", "titel"))
    with pytest.raises(ConfigError, match=r"bad\.toml: .*unknown setting 'titel'"):
        read_experiment(str(tmp_path / "bad.toml"))


def test_on_the_command_line(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'title = "Mine"\n[forms.cpu]\npreset = "tiny"\n[[rows]]\nname = "BM25"\nsystem = "bm25"\n'
        '[[rows]]\nname = "cows"\nsystem = "toy"\nsettings.toy.answer = "d3"\n'
    )
    asked = ["reproduce", str(file), "--data", str(folder), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, [*asked, "--cache", str(tmp_path / "cache")])
    assert done.exit_code == 0, done.output
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == [f"mine-cpu-animals.{suffix}" for suffix in ("json", "md", "png")]
    values = orjson.loads((tmp_path / "out" / "mine-cpu-animals.json").read_bytes())
    assert values["seeds"] == "0"
    assert values["command"].startswith("tsgen reproduce mine --data animals --form cpu")
    assert str(tmp_path) not in (tmp_path / "out" / "mine-cpu-animals.md").read_text()
    text = (tmp_path / "out" / "mine-cpu-animals.md").read_text()
    assert "![mine-cpu-animals](mine-cpu-animals.png)" in text


def test_an_engine(tmp_path: Path) -> None:
    """Two tables share one training; a document with two queries is a case."""
    folder = write_foods(tmp_path / "set", "train", "dev", "test")
    for split in ("train", "test"):
        with (folder / "qrels" / f"{split}.tsv").open("a") as file:
            file.write("twice\td3\t1\n")
    with (folder / "queries.jsonl").open("a") as file:
        file.write('{"_id": "twice", "text": "sour rice"}\n')
    assignments = [*settings(write_bert(tmp_path / "bert")), "train.iterations=1"]
    tables = read_settings(None, assignments)
    forms = {"cpu": {"preset": "tiny", "settings": tables}}
    rows = [
        {"name": "set"},
        {"name": "sequence", "settings": {"decode": {"in_order": True}}},
        {"name": "beam 1", "settings": {"decode": {"beam": 1}}},
    ]
    values = {"title": "Engine", "forms": forms, "rows": rows}
    data, cache = load(folder), tmp_path / "cache"
    found = reproduce(Experiment.from_mapping(values), data, cache=cache)
    assert found.series["all"]["set"] > 0.8
    assert found.figures["minutes"]["set"] == found.figures["minutes"]["beam 1"] > 0
    cases = Experiment.from_mapping(values | {"kind": "cases", "rows": rows[:1]})
    studied = reproduce(cases, data, cache=cache)
    assert len(list(cache.glob("set-*/iteration-1-*"))) == 1
    case = studied.figures["cases"]["set"][0]
    assert set(case["queries"]) == {"what is sour rice", "sour rice"}
    assert set(case["matching"][0]) <= {"sour", "rice"}
    assert "RICE" in str(studied.tables[0].rows[0].values[0])
    assert not studied.series


def test_no_case_at_all(tmp_path: Path) -> None:
    folder = write_foods(tmp_path / "set", "train", "dev", "test")
    assignments = [*settings(write_bert(tmp_path / "bert"), epochs=1), "train.iterations=1"]
    forms = {"cpu": {"preset": "tiny", "settings": read_settings(None, assignments)}}
    values = {"title": "None", "kind": "cases", "forms": forms, "rows": [{"name": "set"}]}
    with pytest.raises(DataError, match="no document is found first by two of its queries"):
        reproduce(Experiment.from_mapping(values), load(folder), cache=tmp_path / "cache")
