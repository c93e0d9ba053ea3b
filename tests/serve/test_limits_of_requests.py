"""What is too much is refused with a message that names it, and nothing hangs."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from served import AUTHORIZED, Foods, client

from tsgen.serve.worker import CHANGES

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"query": "a" * 21}, "body.query: found 'aaaaaaaaaaaaaaaaaaaaa'; expected at most 20"),
        ({"query": "a" * 2000}, "body.query: found 2,000 characters; expected at most 20 char"),
        ({"queries": ["a"] * 4}, "body.queries: found a list of 4; expected at most 3"),
        ({"query": "a", "k": 6}, "body.k: found 6; expected at most 5"),
        ({"query": "a", "k": 10**30}, "body.k: found a number of over 64 bits; expected at most 5"),
        ({"query": "a", "beam": 8}, "body.beam: found 8; expected at most 7"),
        ({"query": "a", "where": "b" * 11}, "body.where: found 'bbbbbbbbbbb'; expected at most 10"),
    ],
)
def test_limits_name_themselves(asked: dict[str, object], says: str) -> None:
    foods = Foods()
    with client(foods, query=20, queries=3, k=5, beam=7, where=10) as http:
        answer = http.post("/search", json=asked)
    assert answer.status_code == 422
    message = answer.json()["error"]["message"]
    assert says in message
    assert "--limit" in message
    assert foods.calls == []


def test_limits_are_in_the_description() -> None:
    with client(Foods(), k=5, query=20) as http:
        schema = http.get("/openapi.json").json()
    fields = schema["components"]["schemas"]["SearchRequest"]["properties"]
    assert (fields["k"]["maximum"], fields["k"]["default"]) == (5, 5)
    assert fields["query"]["anyOf"][0]["maxLength"] == 20


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"query": None},
        {"query": "a", "queries": ["a"]},
        {"queries": []},
        {"query": " \n"},
        {"queries": ["a", ""]},
        {"query": ["a"]},
        {"query": "a", "k": 0},
        {"query": "a", "k": 1.5},
        {"query": "a", "k": True},
        {"query": "a", "k": "3"},
        {"query": "a", "explain": 1},
        {"query": "a", "{typo}": 1},
    ],
)
def test_wrong_types_and_names(asked: dict[str, object]) -> None:
    with client(Foods()) as http:
        answer = http.post("/search", json=asked)
    assert answer.status_code == 422
    assert "expected" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 422),
        (b'{"query": "a"} {}', 422),
        (b'{"query": "\\ud800"}', 422),
        (b'{"query": NaN}', 422),
        (b'{"query": "\xff"}', 400),
        (b"[" * 100_000, 400),
        (b'{"query": "a", "k": ' + b"9" * 5000 + b"}", 400),
        (b'{"query": "a\\u0000"}', 200),
        ('{"query": "\N{ZERO WIDTH JOINER}\U0010ffff"}'.encode(), 200),
    ],
)
def test_odd_json(body: bytes, status: int) -> None:
    with client(Foods()) as http:
        answer = http.post("/search", content=body, headers=JSON)
    assert answer.status_code == status
    assert status == 200 or "expected" in answer.json()["error"]["message"]


def test_what_is_not_declared_as_json() -> None:
    with client(Foods()) as http:
        answer = http.post("/search", content=b'{"query": "a"}')
        assert answer.status_code == 415
        answer = http.post("/search", data={"query": "a"})
    assert answer.status_code == 415
    assert "application/x-www-form-urlencoded" in answer.json()["error"]["message"]


def chunks() -> Iterator[bytes]:
    for _ in range(11):
        yield b" " * 10


def test_bodies_too_large_declared_or_not() -> None:
    with client(Foods(), body=100) as http:
        for body in (b" " * 101, chunks()):
            answer = http.post("/search", content=body, headers=JSON)
            assert answer.status_code == 413
            message = answer.json()["error"]["message"]
            assert "bytes or more; expected at most 100. Send less" in message


def test_a_search_that_takes_too_long() -> None:
    foods = Foods()
    foods.may_go_on.clear()
    with client(foods, seconds=0.05) as http:
        answer = http.post("/search", json={"query": "rice"})
        assert answer.status_code == 408
        assert "found no answer within 0.05 seconds" in answer.json()["error"]["message"]
        assert http.get("/health").status_code == 200
        foods.may_go_on.set()
        assert http.post("/search", json={"query": "rice"}).status_code == 200


def test_a_change_that_has_begun_is_finished_and_one_that_has_not_is_not_made() -> None:
    foods = Foods()
    foods.may_go_on.clear()
    with client(foods, seconds=0.1) as http, ThreadPoolExecutor(CHANGES) as others:
        put = partial(http.put, json={"text": "oats"}, headers=AUTHORIZED)
        begun = [others.submit(put, f"/documents/begun{i}") for i in range(CHANGES)]
        while foods.changing < CHANGES:
            time.sleep(0.001)
        late = put("/documents/late")
        assert late.status_code == 408
        assert "had not begun and is not made" in late.json()["error"]["message"]
        assert not any(change.done() for change in begun)
        foods.may_go_on.set()
        assert [change.result(20).status_code for change in begun] == [201] * CHANGES
        assert http.get("/documents/begun0").status_code == 200
        assert http.get("/documents/late").status_code == 404


def test_many_queries_with_a_wide_beam_are_refused_at_once() -> None:
    foods = Foods()
    with client(foods) as http:
        asked = {"queries": ["rice"] * 64, "beam": 200}
        answer = http.post("/search", json=asked)
        assert answer.status_code == 422
        assert "the queries times the beam, which are 12,800" in answer.json()["error"]["message"]
        assert foods.calls == []
        for fewer in (asked | {"beam": 50}, asked | {"beam": None}, {"query": "a", "beam": 200}):
            assert http.post("/search", json=fewer).status_code == 200


def test_documents_too_long() -> None:
    with client(Foods(), document=10) as http:
        put = partial(http.put, "/documents/d9", headers=AUTHORIZED)
        assert put(json={"text": "a" * 11}).status_code == 422
        answer = put(json={"text": "a" * 6, "title": "b" * 5})
        assert answer.status_code == 422
        assert "at most 10 characters together, not 11" in answer.json()["error"]["message"]
        assert put(json={"text": "a" * 6, "title": "b" * 4}).status_code == 201


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nowhere", 404), ("PATCH", "/search", 405), ("GET", "/search", 405)],
)
def test_unknown_paths_and_methods(method: str, path: str, status: int) -> None:
    with client(Foods()) as http:
        answer = http.request(method, path)
    assert answer.status_code == status
    assert f"found {method} '{path}'; expected" in answer.json()["error"]["message"]
