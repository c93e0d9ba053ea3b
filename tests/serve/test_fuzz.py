"""A few hundred requests that no one should send; the long run is benchmarks/fuzz_server.py."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from served import AUTHORIZED, LOCAL, TOKEN
from starlette.testclient import TestClient

from living import DOCUMENTS, write_engine
from tsgen.retrieve.engine import Engine
from tsgen.serve.access import Access
from tsgen.serve.app import create_app

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
FEW = settings(
    max_examples=100,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine.load(write_engine(tmp_path, DOCUMENTS)) as opened:
        yield opened


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_what_the_description_allows_and_forbids(mode: GenerationMode, engine: Engine) -> None:
    app = create_app(engine, access=Access.of(TOKEN))
    schema = schemathesis.openapi.from_dict(app.openapi())
    schema.app = app

    @FEW
    @given(case=schema.as_strategy(generation_mode=mode))
    def answered(case) -> None:
        case.headers = {**(case.headers or {}), **AUTHORIZED}
        case.call_and_validate(checks=CHECKS, base_url=LOCAL)

    answered()
    app.state.serving.close()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside),
    max_leaves=5,
)
names = st.sampled_from(["query", "queries", "k", "beam", "where", "explain", "text", "metadata"])
bodies = st.binary() | st.dictionaries(names, json_values).map(
    lambda value: json.dumps(value).encode()
)


def test_random_bodies(engine: Engine) -> None:
    app = create_app(engine, access=Access.of(TOKEN))
    with TestClient(app, LOCAL) as http:
        headers = AUTHORIZED | {"Content-Type": "application/json"}

        @FEW
        @given(bodies, st.sampled_from(["/search", "/trace", "/why"]))
        def answered(body: bytes, path: str) -> None:
            for answer in (
                http.post(path, content=body, headers=headers),
                http.put("/documents/a", content=body, headers=headers),
            ):
                assert answer.status_code < 500, answer.text
                assert answer.json()

        answered()
