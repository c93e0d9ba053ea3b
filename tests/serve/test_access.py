"""Who may ask: the names the server answers to, the tokens, and paths that are text."""

import pytest
from served import AUTHORIZED, Foods
from starlette.testclient import TestClient

from tsgen.errors import ConfigError
from tsgen.serve.access import Access, check_path, host_name, is_loopback
from tsgen.serve.app import create_app
from tsgen.serve.http_errors import HttpError

READ = {"Authorization": "Bearer read"}


def client(access: Access, host: str = "localhost") -> TestClient:
    return TestClient(create_app(Foods(), access=access), f"http://{host}")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8080", "127.0.0.1:80", "[::1]:8080", "10.1.2.3", "own.test."]
)
def test_names_of_this_server(host: str) -> None:
    with client(Access.of(hosts=["own.test"])) as http:
        assert http.get("/documents/d1", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.test", "127.0.0.1.evil.test", "evil.test:80", "localhost.evil.test", "", "[::1"]
)
def test_a_page_at_a_name_that_resolves_to_the_loopback_reads_nothing(host: str) -> None:
    with client(Access.of()) as http:
        for path in ("/documents/d1", "/", "/health"):
            answer = http.get(path, headers={"Host": host})
            expected = 200 if host == "[::1" else 421  # an address, though not closed
            assert answer.status_code == expected
        if expected == 421:
            assert "--allow-host NAME" in answer.json()["error"]["message"]


def test_any_host_if_so_wished() -> None:
    with client(Access.of(hosts=["*"])) as http:
        assert http.get("/documents/d1", headers={"Host": "evil.test"}).status_code == 200


def test_reading_needs_the_token_for_reading_or_that_for_changes() -> None:
    asked = {"query": "rice"}
    with client(Access.of("the-token", "read")) as http:
        for path in ("/", "/static/app.js", "/health", "/ready"):
            assert http.get(path).status_code == 200
        for path in ("/documents/d1", "/metrics", "/openapi.json", "/nowhere"):
            answer = http.get(path)
            assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
            assert "token for reading" in answer.json()["error"]["message"]
        assert http.post("/search", json=asked).status_code == 401
        assert (
            http.post("/search", json=asked, headers={"Authorization": "read"}).status_code == 401
        )
        wrong = http.post("/search", json=asked, headers={"Authorization": "Bearer rea"})
        assert "found a wrong token" in wrong.json()["error"]["message"]
        for headers in (READ, AUTHORIZED, {"Authorization": "bearer read"}):
            assert http.post("/search", json=asked, headers=headers).status_code == 200
        assert http.put("/documents/d9", json={"text": "x"}, headers=READ).status_code == 401
        assert http.put("/documents/d9", json={"text": "x"}, headers=AUTHORIZED).status_code == 201


def test_two_tokens_differ() -> None:
    with pytest.raises(ConfigError, match="the same token for reading and for changes"):
        Access.of("one", "one")
    with pytest.raises(ConfigError, match="openssl rand"):
        Access.of(read_token="é")


def test_paths_that_are_not_utf8_are_no_ids() -> None:
    for path in (b"/documents/%ff", b"/documents/%fe", b"/documents/a%c3", b"/\xff"):
        with pytest.raises(HttpError, match="not valid UTF-8"):
            check_path(path)
    check_path(b"/documents/%c3%a9%20b")
    with client(Access.of()) as http:
        assert http.get("/documents/%ff").status_code == 400
        assert http.get("/documents/%c3%a9").status_code == 404


@pytest.mark.parametrize(
    ("header", "name"),
    [("A.b:80", "a.b"), ("[::1]:80", "::1"), ("a.", "a"), ("1.2.3.4", "1.2.3.4"), ("", "")],
)
def test_the_name_in_a_header(header: str, name: str) -> None:
    assert host_name(header) == name


def test_what_only_this_machine_reaches() -> None:
    assert [is_loopback(host) for host in ("127.0.0.2", "::1", "localhost")] == [True] * 3
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "here")] == [False] * 4
