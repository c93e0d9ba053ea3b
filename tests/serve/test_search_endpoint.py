"""POST /search."""

import asyncio
from contextlib import ExitStack

import httpx2
import pytest
from served import Foods, client

from tsgen.records import Reason
from tsgen.serve.app import create_app
from tsgen.serve.http_errors import HttpError
from tsgen.serve.limits import Limits, Shares


def test_one_query() -> None:
    with client(Foods()) as http:
        answer = http.post("/search", json={"query": "sour rice"})
    assert answer.status_code == 200
    first = {"document": "d2", "score": 0.0, "title": "Food", "snippet": "sour rice"}
    (result,) = answer.json()["results"]
    assert result["query"] == "sour rice"
    assert result["hits"][0] == first
    assert [hit["document"] for hit in result["hits"]] == ["d2", "shop/d3"]


def test_many_queries_in_their_order_and_k() -> None:
    with client(Foods()) as http:
        asked = {"queries": ["rice", "nothing", "bread"], "k": 1}
        results = http.post("/search", json=asked).json()["results"]
    found = [[hit["document"] for hit in result["hits"]] for result in results]
    assert found == [["d2"], [], ["d1"]]


def test_the_answer_says_how_a_misspelt_query_was_read() -> None:
    with client(Foods()) as http:
        results = http.post("/search", json={"queries": ["braed", "bread"]}).json()["results"]
    assert [result.get("read_as") for result in results] == ["bread", None]


def test_answers_that_are_not_sure_enough_can_be_left_out() -> None:
    with client(Foods()) as http:
        asked = {"query": "rice", "min_confidence": 1}
        (nothing,) = http.post("/search", json=asked).json()["results"]
        refused = http.post("/search", json=asked | {"min_confidence": 1.1})
    assert nothing == {"query": "rice", "hits": []}
    assert refused.status_code == 422


def test_explain_adds_the_reason() -> None:
    with client(Foods()) as http:
        answer = http.post("/search", json={"query": "rice", "explain": True}).json()
    reason = Reason(("rice",), (-0.5,), (2,))
    assert answer["results"][0]["hits"][0]["reason"] == {
        "terms": list(reason.terms),
        "log_probs": list(reason.log_probs),
        "valid_documents": list(reason.valid_documents),
    }


def test_what_was_removed_meanwhile_does_not_come_back() -> None:
    class Removing(Foods):
        def search(self, *asked, **how):
            found = super().search(*asked, **how)
            self.remove(["d2"], prepare=True)
            return found

    with client(Removing()) as http:
        (result,) = http.post("/search", json={"query": "rice"}).json()["results"]
    assert [hit["document"] for hit in result["hits"]] == ["shop/d3"]


def test_a_filter_is_handed_on_and_its_errors_come_back() -> None:
    with client(Foods()) as http:
        answer = http.post("/search", json={"query": "rice", "where": "nonsense"})
    assert answer.status_code == 422
    assert answer.json()["error"]["message"] == "where: found 'nonsense'; expected a comparison"


async def ask_at_once(
    foods: Foods, limits: Limits, queries: list[str], waiting: int | None = None
) -> list[httpx2.Response]:
    """Hold the first search until all others wait."""
    app = create_app(foods, limits=limits)
    foods.may_go_on.clear()
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
        first = asyncio.create_task(http.post("/search", json={"query": "first"}))
        while not foods.calls:
            await asyncio.sleep(0.001)
        others = [asyncio.create_task(http.post("/search", json={"query": q})) for q in queries]
        while app.state.serving.model.waiting() < (waiting or len(queries)):
            await asyncio.sleep(0.001)
        foods.may_go_on.set()
        answers = await asyncio.gather(first, *others)
    app.state.serving.close()
    return answers


@pytest.mark.parametrize(("batch", "calls"), [(8, 2), (2, 4), (1, 7)])
def test_clients_that_wait_are_answered_together(batch: int, calls: int) -> None:
    foods = Foods()
    queries = ["rice", "bread", "white", "sour", "sweet", "none"]
    answers = asyncio.run(ask_at_once(foods, Limits(batch=batch), queries))
    assert len(foods.calls) == calls
    assert [query for call in foods.calls for query in call] == ["first", *queries]
    found = [answer.json()["results"][0] for answer in answers]
    assert [result["query"] for result in found] == ["first", *queries]
    firsts = [[hit["document"] for hit in result["hits"][:1]] for result in found]
    assert firsts == [[], ["d2"], ["d1"], ["d1"], ["d2"], ["shop/d3"], []]


def test_a_full_queue_sends_clients_away() -> None:
    foods = Foods()
    answers = asyncio.run(ask_at_once(foods, Limits(waiting=4), ["rice"] * 5, waiting=2))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 503, 503, 503]
    refused = next(answer for answer in answers if answer.status_code == 503)
    assert refused.headers["Retry-After"] == "1"
    assert "found 3 of your own requests waiting" in refused.json()["error"]["message"]


def test_a_client_leaves_places_for_others() -> None:
    shares = Shares(8)
    with ExitStack() as held:
        for _ in range(6):
            held.enter_context(shares.held("a", 1))
        with pytest.raises(HttpError, match="found 6 of your own"), shares.held("a", 1):
            pass
        for _ in range(4):
            held.enter_context(shares.held("b", 1))
        for client in ("a", "b"):
            with pytest.raises(HttpError, match="found 4 of your own"), shares.held(client, 1):
                pass
    with shares.held("a", 6), shares.held("b", 4):  # all were given back
        pass
