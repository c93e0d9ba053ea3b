"""A collection that changes, against an engine that had the documents from the start.

    python experiments/living.py DATA OTHER --model MODEL

makes an engine of DATA without training, removes documents from it and adds others from OTHER that
have test queries there and no training queries, then asks: do removed documents come back, are the
added ones found by their test queries as well as by an engine whose terms were selected with them
from the start, and how long does it take? Writes docs/results/living.json and living.md.
"""

import shlex
import shutil
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from tsgen.artifact import write_beside
from tsgen.cli.common import progress
from tsgen.config import read_settings
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.load import load
from tsgen.progress import show
from tsgen.records import Document, Judgments
from tsgen.retrieve.bench import run_queries
from tsgen.retrieve.build import index_config, index_documents
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.snapshot import Snapshot

Figures = dict[str, Any]
PREFIX = "added/"  # of the added documents' ids, which may be those of others in DATA


def main() -> None:
    """Measure, print, and write the results."""
    options = _options()
    with progress(), TemporaryDirectory() as work:
        figures = _measure(options, Path(work))
    figures["command"] = shlex.join(["python", *sys.argv])
    print(orjson.dumps(figures, option=orjson.OPT_INDENT_2).decode())  # noqa: T201
    with write_beside(options.out / "living.json") as beside:
        beside.write_bytes(orjson.dumps(figures, option=orjson.OPT_INDENT_2))
    with write_beside(options.out / "living.md") as beside:
        beside.write_text(_page(figures), encoding="utf-8")


def _options() -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("other")
    parser.add_argument("--model", type=Path, help="default: what comes with tsgen")
    parser.add_argument("--count", type=int, default=1000, help="removed, and added, documents")
    parser.add_argument("--together", type=int, default=100, help="documents of one change")
    parser.add_argument("--limit", type=int, help="of the queries for documents that stay")
    parser.add_argument("--set", dest="settings", action="append", default=[])
    parser.add_argument("--preset", default="mini")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    return parser.parse_args()


def _measure(options: Namespace, work: Path) -> Figures:
    data, other = load(options.data), load(options.other)
    documents, rng = list(data.documents()), Random(options.seed)
    removed = sorted(rng.sample([one.id for one in documents], options.count))
    added, asked = _others(other, {one.title for one in documents}, options.count, rng)
    _index(data, options, work / "before")
    shutil.copytree(work / "before", work / "changed")
    with Engine.load(work / "changed") as collection:
        figures = _change(collection, removed, added, options.together)
        engine = collection.snapshot
        figures["removed documents found again"] = _found_again(engine, data, removed)
        figures["changed"] = _recall(engine, asked, "changed")
        stay = _staying(data, removed, options.limit)
        figures["changed, other documents"] = _recall(engine, stay, "documents that stayed")
        figures |= _compacted(collection, asked[0])
    gone = set(removed)
    rest = [one for one in documents if one.id not in gone]
    _index(_written(work / "both.jsonl", [*rest, *added]), options, work / "fresh")
    fresh = Engine.load(work / "fresh")
    figures["from the start"] = _recall(fresh, asked, "from the start")
    figures["from the start, other documents"] = _recall(fresh, stay, "stayed, from the start")
    figures["share of R@10"] = figures["changed"]["R@10"] / figures["from the start"]["R@10"]
    return {"data": data.name, "other": other.name, "queries": len(asked[0]), **figures}


def _others(
    other: DataSet, titles: set[str], count: int, rng: Random
) -> tuple[list[Document], tuple[dict[str, str], Judgments]]:
    """Documents with test queries and no training queries, and the queries whose documents they
    are; a query may have several."""
    seen = {id for grades in other.judgments("train").values() for id in grades}
    new = {one.id: one for one in other.documents() if one.title not in titles}
    fresh = new.keys() - seen
    test = {
        query: grades for query, grades in other.judgments("test").items() if grades.keys() <= fresh
    }
    chosen = _chosen(test, count, rng)
    judged = {
        query: {PREFIX + id: grade for id, grade in grades.items()}
        for query, grades in test.items()
        if grades.keys() <= chosen.keys()
    }
    texts = {query: other.queries()[query].text for query in judged}
    added = [replace(new[id], id=PREFIX + id) for id in chosen]
    return added, (texts, judged)


def _chosen(judged: Judgments, count: int, rng: Random) -> dict[str, None]:
    """At most so many documents, all those of some queries."""
    chosen: dict[str, None] = {}
    for query in rng.sample(sorted(judged), len(judged)):
        both = chosen | dict.fromkeys(judged[query])
        chosen = both if len(both) <= count else chosen
    return chosen


