"""`tsgen search` asks a server of the same engine, and searches by itself where there is none."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import pytest
from typer.testing import CliRunner

import fitted
import tsgen
from tsgen.cli.main import app
from tsgen.serve import local
from tsgen.serve.limits import Limits
from tsgen.serve.local import SOCKET, SearchRequest, ask, listening_locally
from tsgen.serve.worker import Serving
from tsgen.terms.words import Splitter

QUERIES = ("what is sweet egg", "sweat braed", "rice")
SETTINGS = {"terms": {"weights": "tfidf", "n": 8}}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bert = fitted.write_bert(tmp_path_factory.mktemp("bert"))
    data = fitted.write_foods(tmp_path_factory.mktemp("foods"), "dev")
    out = tmp_path_factory.mktemp("runs") / "engine"
    tsgen.index(data, out=out, settings=SETTINGS | {"model": {"encoder": str(bert)}}).close()
    return out


@pytest.fixture
def serving(made: Path) -> Iterator[Serving]:
    with tsgen.Engine.load(made) as engine:
        found = Serving.start(engine, Splitter(), Limits())
        yield found
        found.close()


@pytest.fixture
def server(made: Path, serving: Serving) -> Iterator[Path]:
    with listening_locally(made, serving) as place:
        assert place is not None
        yield place


def searched(engine: Path, *options: str) -> str:
    result = CliRunner().invoke(app, ["search", str(engine), *options])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_server_answers_as_the_engine_does(
    made: Path, serving: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = ([QUERIES[0]], [QUERIES[1], "--explain"], [QUERIES[2], "-k", "3", "--json", "-"])
    alone = [searched(made, *options) for options in calls]
    with listening_locally(made, serving):
        monkeypatch.setattr("tsgen.retrieve.engine.Engine.load", None)  # it must not be opened
        assert [searched(made, *options) for options in calls] == alone


def test_all_of_an_answer_comes_over(made: Path, serving: Serving, server: Path) -> None:
    answer = ask(made, SearchRequest(QUERIES, 4))
    assert answer is not None
    assert answer.hits == serving.engine.search(QUERIES, 4)
    assert answer.correct_query(QUERIES[1]) == serving.engine.correct_query(QUERIES[1])
    first = answer.hits[0][0].document_id
    assert answer.document(first) == serving.engine[first]


def test_it_sees_the_last_change(made: Path, serving: Serving, server: Path) -> None:
    with tsgen.Engine.load(made) as other:
        other.add([{"id": "new", "text": "The sweet zabaglione.", "year": 2020}])
        answer = ask(made, SearchRequest(["zabaglione"], 1, where="year = 2020"))
        assert answer is not None
        assert [hit.document_id for hit in answer.hits[0]] == ["new"]
        assert answer.document("new").metadata == {"year": 2020}
        other.remove("new")


def test_only_the_user_may_connect_and_the_file_goes(made: Path, serving: Serving) -> None:
    with listening_locally(made, serving) as place:
        assert place == made.resolve() / SOCKET
        assert place.stat().st_mode & 0o777 == 0o600
        with listening_locally(made, serving) as second:
            assert second is None  # the first one answers
        assert ask(made, SearchRequest(QUERIES, 1)) is not None
    assert not place.exists()
    assert ask(made, SearchRequest(QUERIES, 1)) is None


def test_what_the_server_refuses_is_left_to_the_command(made: Path, server: Path) -> None:
    assert ask(made, SearchRequest(QUERIES, 1, where="no filter")) is None
    assert ask(made, SearchRequest(["\ud800"], 1)) is None
    assert ask(made, SearchRequest(["a" * local.REQUEST], 1)) is None
    result = CliRunner().invoke(app, ["search", str(made), "egg", "--where", "no filter"])
    assert result.exit_code == 1


def test_the_file_of_a_server_that_died_does_no_harm(made: Path, serving: Serving) -> None:
    stale = made / SOCKET
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(stale))
        stale.chmod(0o600)
    assert stale.exists()
    began = time.monotonic()
    assert ask(made, SearchRequest(QUERIES, 1)) is None
    assert time.monotonic() - began < local.ANSWERING
    with listening_locally(made, serving) as place:  # it takes the file's place
        assert place == made.resolve() / SOCKET
        assert ask(made, SearchRequest(QUERIES, 1)) is not None


@pytest.fixture
def impostor(made: Path) -> Iterator[dict[str, Any]]:
    """Something else that listens on the file, and what it says."""
    says: dict[str, Any] = {"answer": b"{}\n", "heard": []}
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(made / SOCKET))
        bound.listen()
        says["place"] = made / SOCKET
        says["place"].chmod(0o600)

        def serve() -> None:
            while True:
                try:
                    connection, _ = bound.accept()
                except OSError:
                    return
                with connection:
                    says["heard"].append(connection.recv(65536))
                    connection.sendall(says["answer"])

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield says
        bound.shutdown(socket.SHUT_RDWR)
        thread.join()
    (made / SOCKET).unlink()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\n",
        b"{}\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"[1]\n",
        b'{"hits":[[["d0",1.0,null,null,null]]],"words":{},"read_as":{},"documents":[]}\n',
    ],
)
def test_nonsense_is_no_answer(made: Path, impostor: dict[str, Any], answer: bytes) -> None:
    impostor["answer"] = answer
    assert ask(made, SearchRequest(["egg"], 1)) is None
    assert len(impostor["heard"]) == 1


def test_a_file_that_others_may_write_to_is_not_asked(made: Path, impostor: dict[str, Any]) -> None:
    impostor["place"].chmod(0o666)
    assert ask(made, SearchRequest(["egg"], 1)) is None
    assert not impostor["heard"]


def test_another_user_s_file_is_not_asked(
    made: Path, impostor: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    assert ask(made, SearchRequest(["egg"], 1)) is None
    assert not impostor["heard"]


def test_a_server_of_another_engine_or_version_is_not_believed(
    made: Path, server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = SearchRequest(["egg"], 1)
    assert ask(made, question) is not None
    with monkeypatch.context() as patched:
        patched.setattr(local, "_identity", lambda _: [os.getpid(), time.monotonic_ns()])
        assert ask(made, question) is None
    real = local.orjson.dumps
    with monkeypatch.context() as patched:
        patched.setattr(local, "__version__", "0.0.0")
        line = real(
            {"version": "9.9.9", "engine": local._identity(made), "queries": ["egg"], "k": 1}
        )
        with pytest.raises(OSError, match="no whole answer"):
            local._exchange(server, line + b"\n")


def test_where_the_folder_takes_no_file_there_is_another_place(
    made: Path, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = Path(mkdtemp())  # its name is short, too
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.setattr(local, "SOCKET", "a" * 200)  # too long for a socket's address
    with listening_locally(made, serving) as place:
        assert place is not None
        assert place.parent == runtime / "tsgen"
        assert place.parent.stat().st_mode & 0o777 == 0o700
        assert ask(made, SearchRequest(QUERIES, 1)) is not None
    assert not place.exists()
    rmtree(runtime)


def test_a_served_search_does_not_even_open_the_engine(made: Path, server: Path) -> None:
    code = (
        "import sys\nfrom tsgen.__main__ import run\n"
        f"sys.argv[1:] = ['search', {str(made)!r}, 'sweet egg', '--json', '-']\n"
        "try:\n    run()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print(any(name in sys.modules for name in ('tsgen.retrieve.engine', 'onnxruntime')))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    *answer, opened = ran.stdout.splitlines()
    assert opened == "False", ran.stderr
    assert json.loads("".join(answer))[0]["hits"]
