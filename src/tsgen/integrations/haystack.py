"""Haystack: `Pipeline().add_component("retriever", TsgenHaystackRetriever("runs/engine"))`."""

from typing import Any

from tsgen.errors import MissingExtraError
from tsgen.integrations.searchable import answers, metadata
from tsgen.retrieve.engine import Engine

try:
    from haystack import Document, component
except ImportError:
    raise MissingExtraError("Haystack", "haystack") from None


@component
class TsgenHaystackRetriever:
    """A component that searches an engine's folder; as all its settings are plain values, a
    pipeline with it can be saved and loaded."""

    def __init__(self, engine: str, top_k: int = 10, beam: int | None = None) -> None:
        """Keep the settings; the folder is opened when the pipeline warms up."""
        self.engine, self.top_k, self.beam = engine, top_k, beam
        self._opened: Engine | None = None

    def warm_up(self) -> None:
        """Open the engine, once."""
        if self._opened is None:
            self._opened = Engine.load(self.engine)

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, top_k: int | None = None, where: str | None = None
    ) -> dict[str, list[Any]]:
        """The best documents, with their title and generated terms in `meta`; `where` filters by
        metadata."""
        self.warm_up()
        assert self._opened is not None
        found = answers(self._opened, query, top_k or self.top_k, self.beam, where)
        documents = [
            Document(id=one.id, content=one.text, meta=metadata(hit, one), score=hit.score)
            for hit, one in found
        ]
        return {"documents": documents}
