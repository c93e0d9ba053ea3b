"""Haystack: `Pipeline().add_component("retriever", TsgenRetriever("runs/engine"))`."""

from typing import Any

from tsgen.errors import MissingExtraError
from tsgen.integrations.searchable import answers, metadata
from tsgen.retrieve.collection import Collection

try:
    from haystack import Document, component
except ImportError:
    raise MissingExtraError("Haystack", "haystack") from None


@component
class TsgenRetriever:
    """A component over an engine's folder; as all its settings are plain values, a pipeline with it
    can be saved and loaded."""

    def __init__(self, engine: str, top_k: int = 10, beam: int | None = None) -> None:
        """The folder is opened when the pipeline warms up."""
        self.engine, self.top_k, self.beam = engine, top_k, beam
        self._source: Collection | None = None

    def warm_up(self) -> None:
        """Open the engine."""
        self._source = self._source or Collection.open(self.engine)

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, top_k: int | None = None, where: str | None = None
    ) -> dict[str, list[Any]]:
        """The best documents, with their title and generated terms in `meta`; `where` filters by
        metadata."""
        self.warm_up()
        assert self._source is not None
        found = answers(self._source, query, top_k or self.top_k, self.beam, where)
        documents = [
            Document(id=one.id, content=one.text, meta=metadata(hit, one), score=hit.score)
            for hit, one in found
        ]
        return {"documents": documents}
