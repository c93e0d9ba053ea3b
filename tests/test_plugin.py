"""The example package: what it registers is known by name, and its code is part of cache keys."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from toy import write_beir
from tsgen.docids.term_set import TermSets

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "plugin"
DOCUMENTS = {"rye": "rye bread", "oat": "oat bread soup", "egg": "a boiled egg"}
QUERIES = {"a": "rye bread", "b": "boiled egg"}


def install(folder: Path) -> Path:
    """The package as `pip install --target FOLDER` leaves it: its file, and its entry points."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    facts = folder / f"tsgen_example-{project['version']}.dist-info"
    facts.mkdir(parents=True)
    lines = []
    for group, own in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {home}" for name, home in own.items())]
    (facts / "entry_points.txt").write_text("\n".join(lines))
    (facts / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    (folder / "tsgen_example.py").write_bytes((EXAMPLE / "tsgen_example.py").read_bytes())
    return folder


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    return install(tmp_path / "installed")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_beir(tmp_path / "foods", DOCUMENTS, QUERIES, test=[("a", "rye"), ("b", "egg")])


def run(installed: Path, *words: str) -> str:
    command = [sys.executable, *words]
    environment = os.environ | {"PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def figures(installed: Path, data: Path) -> dict[str, dict[str, float]]:
    """The rows of `tsgen compare`, by system."""
    words = "compare", str(data), "--systems", "bm25,overlap", "--json", "-"
    shown = run(installed, "-m", "tsgen", *words, "--cache", str(data.parent / "cache"))
    return {row["system"]: row["values"] for row in json.loads(shown)["rows"]}


def edit(installed: Path, old: str, new: str) -> None:
    file = installed / "tsgen_example.py"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_changed_code_of_an_installed_system_changes_its_figures(
    installed: Path, data: Path
) -> None:
    first = figures(installed, data)
    assert first["overlap"]["M@10"] == 1.0
    assert figures(installed, data) == first  # from the cache
    runs = sorted(path.name for path in (data.parent / "cache").rglob("overlap-*"))
    edit(installed, "document.contents.lower().split()", '["oat", "bread"]')
    changed = figures(installed, data)
    assert changed["bm25"] == first["bm25"]
    assert changed["overlap"]["M@10"] < 1.0
    assert len(sorted((data.parent / "cache").rglob("overlap-*"))) == 2 * len(runs)


TERMS = """
import sys
from pathlib import Path
from tsgen.corpus.load import load
from tsgen.docids.assign import select_terms
from tsgen.settings import TermsConfig

sets = select_terms(load(sys.argv[1]), TermsConfig(weights="length", n=1), Path(sys.argv[2]))
print(*(term for d in range(len(sets)) for term in sets.term_set(d).terms))
"""


def test_weights_and_formats_from_python(installed: Path, data: Path, tmp_path: Path) -> None:
    file = tmp_path / "foods.txt"
    file.write_text("rye breads\noat soup\n")
    for source in (str(data), f"lines:{file}"):
        out = str(tmp_path / "terms")
        terms = run(installed, "-c", TERMS, source, out).split()
        assert len(terms) == len(set(terms))
        if source.startswith("lines:"):
            assert terms == ["breads", "soup"]
            edit(installed, "len(word)", "-len(word) + 99")
            assert run(installed, "-c", TERMS, source, out).split() == ["rye", "oat"]


def test_weights_and_formats_on_the_command_line(installed: Path, tmp_path: Path) -> None:
    file = tmp_path / "foods.txt"
    file.write_text("rye breads\noat soup\n")
    words = f"-m tsgen terms lines:{file} --out {tmp_path / 'terms'} --weights length --n 1"
    run(installed, *words.split())
    sets = TermSets.load(tmp_path / "terms")
    assert [sets.term_set(document).terms for document in range(2)] == [("breads",), ("soup",)]


def test_unknown_names_list_those_of_packages(installed: Path) -> None:
    code = """
from tsgen.corpus.load import CORPORA
from tsgen.retrieve.systems import SYSTEMS
from tsgen.terms.weights import TERM_WEIGHTS
assert "overlap" in SYSTEMS.names() and "length" in TERM_WEIGHTS.names()
assert "lines" in CORPORA.names()
assert SYSTEMS.code_version("overlap") and not SYSTEMS.code_version("bm25")
"""
    run(installed, "-c", code)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("import json", "import jsonn", "'tsgen-example' cannot be loaded: ModuleNotFoundError"),
        ('System("overlap"', 'System("over"', "expected a system with the name 'overlap'"),
    ],
)
def test_a_broken_package_is_named(
    installed: Path, data: Path, old: str, new: str, message: str
) -> None:
    edit(installed, old, new)
    command = [sys.executable, "-m", "tsgen", "compare", str(data), "--systems", "overlap"]
    environment = os.environ | {"PYTHONPATH": str(installed), "COLUMNS": "400"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
