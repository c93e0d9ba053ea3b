"""`tsgen search` asks a `tsgen serve` of the same engine and the same user, if one is running.

The server listens on a socket file in the engine's folder or, where no file can be made there, in
the user's folder for such files. The command connects to it before it opens the engine itself, and
so answers in the time that Python takes to start. One connection carries one request and one
answer, each a line of JSON.

Nobody else can listen or ask: the file, its folder and the process behind it must belong to the
user, and no one else may write to the file. Whatever goes wrong, a file that nobody listens on, an
answer from another engine or another version, or none in time, makes the command search by itself.
"""

import contextlib
import hashlib
import os
import socket
import stat
import struct
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import orjson

from tsgen.records import Document, Hit, Reason
from tsgen.version import __version__

if TYPE_CHECKING:
    from tsgen.serve.worker import Serving

SOCKET = "serve.sock"
CONNECTING, ANSWERING = 0.25, 10.0  # seconds
REQUEST = 2**20  # bytes of a request, at most
TOGETHER = 4  # requests that are answered at a time


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """Queries, and how to search for them."""

    queries: Sequence[str]
    k: int
    beam: int | None = None
    where: str | None = None
    min_confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The hits of each query, with all that is shown of them."""

    hits: list[list[Hit]]
    words: Mapping[str, Any]  # the settings of the engine's words
    read_as: Mapping[str, str]  # each query as the engine read it
    documents: Mapping[str, Document]  # those of the hits, by id

    def correct_query(self, query: str) -> str:
        """The query as it was searched for."""
        return self.read_as[query]

    def document(self, document_id: str) -> Document:
        """A document among the hits."""
        return self.documents[document_id]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """The answer in what a server sent; a KeyError, TypeError or ValueError if it is none."""
        documents = (Document(*row) for row in values["documents"])
        hits = [[_hit(row) for row in rows] for rows in values["hits"]]
        found = {document.id: document for document in documents}
        if any(hit.document_id not in found for row in hits for hit in row):
            raise ValueError("a hit without its document")
        return cls(hits, dict(values["words"]), dict(values["read_as"]), found)


def ask(engine: Path, question: SearchRequest) -> Answer | None:
    """Ask the server of an engine; None if there is none, or none that can be trusted."""
    wrong = OSError, RuntimeError, ValueError, KeyError, TypeError
    with contextlib.suppress(*wrong):
        request = asdict(question) | {"version": __version__, "engine": _identity(engine)}
        line = orjson.dumps(request) + b"\n"
        for place in _places(engine):
            if _is_own_socket(place) and len(line) <= REQUEST:
                with contextlib.suppress(*wrong):
                    return Answer.read(_exchange(place, line))
    return None


@contextmanager
def listening_locally(engine: Path, serving: "Serving") -> Iterator[Path | None]:
    """Answer `ask` as long as the block runs; the socket's file, or None if there cannot be one, or
    another server of the engine has it."""
    listener = _listen(engine)
    if listener is None:
        yield None
        return
    bound, place = listener
    made = place.lstat()
    pool = ThreadPoolExecutor(TOGETHER, thread_name_prefix="local")
    thread = threading.Thread(target=_accept, args=(bound, pool, engine, serving), daemon=True)
    thread.start()
    try:
        yield place
    finally:
        with contextlib.suppress(OSError):
            if os.path.samestat(place.lstat(), made):  # not that of a server that came later
                place.unlink()
        with contextlib.suppress(OSError):
            bound.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for connections
        bound.close()
        thread.join()
        pool.shutdown(cancel_futures=True)


# Where the socket is, and whose.


def _places(engine: Path) -> tuple[Path, Path]:
    """The files that a server of the engine may listen on."""
    real = engine.resolve()
    name = hashlib.sha256(os.fsencode(real)).hexdigest()[:16]
    return real / SOCKET, _user_folder() / f"{name}.sock"


def _user_folder() -> Path:
    """The folder for sockets of this user's."""
    named = os.environ.get("XDG_RUNTIME_DIR")
    if named:
        return Path(named) / "tsgen"
    return Path(tempfile.gettempdir()) / f"tsgen-{os.getuid()}"


def _identity(engine: Path) -> list[int]:
    """Which folder a path leads to, whatever it is called."""
    found = engine.stat()
    return [found.st_dev, found.st_ino]


def _is_own_socket(place: Path) -> bool:
    """Whether a path is a socket that only this user can have made and can write to."""
    try:
        found, folder = place.lstat(), place.parent.stat()
    except OSError:
        return False
    own = {0, os.getuid()}
    return (
        stat.S_ISSOCK(found.st_mode)
        and found.st_uid == os.getuid()
        and not found.st_mode & 0o022
        and folder.st_uid in own
    )


