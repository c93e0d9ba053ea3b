"""LangChain: `TsgenLangChainRetriever(engine=engine).invoke("a question")`."""

from typing import Any

from tsgen.errors import MissingExtraError
from tsgen.integrations.searchable import answers, metadata

try:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ImportError:
    raise MissingExtraError("LangChain", "langchain") from None


class TsgenLangChainRetriever(BaseRetriever):
    """A LangChain retriever; documents have their title, score and generated terms in the
    metadata."""

    engine: Any
    """The `Engine` to search."""

    k: int = 10
    beam: int | None = None
    where: str | None = None
    """A filter by metadata, such as `year >= 2020`."""

    def _get_relevant_documents(self, query: str) -> list[Document]:
        return [
            Document(id=found.id, page_content=found.text, metadata=metadata(hit, found))
            for hit, found in answers(self.engine, query, self.k, self.beam, self.where)
        ]
