"""POST /trace and POST /why over a small engine."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from small_engine import QUERY, TEXTS, write_small_engine
from tsgen.retrieve.engine import Engine
from tsgen.serve.app import create_app
from tsgen.serve.limits import Limits
from tsgen.serve.schemas import TraceAnswer, WhyAnswer


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = write_small_engine(tmp_path_factory.mktemp("serve") / "engine")
    with Engine.load(folder) as collection:
        app = create_app(collection, limits=Limits(beam=20, query=40))
        with TestClient(app, "http://localhost") as client:
            yield client


def test_a_trace_as_described(client: TestClient) -> None:
    answer = client.post("/trace", json={"query": QUERY, "k": 3, "shown": 2})
    assert answer.status_code == 200
    found = TraceAnswer.model_validate(answer.json())
    searched = client.post("/search", json={"query": QUERY, "k": 3}).json()["results"][0]
    assert [hit.document_id for hit in found.hits] == [hit["document"] for hit in searched["hits"]]
    assert (found.beam, found.documents, len(found.paths)) == (4, len(TEXTS), 3)
    assert all(found.paths)


def test_why_as_described(client: TestClient) -> None:
    answers = [
        client.post("/why", json={"query": QUERY, "document": document, "beam": 1})
        for document in TEXTS
    ]
    found = [WhyAnswer.model_validate(answer.json()) for answer in answers]
    assert {one.rank is None for one in found} == {True, False}
    for one in found:
        assert one.widest == 20
        assert (one.fall is None) == (one.rank is not None)


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/trace", {"query": "x" * 41}, 422, "at most 40 characters"),
        ("/trace", {"query": " "}, 422, "query"),
        ("/trace", {"query": "a", "beam": 21}, 422, "at most 20"),
        ("/trace", {"query": "a", "steps": 2}, 422, "a name that it knows"),
        ("/trace", {"query": "a", "where": "x ="}, 422, "x ="),
        ("/why", {"query": "a"}, 422, "document"),
        ("/why", {"query": "a", "document": "none"}, 404, "found no document"),
    ],
)
def test_refusals_have_the_servers_form(
    client: TestClient, path: str, body: dict, status: int, message: str
) -> None:
    answer = client.post(path, json=body)
    assert answer.status_code == status
    assert message in answer.json()["error"]["message"]


def test_the_page_and_its_files(client: TestClient) -> None:
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "unsafe-inline" not in page.headers["content-security-policy"]
    names = ["app.js", "api.js", "beams.js", "dom.js", "results.js", "theme.js", "why.js"]
    for name in names:
        answer = client.get(f"/static/{name}")
        assert answer.headers["content-type"].startswith("text/javascript"), name
        assert "http://www.w3.org/2000/svg" in answer.text or "http" not in answer.text, name
    assert "<script>" not in page.text
    assert client.get("/static/style.css").headers["content-type"].startswith("text/css")
