"""LlamaIndex: `TsgenLlamaIndexRetriever(engine).retrieve("a question")`."""

from tsgen.errors import MissingExtraError
from tsgen.integrations.searchable import answers, metadata
from tsgen.retrieve.engine import Engine

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError:
    raise MissingExtraError("LlamaIndex", "llamaindex") from None


class TsgenLlamaIndexRetriever(BaseRetriever):
    """A LlamaIndex retriever; text nodes have their title and generated terms in the metadata."""

    def __init__(
        self, engine: Engine, k: int = 10, beam: int | None = None, where: str | None = None
    ) -> None:
        """Search an engine for `k` documents; `where` filters by metadata."""
        self._engine, self._k, self._beam, self._where = engine, k, beam, where
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = query_bundle.query_str
        return [
            NodeWithScore(
                node=TextNode(id_=found.id, text=found.text, metadata=metadata(hit, found)),
                score=hit.score,
            )
            for hit, found in answers(self._engine, query, self._k, self._beam, self._where)
        ]
