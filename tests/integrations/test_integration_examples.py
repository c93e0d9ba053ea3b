"""The integrations, by running their examples over a small engine."""

import asyncio
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from living import DOCUMENTS, write_engine
from small_engine import QUERY, TEXTS, write_small_engine
from tsgen.errors import MissingExtraError
from tsgen.records import Document
from tsgen.retrieve.engine import Engine

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_engine(tmp_path_factory.mktemp("integrations") / "engine")


@pytest.fixture(autouse=True)
def _no_telemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "false")
    monkeypatch.setenv("LANGSMITH_TRACING", "false")


@pytest.mark.parametrize(
    ("example", "library"),
    [
        ("pyterrier_pipeline.py", "pyterrier"),
        ("langchain_chain.py", "langchain_core"),
        ("haystack_pipeline.py", "haystack"),
        ("llamaindex_retriever.py", "llama_index.core"),
        ("mcp_client.py", "mcp.server.mcpserver"),
    ],
)
def test_an_example_prints_the_engines_hits(
    example: str,
    library: str,
    engine: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed: it is an extra")
    monkeypatch.setattr(sys, "argv", [example, str(engine), QUERY])
    runpy.run_path(str(EXAMPLES / example), run_name="__main__")
    printed = capsys.readouterr().out
    wanted = [hit.document_id for hit in Engine.load(engine).search([QUERY], 3)[0]]
    shown = sorted((id for id in TEXTS if id in printed), key=printed.index)
    assert shown == wanted


@pytest.mark.parametrize(
    ("name", "library", "extra"),
    [
        ("pyterrier", "pyterrier", "pyterrier"),
        ("langchain", "langchain_core.documents", "langchain"),
        ("haystack", "haystack", "haystack"),
        ("llamaindex", "llama_index.core.retrievers", "llamaindex"),
        ("mcp", "mcp.server.mcpserver", "mcp"),
    ],
)
def test_a_missing_library_prints_the_pip_command(
    name: str, library: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"tsgen.integrations.{name}", raising=False)
    with pytest.raises(MissingExtraError, match=rf"pip install 'tsgen-ir\[{extra}\]'"):
        __import__(f"tsgen.integrations.{name}")


def test_mcp_keeps_metadata_apart(tmp_path: Path) -> None:
    """Metadata that is named like the answer's own fields replaces none of them."""
    pytest.importorskip("mcp.server.mcpserver", reason="mcp is not installed: it is an extra")
    from tsgen.integrations.mcp import mcp_server

    fake = {"id": "other", "text": "forged", "title": "forged", "score": 99.0}
    folder = write_engine(tmp_path, DOCUMENTS)
    with Engine.load(folder) as engine:
        engine.add([Document("real", "fern and moss", "on hills", fake)])
        server = mcp_server(engine)
        found = _called(server, "search_documents", {"query": "fern moss", "k": 9})
        read = _called(server, "read_document", {"document_id": "real"})
    (hit,) = (one for one in found if one["metadata"])
    for answer in (hit, read):
        shown = (answer["id"], answer["text"], answer["title"])
        assert shown == ("real", "fern and moss", "on hills")
        assert answer["metadata"] == fake
    assert hit["score"] != 99.0


def _called(server: Any, tool: str, arguments: dict[str, Any]) -> Any:
    """What a tool answers."""
    result = asyncio.run(server.call_tool(tool, arguments))
    found = getattr(result, "structured_content", result)
    return found.get("result", found)
