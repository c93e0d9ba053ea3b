"""GET, PUT and DELETE /documents/{id}, and who may."""

import pytest
from served import AUTHORIZED, Foods, client

from tsgen.errors import ConfigError
from tsgen.serve.access import check_token

OATS = {
    "text": "rolled oats",
    "title": "Oats",
    "metadata": {"year": 2020, "tags": ["a", 1.5], "in": {"a": None}},
}


def test_written_read_and_removed() -> None:
    with client(Foods()) as http:
        added = http.put("/documents/shop/a b.md", json=OATS, headers=AUTHORIZED)
        assert (added.status_code, added.json()["change"]) == (201, "added")
        assert http.get("/documents/shop%2Fa%20b.md").json() == {"id": "shop/a b.md"} | OATS
        found = http.post("/search", json={"query": "oats"}).json()["results"][0]["hits"]
        assert [hit["document"] for hit in found] == ["shop/a b.md"]
        updated = http.put("/documents/shop/a b.md", json={"text": "x"}, headers=AUTHORIZED)
        assert (updated.status_code, updated.json()["change"]) == (200, "updated")
        removed = http.delete("/documents/shop/a b.md", headers=AUTHORIZED)
        assert (removed.status_code, removed.json()["change"]) == (200, "removed")
        assert http.get("/documents/shop/a b.md").status_code == 404
        assert http.delete("/documents/shop/a b.md", headers=AUTHORIZED).status_code == 404


@pytest.mark.parametrize(
    ("token", "headers", "status", "says"),
    [
        ("secret", {}, 401, "found no token"),
        ("secret", {"Authorization": "Bearer secre"}, 401, "found a wrong token"),
        ("secret", {"Authorization": "Basic secret"}, 401, "found no token"),
        ("secret", {"Authorization": "Bearer s\xe9cret"}, 401, "found a wrong token"),
        (None, {"Authorization": "Bearer None"}, 403, "--token"),
        (None, {}, 403, "TSGEN_TOKEN"),
    ],
)
def test_changes_need_the_token(token, headers, status, says) -> None:
    foods = Foods()
    sent = {name: value.encode("latin-1") for name, value in headers.items()}
    with client(foods, token) as http:
        for answer in (
            http.put("/documents/d1", json=OATS, headers=sent),
            http.delete("/documents/d1", headers=sent),
        ):
            assert answer.status_code == status
            assert says in answer.json()["error"]["message"]
            assert ("WWW-Authenticate" in answer.headers) == (status == 401)
    assert foods.documents["d1"].text == "white bread"


@pytest.mark.parametrize("token", ["", "a\nb", "é"])
def test_a_token_that_no_header_carries(token: str) -> None:
    with pytest.raises(ConfigError, match="expected printable ASCII"):
        check_token(token)


@pytest.mark.parametrize(
    "body",
    [
        b'{"text": ""}',
        b'{"title": "no text"}',
        b'{"text": "a", "id": "other"}',
        b'{"text": "a", "metadata": {"n": NaN}}',
        b'{"text": "a", "metadata": {"n": 1e999}}',
        b'{"text": "a", "metadata": {"n": [-9223372036854775809]}}',
        b'{"text": "a", "metadata": {"n": ' + b"[" * 16 + b"]" * 16 + b"}}",
        b'{"text": "a", "metadata": {"\\ud800": 1}}',
        b'{"text": "\\ud800"}',
        b'{"text": "a", "title": "\\udfff"}',
        b'{"text": "a", "metadata": {"n": ["\\ud800"]}}',
        b'{"text": 7}',
        b'{"text": null}',
        b"[]",
        b"null",
        b"",
    ],
)
def test_bodies_that_are_no_documents(body: bytes) -> None:
    foods = Foods()
    with client(foods) as http:
        headers = AUTHORIZED | {"Content-Type": "application/json"}
        answer = http.put("/documents/new", content=body, headers=headers)
    assert answer.status_code == 422, answer.text
    assert "expected" in answer.json()["error"]["message"]
    assert "new" not in foods.documents


@pytest.mark.parametrize("path", ["", "%00", "a%09b", "x" * 513])
def test_ids_that_are_none(path: str) -> None:
    with client(Foods()) as http:
        assert http.get(f"/documents/{path}").status_code == 422
