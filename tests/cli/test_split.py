import json
from pathlib import Path

from typer.testing import CliRunner

from tsgen.cli.main import app


def test_writes_judgments_that_qrels_takes(tmp_path: Path) -> None:
    folder, out = tmp_path / "set", tmp_path / "half"
    (folder / "qrels").mkdir(parents=True)
    numbers = range(10)
    for name in ("corpus", "queries"):
        lines = (f'{{"_id": "{name}{i}", "text": "number {i}"}}\n' for i in numbers)
        (folder / f"{name}.jsonl").write_text("".join(lines))
    for split in ("train", "test"):
        lines = (f"queries{i}\tcorpus{i}\t1\n" for i in numbers)
        (folder / "qrels" / f"{split}.tsv").write_text("".join(lines))

    result = CliRunner().invoke(app, ["split", str(folder), "--out", str(out), "--json", "-"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["queries_after"] == {"train": 5, "test": 10}

    result = CliRunner().invoke(app, ["data", str(folder), "--qrels", str(out), "--json", "-"])
    test = json.loads(result.stdout)["splits"]["test"]
    assert (test["seen"], test["unseen"]) == (5, 5)
    assert sorted(path.name for path in out.iterdir()) == [
        "manifest.json",
        "seen.ids",
        "test.tsv",
        "train.tsv",
        "unseen.ids",
    ]
    listed = [(out / f"{name}.ids").read_text().split() for name in ("seen", "unseen")]
    assert sorted(listed[0] + listed[1]) == [f"corpus{i}" for i in numbers]
    assert [len(ids) for ids in listed] == [5, 5]
