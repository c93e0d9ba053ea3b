"""The script that counts the paper's rows against those of the experiments."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from tsgen.evaluate.experiment import read_experiment

SCRIPT = Path(__file__).parents[2] / "experiments" / "paper_rows.py"
PAGE = """# A page
**Table 1, main** (figures):

| method | NQ320K M@10 | R@10 |
|---|---|---|
| **TSGen** | **.771** | **.889** |
| Another | .123 | .456 |

**Table 2, generalisation**:

| | seen | unseen |
|---|---|---|
| NCI | .771/.882 | .050/.143 |

**Table 3, the shards**: NQ320K seen 59,739 documents, 173,447 training queries;
unseen 50,000 documents.

**Table 4, scale** (M@10): BM25 .187; MINDER (7.2M) .186.

**Table 5, efficiency**: NCI 12, .03/.21.

**Table 6, ablations**: N = 8 .760/.879/.940, 16 .771/.889/.947; NCI –/.679/.909, SEAL –/.812/.910.

**Table 7, case study**: one document.
"""


@pytest.fixture
def script() -> ModuleType:
    spec = spec_from_file_location("paper_rows", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_rows_that_are_missing_are_named(
    script: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE, "utf-8")
    monkeypatch.setattr(sys, "argv", ["paper_rows.py", str(page)])
    assert script.main() == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines if line.startswith("table")] == [
        "table1: 1 of 2 rows of the page",
        "table2: 1 of 1 rows of the page",
        "table3: 2 of 2 rows of the page",
        "table4: 2 of 2 rows of the page",
        "table5: 1 of 1 rows of the page",
        "table6: 3 of 4 rows of the page",
        "table7: 1 of 1 rows of the page",
    ]
    missing = [line for line in lines if "missing" in line]
    assert len(missing) == 2
    assert "Another" in missing[0]
    assert "SEAL –/.812/.910" in missing[1]


def test_a_page_without_tables_is_not_complete(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Nothing\n", "utf-8")
    monkeypatch.setattr(sys, "argv", ["paper_rows.py", str(page)])
    assert script.main() == 1


@pytest.mark.parametrize(
    ("number", "rows"), [(1, 14), (2, 5), (3, 2), (4, 6), (5, 6), (6, 25), (7, 0)]
)
def test_so_many_rows_have_figures_of_the_paper(number: int, rows: int) -> None:
    specs = read_experiment(f"table{number}").specs("paper")
    assert sum(bool(row.expected) for row in specs.values()) == rows
