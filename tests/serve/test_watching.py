"""/health, /ready, /metrics, the log, the page's files."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families
from served import AUTHORIZED, Foods, client

from tsgen.serve import routes as static
from tsgen.serve.guard import write_logs


def test_health_and_readiness() -> None:
    with client(Foods()) as http:
        assert http.get("/health").json() == {"status": "ok"}
        assert http.get("/ready").json() == {"status": "ready", "documents": 3}
        http.app.state.serving.model.close()
        ready = http.get("/ready")
        assert (ready.status_code, ready.headers["Retry-After"]) == (503, "1")
        assert http.get("/health").status_code == 200


def test_metrics() -> None:
    with client(Foods()) as http:
        http.post("/search", json={"queries": ["rice", "bread"]})
        http.post("/search", json={})
        http.get("/documents/d1")
        http.get("/documents/d2")
        http.get("/some/where")
        answer = http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    found = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert found["tsgen_requests_total", "/search", "200", "POST"] == 1
    assert found["tsgen_requests_total", "/search", "422", "POST"] == 1
    assert found["tsgen_requests_total", "/documents/{document_id}", "200", "GET"] == 2
    assert found["tsgen_requests_total", "404", "GET", "none"] == 1
    assert found["tsgen_request_seconds_count", "/search"] == 2
    assert (found["tsgen_batch_queries_sum",], found["tsgen_documents",]) == (2, 3)


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What the server writes to its log."""
    loggers = [logging.getLogger(name) for name in ("tsgen.serve", "uvicorn.error")]
    before = [(logger.handlers, logger.propagate, logger.level) for logger in loggers]
    stream = io.StringIO()
    write_logs(stream)
    yield stream
    for logger, (handlers, propagate, level) in zip(loggers, before, strict=True):
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


def test_the_log_has_lengths_and_no_texts(logged: io.StringIO) -> None:
    secret = "a secret"
    with client(Foods()) as http:
        answers = [
            http.post("/search", json={"queries": [secret, secret], "where": secret}),
            http.post("/search", json={"query": secret, "k": 0}),
            http.put("/documents/s", json={"text": secret, "title": secret}, headers=AUTHORIZED),
            http.get(f"/{secret}?q={secret}"),
        ]
    assert "secret" not in logged.getvalue()
    lines = [json.loads(line) for line in logged.getvalue().splitlines()]
    requests = [line for line in lines if line["event"] == "request"]
    assert [line["status"] for line in requests] == [200, 422, 201, 404]
    assert [line["request"] for line in requests] == [a.headers["X-Request-ID"] for a in answers]
    found = {name: requests[0][name] for name in ("method", "route", "queries", "characters")}
    assert found == {"method": "POST", "route": "/search", "queries": 2, "characters": 16}
    assert (requests[0]["filter"], requests[0]["hits"], requests[2]["characters"]) == (8, 0, 16)
    assert requests[3]["route"] == "none"


def test_an_error_of_ours_is_logged_without_its_message(logged: io.StringIO) -> None:
    with client(Foods()) as http:
        answer = http.post("/search", json={"query": "break"})
    assert answer.status_code == 500
    error, request = (json.loads(line) for line in logged.getvalue().splitlines())
    assert answer.json()["error"]["message"].endswith(f"the request {error['request']}.")
    assert (error["event"], error["exception"]) == ("error", "RuntimeError")
    assert error["raised_in"][-1].endswith(" search")
    assert request["status"] == 500
    assert "secret" not in logged.getvalue() + answer.text


def test_the_page_and_nothing_else(tmp_path, monkeypatch) -> None:
    (tmp_path / "index.html").write_text("<p>page</p>")
    (tmp_path / "app.js").write_text("1")
    monkeypatch.setattr(static, "PAGE", tmp_path)
    with client(Foods()) as http:
        page = http.get("/")
        assert (page.text, page.headers["X-Content-Type-Options"]) == ("<p>page</p>", "nosniff")
        assert "default-src 'self'" in page.headers["Content-Security-Policy"]
        assert "javascript" in http.get("/static/app.js").headers["content-type"]
        for path in ("/static/", "/static/..%2Fserved.py", "/static/%00", "/static/other.js"):
            assert http.get(path).status_code == 404, path
