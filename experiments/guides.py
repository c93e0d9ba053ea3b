"""The project's own guides as a folder of long documents: which questions about them are answered.

    python experiments/guides.py [--documents docs/guides] [--questions FILE] [--first 3]

asks each system the questions of examples/questions/guides.jsonl: exact terms (a setting, a flag,
a file, a rare word, as a rule deep inside of one guide) and questions in other words than the
guide's. It counts those whose guide is among the first hits, and writes docs/results/guides.json
and .md.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from tsgen.cli.common import progress
from tsgen.cli.publishing import made, publish
from tsgen.config import merged, preset
from tsgen.corpus.in_memory import data_set_of
from tsgen.evaluate.tables import Column, Row, Table
from tsgen.records import Hit
from tsgen.retrieve.bench import Bench
from tsgen.retrieve.systems import SYSTEMS

KINDS = {"term": "exact terms", "question": "questions"}
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "bm25": ("bm25", {}),
    "dense": ("dense", {}),
    "tsgen-index, beginnings alone": ("tsgen-index", {"model": {"passages": False}}),
    "tsgen-index": ("tsgen-index", {}),
}
"""The systems, and what differs in their tables from the preset `vectors`."""


def main(arguments: list[str] | None = None) -> None:
    """Ask, print and write."""
    options = _options(arguments)
    questions = [orjson.loads(line) for line in options.questions.read_bytes().splitlines()]
    found, settings = _asked(questions, options)
    systems = [
        {
            "system": name,
            "right": {kind: _right(kind, ranks, questions, options.first) for kind in KINDS},
            "ranks": ranks,
            "settings": settings[name],
        }
        for name, ranks in found.items()
    ]
    notes = made(first=options.first)
    publish(
        options.out / "guides",
        {"questions": questions, "systems": systems} | notes,
        _table(systems, questions, options.first, notes),
    )


def _options(arguments: list[str] | None) -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--documents", default="docs/guides")
    parser.add_argument("--questions", type=Path, default=Path("examples/questions/guides.jsonl"))
    parser.add_argument("--first", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    return parser.parse_args(arguments)


def _asked(
    questions: Sequence[Mapping[str, str]], options: Namespace
) -> tuple[dict[str, list[int | None]], dict[str, Any]]:
    """For each system the rank of each question's guide, from 1, or None if it is not among the
    first ten; and the system's settings."""
    texts = {str(i): question["query"] for i, question in enumerate(questions)}
    data = data_set_of(options.documents, queries=texts)
    ranks, settings = {}, {}
    with TemporaryDirectory() as cache, progress():
        bench = Bench(data, list(data.queries().values()), 10, 0, Path(cache))
        for row, (name, tables) in ROWS.items():
            own = {"preset": merged(preset("vectors"), tables)} if tables else {}
            used = SYSTEMS.get(name).settings({name: own})
            run = bench.run(SYSTEMS.get(name), used)
            asked = enumerate(questions)
            ranks[row] = [_rank(run.get(str(i), []), one["document"]) for i, one in asked]
            settings[row] = used.model_dump(mode="json")
    return ranks, settings


def _rank(hits: Sequence[Hit], document: str) -> int | None:
    ids = [hit.document_id for hit in hits]
    return ids.index(document) + 1 if document in ids else None


def _right(
    kind: str,
    ranks: Sequence[int | None],
    questions: Sequence[Mapping[str, str]],
    first: int,
) -> int:
    asked = zip(questions, ranks, strict=True)
    return sum(one["kind"] == kind and rank is not None and rank <= first for one, rank in asked)


def _table(
    systems: Sequence[Mapping[str, Any]],
    questions: Sequence[Mapping[str, str]],
    first: int,
    notes: Mapping[str, str],
) -> Table:
    """Systems as rows, the right answers to each kind of question as columns."""
    counts = {kind: sum(one["kind"] == kind for one in questions) for kind in KINDS}
    columns = [Column(f"{KINDS[kind]}, of {count}", decimals=0) for kind, count in counts.items()]
    rows = [Row(one["system"], [one["right"][kind] for kind in KINDS]) for one in systems]
    return Table(columns, rows, f"Right among the first {first}, the guides", dict(notes))


if __name__ == "__main__":
    main()