def _is_own_process(connection: socket.socket) -> bool:
    """Whether a process of this user is at the other end, where the system tells."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack(
        "3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    )
    return bool(user == os.getuid())


def _listen(engine: Path) -> tuple[socket.socket, Path] | None:
    """A listening socket and its file, in the first place where there can be one."""
    for place in _places(engine):
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            if place.name != SOCKET:
                place.parent.mkdir(mode=0o700, exist_ok=True)
                if place.parent.stat().st_uid != os.getuid():
                    raise PermissionError(f"{place.parent} is not this user's")
            if _is_own_socket(place):
                if _answers(place):
                    bound.close()
                    return None
                place.unlink()
            before = os.umask(0o177)
            try:
                bound.bind(str(place))
            finally:
                os.umask(before)
            bound.listen(TOGETHER)
            return bound, place
        except OSError:  # a disk that cannot be written, a path that is too long for a socket
            bound.close()
    return None


def _answers(place: Path) -> bool:
    """Whether a process listens on a socket's file."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trying:
        trying.settimeout(CONNECTING)
        try:
            trying.connect(str(place))
        except ConnectionRefusedError:
            return False
        except OSError:
            return True
        return True


# The exchange, on the side of the command and on that of the server.


def _exchange(place: Path, line: bytes) -> Mapping[str, Any]:
    """Send a request and read its answer."""
    until = time.monotonic() + ANSWERING
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(CONNECTING)
        connection.connect(str(place))
        if not _is_own_process(connection):
            raise PermissionError(f"{place}: another user's")
        connection.sendall(line)
        parts = list[bytes]()
        while not parts or not parts[-1].endswith(b"\n"):
            connection.settimeout(max(until - time.monotonic(), 0.001))
            parts.append(connection.recv(2**16))
            if not parts[-1]:
                raise ConnectionError(f"{place}: no whole answer")
    found: Mapping[str, Any] = orjson.loads(b"".join(parts))
    return found


def _accept(
    bound: socket.socket, pool: ThreadPoolExecutor, engine: Path, serving: "Serving"
) -> None:
    """Answer connections until the socket is closed."""
    while True:
        try:
            connection, _ = bound.accept()
        except OSError:
            return
        with contextlib.suppress(RuntimeError):  # the pool is closed: the socket will be next
            pool.submit(_serve, connection, engine, serving)


def _serve(connection: socket.socket, engine: Path, serving: "Serving") -> None:
    """Answer one connection; one that cannot be answered is closed without a word."""
    with connection, contextlib.suppress(Exception):
        connection.settimeout(ANSWERING)
        if not _is_own_process(connection):
            return
        line = b""
        while not line.endswith(b"\n"):
            part = connection.recv(2**16)
            if not part or len(line) > REQUEST:
                return
            line += part
        request = orjson.loads(line)
        if request.pop("version") == __version__ and request.pop("engine") == _identity(engine):
            connection.sendall(_answered(serving, SearchRequest(**request)) + b"\n")


def _answered(serving: "Serving", question: SearchRequest) -> bytes:
    """The answer to a question, from the thread that runs the model."""
    from tsgen.serve.worker import Ask

    asked = Ask(question.k, question.beam, question.where, question.min_confidence)
    futures = serving.model.search(list(question.queries), asked)
    hits = [future.result(ANSWERING) for future in futures]
    engine = serving.engine
    ids = dict.fromkeys(hit.document_id for row in hits for hit in row)
    documents = [engine.document(document_id) for document_id in ids]
    answer = {
        "hits": [[_row(hit) for hit in row] for row in hits],
        "words": engine.config.terms.words.model_dump(mode="json"),
        "read_as": {query: engine.correct_query(query) for query in question.queries},
        "documents": [[one.id, one.text, one.title, dict(one.metadata)] for one in documents],
    }
    return orjson.dumps(answer, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY)


def _row(hit: Hit) -> list[Any]:
    reason = hit.reason and [hit.reason.terms, hit.reason.log_probs, hit.reason.valid_documents]
    return [hit.document_id, hit.score, reason, hit.confidence, hit.passage]


def _hit(row: Sequence[Any]) -> Hit:
    document_id, score, reason, confidence, passage = row
    read = None if reason is None else Reason(*map(tuple, reason))
    return Hit(str(document_id), float(score), read, confidence, passage)
