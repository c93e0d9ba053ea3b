"""PyTerrier: `TsgenPyTerrierRetriever(engine) >> …`. No Java is started."""

from typing import Any

from tsgen.errors import MissingExtraError
from tsgen.records import Hit
from tsgen.retrieve.engine import Engine

try:
    import pandas as pd
    import pyterrier as pt
except ImportError:
    raise MissingExtraError("PyTerrier", "pyterrier") from None


class TsgenPyTerrierRetriever(pt.Transformer):
    """A transformer from queries (qid, query) to results (docno, score, rank), with `terms`, the
    words that led to each."""

    def __init__(
        self, engine: Engine, k: int = 100, beam: int | None = None, where: str | None = None
    ) -> None:
        """Search an engine for `k` documents; `where` filters by metadata."""
        self._engine, self._k, self._beam, self._where = engine, k, beam, where

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """The best documents of each query."""
        pt.validate.query_frame(inp, extra_columns=["query"])
        queries = inp.to_dict("records")
        texts = [row["query"] for row in queries]
        found: list[list[Hit]] = []
        if texts:
            found = self._engine.search(texts, self._k, beam=self._beam, where=self._where)
        rows: list[dict[str, Any]] = [
            {
                **row,
                "docno": hit.document_id,
                "score": hit.score,
                "rank": rank,
                "terms": hit.reason.terms if hit.reason else (),
            }
            for row, hits in zip(queries, found, strict=True)
            for rank, hit in enumerate(hits, pt.model.FIRST_RANK)
        ]
        return pd.DataFrame(rows, columns=[*inp.columns, "docno", "score", "rank", "terms"])
