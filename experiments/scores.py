"""How much each part of a document's score should count: log p + λ log m + μ o, on dev queries.

    python experiments/scores.py ENGINE DATA [--name NAME] [--queries 400] [--out docs/results]

One search a query finds the candidates (what the beam found and the prior's best) and the parts of
their scores; every pair of λ (`decode.prior_weight`) and μ (`decode.lexical_weight`) then ranks
these. Writes scores-NAME.json and .md: M@10 by λ and μ.
"""

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tsgen.cli.common import progress
from tsgen.cli.publishing import made, publish
from tsgen.corpus.dataset import DataSet, some_judged
from tsgen.corpus.load import load
from tsgen.decode.ranking import lexical_scores
from tsgen.decode.search import search, search_by_prior
from tsgen.evaluate.tables import Column, Row, Table
from tsgen.progress import show
from tsgen.retrieve.engine import Engine

LAMBDAS, MUS = (0, 2, 5, 8, 12, 20), (0, 0.5, 1, 1.5, 2, 3, 4, 6)
FOUND, BATCH, CUT = 200, 32, 10
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Parts:
    """Of the candidates for one query."""

    generated: Floats  # log p, or that of the last one found
    prior: Floats  # log m
    lexical: Floats  # o
    right: NDArray[np.bool_]

    def reciprocal_rank(self, weight: float, words: float) -> float:
        """1 / the rank of the first right one among the first ten, ordered by λ and μ."""
        scores = self.generated + weight * self.prior + words * self.lexical
        first = np.flatnonzero(self.right[np.argsort(-scores, kind="stable")[:CUT]])
        return 1 / (1 + first[0]) if len(first) else 0.0


def main(arguments: list[str] | None = None) -> None:
    """Search once, rank by every pair."""
    options = _options(arguments)
    engine, data = Engine.load(options.engine), load(options.data)
    with progress():
        parts = parts_of(engine, data, options.queries)
    name = options.name or data.name
    rows = [
        Row(f"μ = {words:g}", [_mean(parts, weight, words) for weight in LAMBDAS]) for words in MUS
    ]
    notes = {"queries": f"{len(parts):,} of dev", "candidates hold the answer": _held(parts)}
    columns = [Column(f"λ = {weight:g}") for weight in LAMBDAS]
    table = Table(columns, rows, f"{name}: M@10", notes | made(), label="")
    figures = {"M@10": {row.label: dict(zip(LAMBDAS, row.values, strict=True)) for row in rows}}
    publish(options.out / f"scores-{name}", figures | notes | made(), table)


def parts_of(engine: Engine, data: DataSet, limit: int) -> list[Parts]:
    """The candidates of some dev queries."""
    judged, queries = some_judged(data, "dev", limit), data.queries()
    numbers = engine.generator.sets.document_numbers()
    right = [{numbers[d] for d, grade in grades.items() if grade > 0} for grades in judged.values()]
    texts = [engine.correct_query(queries[id].text) for id in judged]
    found: list[Parts] = []
    for start in range(0, len(texts), BATCH):
        show("queries", start, len(texts))
        found += _parts(engine, texts[start : start + BATCH], right[start : start + BATCH])
    return found


def _parts(engine: Engine, queries: list[str], right: list[set[int]]) -> list[Parts]:
    backbone, constraint = engine.generator.backbone, engine.generator.constraint
    bare = {"prior_weight": 0.0, "lexical_weight": 0.0, "fill": 0, "prior": "weighted"}
    plain = engine.config.decode.model_copy(update=bare)
    found = search(backbone, constraint, queries, FOUND, plain)
    priors = search_by_prior(backbone, constraint, queries, constraint.documents, plain)
    words = lexical_scores(constraint, queries)
    parts = []
    for hits, by_prior, lexical, answers in zip(found, priors, words, right, strict=True):
        generated = {hit.document: hit.score for hit in hits}
        prior = {hit.document: hit.score for hit in by_prior}
        both = sorted(prior, key=lambda d: -prior[d] - lexical[d] / 4)[:FOUND]
        documents = list(dict.fromkeys([*generated, *both]))
        least = min(generated.values(), default=0.0)
        parts.append(
            Parts(
                np.array([generated.get(document, least) for document in documents]),
                np.array([prior[document] for document in documents]),
                lexical[documents].astype(np.float64),
                np.array([document in answers for document in documents]),
            )
        )
    return parts


def _mean(parts: list[Parts], weight: float, words: float) -> float:
    return float(np.mean([one.reciprocal_rank(weight, words) for one in parts]))


def _held(parts: list[Parts]) -> str:
    return f"{np.mean([one.right.any() for one in parts]):.3f}"


def _options(arguments: list[str] | None) -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("engine", type=Path)
    parser.add_argument("data")
    parser.add_argument("--name", help="of the results; by default that of the data set")
    parser.add_argument("--queries", type=int, default=400, help="of dev, evenly spread")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
