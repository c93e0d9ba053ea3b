"""What is found of documents that nothing was learned about (Tables 2 and 3).

With shards, a system is trained on the seen one alone; then the same model is searched over the
documents of the seen shard, of the unseen one, and of both, each with the queries that ask for
them. Every system that can be `reindexed` has a way to identify a document without training: TSGen
chooses its terms by the trained weigher, GENRE has its title, Ultron its URL, SEAL and MINDER its
n-grams, and DSI and NCI the cluster of its nearest neighbour.
"""

from collections.abc import Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tsgen.artifact import hash_strings
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet, some_judged
from tsgen.corpus.shards import ALL, SEEN, TEST, UNSEEN, Shard
from tsgen.errors import ConfigError
from tsgen.evaluate.metrics import Scores, evaluate
from tsgen.evaluate.tables import Column, Row, Table
from tsgen.records import Hit, Run
from tsgen.retrieve.bench import Bench
from tsgen.retrieve.systems import SYSTEMS, Fitted, Searcher, System

SPLITS = {"training": "train", "validation": "dev", "test": TEST}
"""The paper's names of the splits that Table 3 counts."""


def check_reindexed(systems: Sequence[System]) -> None:
    """Refuse systems that know no documents but those that they were fitted on."""
    for each in systems:
        if each.reindex is None:
            able = [name for name in SYSTEMS.names() if SYSTEMS.get(name).reindex is not None]
            raise ConfigError(
                f"{each.name!r} has no identifiers for documents that come after its training, so "
                f"it has no figures on unseen ones; expected one of: {', '.join(able)}. Choose "
                "rows with --rows."
            )


def shard_scores(
    bench: Bench,
    shards: Mapping[str, Shard],
    each: System,
    settings: StageConfig,
    limit: int | None = None,
) -> dict[str, Scores]:
    """A system's scores in each shard, trained on the seen one.

    Args:
        bench: A bench on the seen shard, with its seed and cache.
        shards: The shards by name.
        each: The system.
        settings: Its settings.
        limit: So many of each shard's queries, evenly spread.
    """
    found = {}
    for name in (SEEN, UNSEEN, ALL):
        judged = some_judged(shards[name], TEST, limit)
        queries = [shards[name].queries()[id] for id in judged]
        here = replace(bench, queries=queries)
        if name == SEEN:
            run = here.run(each, settings)
        else:
            run = reindexed_run(here, each, settings, shards[name])
        found[name] = evaluate(run, judged)
    return found


def reindexed_run(bench: Bench, each: System, settings: StageConfig, data: DataSet) -> Run:
    """The hits of a system that was fitted on the bench's data, over other documents."""
    folder, key = bench.fit(each, settings)
    fitted = Fitted(folder, settings, bench.data, bench.seed, bench.cache)
    with TemporaryDirectory() as scratch, ExitStack() as opened:

        def load() -> Searcher:
            assert each.reindex is not None  # checked before
            found = each.reindex(fitted, data, Path(scratch))
            opened.callback(getattr(found, "close", bool))
            return found

        of_both = hash_strings(key, data.fingerprint)
        return bench.search(f"{each.name}-reindexed", of_both, load)


# A collection that grows: trained on D0, then D1, D2, … are added without training.


@dataclass(frozen=True, slots=True)
class GrowthStep:
    """What is found after a part was added: Hit@10 (a relevant document is among the first ten) of
    the queries for the documents that were there first, for all added ones, and for the newest."""

    documents: int
    old: float
    added: float | None
    newest: float | None


def growing(data: DataSet, parts: int, first: float, seed: int, tested: str = TEST) -> list[Shard]:
    """A data set as it grows: a random `first` share of its documents, then the others in equal
    parts, each shard with all that came before it."""
    ids = [document.id for document in data.documents()]
    Random(seed).shuffle(ids)
    start = round(first * len(ids))
    ends = [start + round((len(ids) - start) * part / parts) for part in range(parts + 1)]
    return [Shard(data, f"D{n}", set(ids[:end]), tested) for n, end in enumerate(ends)]


