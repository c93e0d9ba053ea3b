"""`tsgen why`."""

import json
from pathlib import Path

from typer.testing import CliRunner

from small_engine import QUERY, TEXTS, write_small_engine
from tsgen.cli.main import app


def test_found_and_lost(tmp_path: Path) -> None:
    engine = str(write_small_engine(tmp_path / "engine"))
    said = {}
    for document in reversed(TEXTS):
        out = tmp_path / "why.json"
        arguments = ["why", engine, QUERY, document, "--beam", "1", "--json", str(out)]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
        figures = json.loads(out.read_text())
        said[figures["rank"] is None] = (result.stdout, figures)
        if len(said) == 2:
            break
    text, figures = said[False]
    assert f"{figures['document']} is found at rank {figures['rank']} with a beam of 1" in text
    text, figures = said[True]
    step, needed = figures["fall"]["step"], figures["needed_beam"]
    assert f"{figures['document']} fell out at step {step} with a beam of 1" in text
    assert f"A beam of {needed} finds it, at rank {figures['rank_then']}." in text
