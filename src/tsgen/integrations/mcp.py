"""MCP: an engine as tools of a language model. `tsgen mcp ENGINE` serves them on stdio."""

from typing import Any

from tsgen.errors import MissingExtraError
from tsgen.integrations.searchable import answers
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.explain import why

try:
    from mcp.server.mcpserver import MCPServer
except ImportError:
    raise MissingExtraError("MCP", "mcp") from None

MOST = 50  # hits of one call: what a language model can read
WIDEST = 400  # the widest beam that `why_document` tries: a model does not wait for minutes

INSTRUCTIONS = (
    "Search a collection of documents. Each hit says which words led to it. To read a whole "
    "document, call read_document with its id."
)


def mcp_server(engine: Engine) -> MCPServer:
    """A server of three tools: search, read a document, say why a document was found or not."""
    server = MCPServer("tsgen", instructions=INSTRUCTIONS)

    @server.tool()
    def search_documents(query: str, k: int = 5, where: str | None = None) -> list[dict[str, Any]]:
        """The best documents for a question, at most 50; `where` filters by metadata, as in
        `year >= 2020`."""
        found = answers(engine, query, max(1, min(k, MOST)), None, where)
        return [
            {
                "id": one.id,
                "title": one.title,
                "text": one.text[:500],
                "score": hit.score,
                "terms": list(hit.reason.terms) if hit.reason else [],
                "metadata": dict(one.metadata),  # apart: whoever wrote it may have named it "id"
            }
            for hit, one in found
        ]

    @server.tool()
    def read_document(document_id: str) -> dict[str, Any]:
        """A document with its whole text."""
        one = engine.document(document_id)
        own = {"id": one.id, "title": one.title, "text": one.text}
        return own | {"metadata": dict(one.metadata)}

    @server.tool()
    def why_document(query: str, document_id: str) -> dict[str, Any]:
        """Whether a document is found for a question, and if not, where it was lost."""
        found = why(engine, query, document_id, widest=WIDEST)
        fall = found.fall
        return {
            "rank": found.rank,
            "terms": list(found.terms),
            "lost_at_term": fall.step if fall else None,
            "cause": fall.cause if fall else None,
            "needed_beam": found.needed_beam,
        }

    return server