def growth(
    bench: Bench,
    shards: Sequence[Shard],
    each: System,
    settings: StageConfig,
    limit: int | None = None,
) -> list[GrowthStep]:
    """A system's figures as a collection grows, trained on the first shard alone.

    Args:
        bench: A bench on the first shard, with its seed and cache.
        shards: What `growing` gives.
        each: The system.
        settings: Its settings.
        limit: So many of all queries, evenly spread; each is asked once its document is there.
    """
    steps = []
    asked = some_judged(shards[-1], TEST, limit).keys()
    known = [{document.id for document in shard.documents()} for shard in shards]
    for number, shard in enumerate(shards):
        judged = {q: grades for q, grades in shard.judgments(TEST).items() if q in asked}
        queries = [shard.queries()[id] for id in judged]
        here = replace(bench, queries=queries)
        run = here.run(each, settings) if not number else reindexed_run(here, each, settings, shard)
        found = {query: _hit(run.get(query, []), judged[query]) for query in judged}
        before = known[number - 1] if number else set()
        old = [found[q] for q in judged if _about(judged[q], known[0])]
        added = [found[q] for q in judged if not _about(judged[q], known[0])]
        newest = [found[q] for q in judged if number and not _about(judged[q], before)]
        steps.append(GrowthStep(len(known[number]), _mean(old) or 0.0, _mean(added), _mean(newest)))
    return steps


def forgetting(steps: Sequence[GrowthStep]) -> float:
    """F: how much Hit@10 of the first documents' queries fell until the last part was added."""
    return steps[0].old - steps[-1].old


def generalisation(steps: Sequence[GrowthStep]) -> float:
    """GA: the mean over the parts of Hit@10 of each one's queries right after it was added."""
    return _mean([step.newest for step in steps if step.newest is not None]) or 0.0


def _hit(hits: Sequence[Hit], grades: Mapping[str, int]) -> float:
    return float(any(grades.get(hit.document_id, 0) > 0 for hit in hits[:10]))


def _about(grades: Mapping[str, int], ids: Set[str]) -> bool:
    """Whether a relevant document is among these."""
    return any(grade > 0 and document in ids for document, grade in grades.items())


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


# Counting the documents and queries of shards.


def shard_sizes(shards: Mapping[str, Shard]) -> dict[str, dict[str, int | None]]:
    """Table 3: for the seen and the unseen shard the documents, and the queries of each split."""
    return {name: _sizes(shards[name], name == SEEN) for name in (SEEN, UNSEEN)}


def _sizes(shard: Shard, trained: bool) -> dict[str, int | None]:
    """The counts of a shard; an unseen one is tested only."""
    counted = {
        what: len(shard.judgments(split)) if split in shard.splits else None
        for what, split in SPLITS.items()
        if trained or split == TEST
    }
    documents = sum(1 for _ in shard.documents())
    return {"documents": documents} | dict.fromkeys(SPLITS, None) | counted


def shard_table(
    sizes: Mapping[str, Mapping[str, int | None]],
    title: str,
    expected: Mapping[str, Mapping[str, float]],
) -> Table:
    """Table 3, with the paper's counts beside one's own where the data set is the paper's."""
    names = ["documents", *SPLITS]
    known = [name for name in names if any(name in figures for figures in expected.values())]
    columns = [Column(name, None) for name in (*names, *(f"paper {one}" for one in known))]
    rows = []
    for label, own in sizes.items():
        paper = expected.get(label.capitalize(), {})
        told = [int(paper[one]) if one in paper else None for one in known]
        rows.append(Row(label.capitalize(), [*(own[one] for one in names), *told]))
    return Table(columns, rows, title, {"counts": "queries, but of documents"}, label="shard")
