"""How many documents a beam of B finds, and which, by what becomes of decided hypotheses.

    python experiments/decided.py ENGINE DATA [--beam 100] [--limit 50]

searches an engine of the paper's form with the rules of `decode.decided`, with equal sets merged,
and with its terms as a sequence, and writes docs/results/decided-NAME.json and .md. The engine is
that of `tsgen fit DATA --preset paper`, or one with a smaller T5:
`--set model.backbone=flan-t5-small --set weigher.model.encoder=minilm --set queries.writer=none`.
"""

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tsgen.cli.common import progress
from tsgen.cli.publishing import made, publish
from tsgen.corpus.dataset import some_judged
from tsgen.corpus.load import load
from tsgen.decode.search import search
from tsgen.evaluate.tables import Column, Row, Table
from tsgen.retrieve.engine import Engine

RULES: Mapping[str, Mapping[str, Any]] = {
    "as printed": {},
    "equal sets merged": {"merge": "max"},
    "one place for each decided document": {"per_document": 1},
    "decided documents apart": {"decided": "apart"},
    "stop at one document left (the authors)": {"decided": "stop"},
    "as a sequence": {"in_order": True},
    "as a sequence, decided documents apart": {"in_order": True, "decided": "apart"},
}
DEPTH = 100


def main() -> None:
    """Search by every rule, print and write."""
    options = _options()
    data, engine = load(options.data), Engine.load(options.engine)
    judged = some_judged(data, options.split, options.limit)
    found: dict[str, dict[str, float]] = {}
    with progress():
        for name, rule in RULES.items():
            found[name] = _measured(engine, data.queries(), judged, options.beam, rule)
    columns = ["documents a query", "fewest", "M@10", "R@10", "R@100", "seconds a query"]
    rows = [Row(name, [figures[one] for one in columns]) for name, figures in found.items()]
    title = f"{data.name}, {len(judged)} queries of {options.split}, beam {options.beam}"
    shown = [Column(one, None, 1 if "query" in one or one == "fewest" else 3) for one in columns]
    table = Table(shown, rows, title, made(), label="decided hypotheses")
    publish(options.out / f"decided-{data.name}", {"title": title, "rules": found} | made(), table)


def _measured(
    engine: Engine,
    queries: Mapping[str, Any],
    judged: Mapping[str, Mapping[str, int]],
    beam: int,
    rule: Mapping[str, Any],
) -> dict[str, float]:
    """The figures of one rule: documents found, their ranks, and the time."""
    generator = engine.generator
    printed = {"merge": "none", "decided": "continue", "per_document": 0, "beam": beam}
    config = engine.config.decode.model_copy(update=printed | dict(rule))
    texts = [queries[id].text for id in judged]
    since = time.perf_counter()
    hits = search(generator.backbone, generator.constraint, texts, DEPTH, config)
    seconds = (time.perf_counter() - since) / max(len(texts), 1)
    ids = generator.sets.documents
    firsts = []
    for one, grades in zip(hits, judged.values(), strict=True):
        right = {id for id, grade in grades.items() if grade > 0}
        places = [place for place, hit in enumerate(one, 1) if ids[hit.document] in right]
        firsts.append(min(places, default=np.inf))
    rank, counts = np.array(firsts), [len(one) for one in hits]
    return {
        "documents a query": float(np.mean(counts)),
        "fewest": float(min(counts, default=0)),
        "M@10": float(np.mean(np.where(rank <= 10, 1 / rank, 0))),
        "R@10": float(np.mean(rank <= 10)),
        "R@100": float(np.mean(rank <= DEPTH)),
        "seconds a query": seconds,
    }


def _options() -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("engine", type=Path)
    parser.add_argument("data")
    parser.add_argument("--beam", type=int, default=100)
    parser.add_argument("--split", default="test")
    parser.add_argument("--limit", type=int, default=50)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
