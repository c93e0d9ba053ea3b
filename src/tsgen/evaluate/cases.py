"""The case study (Table 7): one document, two queries, and the order of its terms for each."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, islice
from typing import Any

from tsgen.corpus.dataset import DataSet
from tsgen.errors import ConfigError, DataError
from tsgen.evaluate.tables import Column, Row, Table
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.explaining import Explanation, explain
from tsgen.retrieve.snippet import query_keys
from tsgen.terms.words import Splitter

SHOWN = 3  # cases
LOOKED_AT = 100  # documents, at the most


@dataclass(frozen=True, slots=True)
class Case:
    """A document that two queries find first, by different orders of its terms."""

    document: str
    title: str
    queries: tuple[str, str]
    orders: tuple[tuple[str, ...], tuple[str, ...]]
    matching: tuple[tuple[str, ...], tuple[str, ...]]  # the terms that the query has
    log_probs: tuple[float, float]

    @property
    def difference(self) -> int:
        """How many places the terms of one order are away from those of the other."""
        first, second = self.orders
        return sum(abs(i - second.index(term)) for i, term in enumerate(first))

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def find_cases(engine: object, data: DataSet, split: str, number: int = SHOWN) -> list[Case]:
    """Of the documents that several of a split's queries ask for, and find first, those whose two
    orders differ most."""
    if not isinstance(engine, Engine):
        raise ConfigError("cases are those of an engine; expected rows with the system tsgen")
    found = list(islice(_cases(engine, data, split), LOOKED_AT))
    if not found:
        raise DataError(
            f"{data.name}, {split}: no document is found first by two of its queries; expected "
            "documents with several queries. Choose a larger split."
        )
    return sorted(found, key=lambda case: -case.difference)[:number]


def _cases(engine: Engine, data: DataSet, split: str) -> Iterator[Case]:
    splitter, queries = Splitter(engine.config.terms.words), data.queries()
    for document, ids in _asked(data, split).items():
        texts = [queries[id].text for id in ids]
        hits = engine.search(texts, k=1)
        right = [t for t, h in zip(texts, hits, strict=True) if h and h[0].document_id == document]
        if len(right) > 1:
            explained = explain(engine, document, right)
            for pair in combinations(explained, 2):
                yield _case(engine, document, pair, splitter)


def _asked(data: DataSet, split: str) -> dict[str, list[str]]:
    """Document → its queries, where there are two or more of them (the first three)."""
    asked = defaultdict(list)
    for query, grades in data.judgments(split).items():
        for document, grade in grades.items():
            if grade > 0:
                asked[document].append(query)
    return {document: ids[:3] for document, ids in asked.items() if len(ids) > 1}


def _case(engine: Engine, document: str, pair: tuple[Explanation, ...], splitter: Splitter) -> Case:
    first, second = pair
    matching = tuple(
        tuple(t for t in one.terms if splitter.key(t) in query_keys(one.query, splitter))
        for one in pair
    )
    return Case(
        document,
        engine.document(document).title,
        (first.query, second.query),
        (first.terms, second.terms),
        (matching[0], matching[1]),
        (first.log_prob, second.log_prob),
    )


def cases_table(cases: Sequence[Case], title: str) -> Table:
    """A row for each query, terms that it has in capitals."""
    rows = [
        Row(case.queries[i], [_order(case, i), case.log_probs[i]], case.title or case.document)
        for case in cases
        for i in range(2)
    ]
    columns = [Column("terms in the order of the model", None), Column("log p", None, 1)]
    notes = {"capitals": "terms that the query has"}
    return Table(columns, rows, title, notes, label="query", group_label="document")


def _order(case: Case, number: int) -> str:
    has = case.matching[number]
    return " › ".join(term.upper() if term in has else term for term in case.orders[number])
