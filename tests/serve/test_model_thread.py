"""The thread that owns the model: order, batches, failures, the end."""

import threading
from collections.abc import Sequence

import pytest

from tsgen.records import Hit
from tsgen.serve.http_errors import HttpError
from tsgen.serve.worker import Ask, ModelThread

TEN, TWENTY = Ask(10), Ask(20)


class Model:
    """Notes what it is asked; waits until it may go on."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[str], Ask]] = []
        self.began, self.may_go_on = threading.Event(), threading.Event()

    def search(self, queries: Sequence[str], ask: Ask) -> list[list[Hit]]:
        self.calls.append((list(queries), ask))
        self.began.set()
        self.may_go_on.wait(20)
        if "bad" in queries:
            raise RuntimeError("bad")
        return [[Hit(query, 0.0)] for query in queries]


@pytest.fixture
def model() -> Model:
    return Model()


def busy_thread(model: Model, batch: int = 8, most: int = 10) -> ModelThread:
    """One whose model is at work on `first`."""
    thread = ModelThread(model.search, batch, most)
    thread.search(["first"], TEN)
    assert model.began.wait(20)
    return thread


def test_the_oldest_first_and_those_like_it(model: Model) -> None:
    thread = busy_thread(model, batch=2)
    for query, ask in [("a", TEN), ("b", TWENTY), ("c", TEN), ("d", TEN), ("e", TWENTY)]:
        thread.search([query], ask)
    model.may_go_on.set()
    thread.close()
    expected = [(["a", "c"], TEN), (["b", "e"], TWENTY), (["d"], TEN)]
    assert model.calls == [(["first"], TEN), *expected]


def test_other_work_has_its_turn(model: Model) -> None:
    thread = busy_thread(model)
    before = thread.search(["a"], TEN)
    seen = thread.call(lambda: [queries for queries, _ in model.calls])
    after = thread.search(["b"], TEN)
    model.may_go_on.set()
    assert [future.result(20)[0].document_id for future in before + after] == ["a", "b"]
    assert seen.result(20) == [["first"], ["a", "b"]]
    thread.close()


def test_only_the_query_to_blame_fails(model: Model) -> None:
    thread = busy_thread(model)
    good, bad, fine = thread.search(["good", "bad", "fine"], TEN)
    model.may_go_on.set()
    assert good.result(20) == [Hit("good", 0.0)]
    assert fine.result(20) == [Hit("fine", 0.0)]
    with pytest.raises(RuntimeError):
        bad.result(20)
    assert thread.alive()
    thread.close()


def test_who_has_gone_is_not_searched_for(model: Model) -> None:
    thread = busy_thread(model)
    gone, stays = thread.search(["gone", "stays"], TEN)
    assert gone.cancel()
    model.may_go_on.set()
    thread.close()
    assert stays.result(20) == [Hit("stays", 0.0)]
    assert model.calls[1:] == [(["stays"], TEN)]


def test_all_queries_of_a_request_or_none(model: Model) -> None:
    thread = busy_thread(model, most=3)
    thread.search(["a", "b"], TEN)
    with pytest.raises(HttpError, match="found 3 queries waiting"):
        thread.search(["c", "d"], TEN)
    thread.search(["e"], TEN)
    model.may_go_on.set()
    thread.close()
    assert model.calls[1:] == [(["a", "b", "e"], TEN)]


def test_after_the_end_nothing_is_taken(model: Model) -> None:
    model.may_go_on.set()
    thread = busy_thread(model)
    thread.close()
    assert not thread.alive()
    with pytest.raises(HttpError):
        thread.search(["late"], TEN)