def _staying(
    data: DataSet, removed: Sequence[str], limit: int | None
) -> tuple[dict[str, str], Judgments]:
    """The test queries of documents that stay."""
    gone = set(removed)
    judged = {q: grades for q, grades in data.judgments("test").items() if not gone & grades.keys()}
    judged = dict(list(judged.items())[:limit])
    return {query: data.queries()[query].text for query in judged}, judged


def _index(data: DataSet, options: Namespace, out: Path) -> None:
    config = index_config(read_settings(None, options.settings, options.preset))
    index_documents(data, config, options.model, out, options.cache)


def _written(path: Path, documents: Iterable[Document]) -> DataSet:
    rows = ({"_id": one.id, "title": one.title, "text": one.text} for one in documents)
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return load(path)


def _change(
    collection: Engine, removed: Sequence[str], added: Sequence[Document], together: int
) -> Figures:
    collection.add(added[:1])  # so that the weights are read before the clock starts
    figures: Figures = {"documents": len(collection) - 1}
    start = time.perf_counter()
    collection.remove(removed)
    figures["seconds to remove all"] = time.perf_counter() - start
    start = time.perf_counter()
    collection.add(added[1:], together)
    figures["seconds for each added document"] = (time.perf_counter() - start) / (len(added) - 1)
    start = time.perf_counter()
    _ = collection.snapshot
    figures["seconds until a search sees them"] = time.perf_counter() - start
    start = time.perf_counter()
    collection.add(added[-1:])
    figures["seconds for one document alone"] = time.perf_counter() - start
    start = time.perf_counter()
    _ = collection.snapshot
    figures["seconds until a search sees it"] = time.perf_counter() - start
    return figures | {"removed": len(removed), "added": len(added)}


def _found_again(engine: Engine | Snapshot, data: DataSet, removed: Sequence[str]) -> int:
    """Of the removed documents those that their own test queries, or anything, still finds."""
    gone, queries = set(removed), data.queries()
    asked = [q for q, grades in data.judgments("test").items() if gone & grades.keys()]
    run = run_queries(engine, [queries[query] for query in asked], 100)
    found = {hit.document_id for hits in run.values() for hit in hits}
    return len(gone & found) + len(gone & set(engine.generator.sets.documents))


def _recall(
    engine: Engine | Snapshot, asked: tuple[dict[str, str], Judgments], what: str
) -> dict[str, float]:
    """R@1 and R@10: the share of a query's relevant documents among the best, on average."""
    texts, judged = asked
    best = {1: 0.0, 10: 0.0}
    queries = list(texts)
    for start in range(0, len(queries), 64):
        some = queries[start : start + 64]
        show(what, start, len(queries))
        for query, hits in zip(some, engine.search([texts[q] for q in some], 10), strict=True):
            for depth in best:
                found = {hit.document_id for hit in hits[:depth]} & judged[query].keys()
                best[depth] += len(found) / len(judged[query])
    return {f"R@{depth}": total / len(queries) for depth, total in best.items()}


def _compacted(collection: Engine, texts: dict[str, str]) -> Figures:
    """Whether compaction changes what is found, and how long it takes."""
    queries = list(texts.values())[:64]
    before = collection.search(queries, 10)
    start = time.perf_counter()
    collection.compact()
    seconds = time.perf_counter() - start
    after = collection.search(queries, 10)
    same = [[h.document_id for h in hits] for hits in before] == [
        [h.document_id for h in hits] for hits in after
    ]
    return {"seconds to compact": seconds, "same hits after compaction": same}


def _page(figures: Figures) -> str:
    """The results for a reader."""
    rows = [
        ("added, put into the engine", figures["changed"]),
        ("added, terms selected with them from the start", figures["from the start"]),
        ("other documents, changed engine", figures["changed, other documents"]),
        ("other documents, from the start", figures["from the start, other documents"]),
    ]
    table = "\n".join(f"| {what} | {f['R@1']:.3f} | {f['R@10']:.3f} |" for what, f in rows)
    plain = {k: v for k, v in figures.items() if isinstance(v, int | float) and k != "queries"}
    facts = "\n".join(f"| {name} | {_number(value)} |" for name, value in plain.items())
    return (
        f"# A collection that changes: {figures['data']}\n\n"
        f"{figures['removed']:,} documents removed, {figures['added']:,} of {figures['other']} "
        f"added, found by {figures['queries']:,} test queries that no training has seen.\n\n"
        f"| documents | R@1 | R@10 |\n|---|---|---|\n{table}\n\n"
        f"| figure | |\n|---|---|\n{facts}\n\n"
        f"`{figures['command']}`\n"
    )


def _number(value: float | bool) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"


if __name__ == "__main__":
    main()
