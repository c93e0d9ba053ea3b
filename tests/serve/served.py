"""A collection in memory, which answers as it is told, and an app over it."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.testclient import TestClient

from tsgen.errors import DataError
from tsgen.records import Document, Hit, Reason
from tsgen.serve.access import Access
from tsgen.serve.app import create_app
from tsgen.serve.limits import Limits

TOKEN = "the-token"
LOCAL = "http://localhost"
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}


@dataclass(frozen=True)
class Changed:
    added: int
    updated: int


class Foods:
    """Finds the documents that contain a word of the query; each call of search is noted."""

    def __init__(self) -> None:
        texts = {"d1": "white bread", "d2": "sour rice", "shop/d3": "sweet rice and bread"}
        self.documents = {id: Document(id, text, "Food") for id, text in texts.items()}
        self.calls: list[list[str]] = []
        self.changing = 0
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def search(
        self,
        queries: Sequence[str],
        k: int = 10,
        *,
        beam: int | None = None,
        where: str | None = None,
        min_confidence: float | None = None,
    ) -> list[list[Hit]]:
        self.calls.append(list(queries))
        self.may_go_on.wait(20)
        if where == "nonsense":
            raise DataError("where: found 'nonsense'; expected a comparison")
        if "break" in queries:
            raise RuntimeError("secret text of a document")
        return [[] if min_confidence == 1 else self._hits(query)[:k] for query in queries]

    def _hits(self, query: str) -> list[Hit]:
        found = [d for d in self.documents.values() if set(query.split()) & set(d.text.split())]
        reason = Reason(("rice",), (-0.5,), (2,))
        return [Hit(document.id, -float(i), reason) for i, document in enumerate(found)]

    def correct_query(self, query: str) -> str:
        return query.replace("braed", "bread")

    def document(self, document_id: str) -> Document:
        if document_id not in self.documents:
            raise DataError(f"{document_id!r}: no such document")
        return self.documents[document_id]

    @property
    def snapshot(self) -> "Foods":
        return self

    def add(self, documents: Sequence[Document], *, prepare: bool = False) -> Changed:
        assert prepare  # or a search would have to do it
        self.changing += 1
        self.may_go_on.wait(20)
        added = sum(document.id not in self.documents for document in documents)
        self.documents |= {document.id: document for document in documents}
        return Changed(added, len(documents) - added)

    def remove(self, ids: Sequence[str], *, prepare: bool = False) -> int:
        assert prepare
        for id in ids:
            self.document(id)
            del self.documents[id]
        return len(ids)

    def __len__(self) -> int:
        return len(self.documents)


def client(foods: Foods, token: str | None = TOKEN, **limits: float) -> TestClient:
    """Of an app with these limits; as a context it starts and ends the app."""
    app = create_app(foods, limits=Limits.from_mapping(limits), access=Access.of(token))
    return TestClient(app, LOCAL, raise_server_exceptions=True)
