"""False pruning: how many right documents the beam loses, and at which step.

A document is lost at step t if some hypothesis led to it before and none does after, and it was not
found. The paper's Figure 1 is one such loss; here they are counted over a test set, for term sets
and for sequences, with the same beam.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tsgen.constrain.constraint import Constraint, Int
from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.corpus.dataset import DataSet, cache_folder_of, some_judged
from tsgen.decode.beam import Step
from tsgen.decode.hypotheses import Texts
from tsgen.decode.observe import END, Fall, SequenceWatcher, Standing, Watcher
from tsgen.decode.search import search
from tsgen.errors import ConfigError, DataError
from tsgen.evaluate.plots import line_plot
from tsgen.evaluate.tables import Column, Row, Table
from tsgen.model.backbone import Backbone
from tsgen.progress import show
from tsgen.retrieve.bench import Bench
from tsgen.retrieve.engine import KIND, Engine
from tsgen.retrieve.explain import DEPTH
from tsgen.retrieve.sequence_systems import SequenceRetriever
from tsgen.retrieve.systems import SYSTEMS, Retriever, check_tables
from tsgen.settings import DecodeConfig

# What false pruning is counted for: DocIDs of some kind and the model that writes them.

SETS, SEQUENCE = "term set", "the same terms by weight"


@dataclass(frozen=True, slots=True)
class Scheme:
    """Identifiers, the model that writes them, and how it is searched."""

    name: str
    backbone: Backbone
    constraint: Constraint
    config: DecodeConfig
    ids: Texts
    number: Callable[[str], int]  # of a document by its id
    unit: Callable[[int], str]  # the text of a unit by its number
    read: Callable[[str], str] = str  # a query as the model is given it

    @property
    def ordered(self) -> bool:
        """Whether only one order of a document's units is valid."""
        return not isinstance(self.constraint, PostingsConstraint)


def engine_schemes(source: Engine, beam: int | None = None) -> list[Scheme]:
    """The engine's term sets, and the same terms as a sequence, written by the same model."""
    engine = source.snapshot
    generator, sets = engine.generator, engine.generator.sets
    constraint = generator.constraint
    both: dict[str, Constraint] = {SETS: constraint, SEQUENCE: constraint.in_order}
    shared = (_plain(engine.config.decode, beam), sets.documents, engine.number, sets.term,
              engine.correct_query)  # fmt: skip
    return [Scheme(name, generator.backbone, each, *shared) for name, each in both.items()]


def _plain(config: DecodeConfig, beam: int | None) -> DecodeConfig:
    """The search without what only sets have (prior, rescoring) and without the early stop: what
    is lost is lost to better hypotheses in the beam."""
    off = {"pool": 0, "fill": 0, "look_ahead": 0.0, "prior_weight": 0.0, "lexical_weight": 0.0}
    return config.with_beam(beam).model_copy(update=off | {"in_order": False, "early_stop": False})


def schemes_of(name: str, retriever: Retriever, beam: int | None = None) -> list[Scheme]:
    """Those of a fitted system."""
    if isinstance(retriever, Engine):
        return engine_schemes(retriever, beam)
    # What is more than a trie of sequences, such as titles that documents share, has one inside.
    sequences = getattr(retriever, "sequences", retriever)
    if isinstance(sequences, SequenceRetriever):
        return [_sequence_scheme(name, sequences, beam)]
    raise ConfigError(
        f"{name!r} generates no identifiers, so nothing is pruned; expected tsgen or a system with "
        "sequence DocIDs, such as dsi or genre."
    )


def _sequence_scheme(name: str, retriever: SequenceRetriever, beam: int | None) -> Scheme:
    generator, names = retriever.generator, retriever.names()
    numbers = generator.ids.document_numbers()

    def number(document_id: str) -> int:
        if document_id not in numbers:
            raise DataError(f"{document_id!r}: no such document; expected an id of the data set")
        return numbers[document_id]

    def unit(token: int) -> str:
        return "end" if token == END else names[token]

    parts = generator.backbone, generator.constraint, _plain(retriever.config.decode, beam)
    return Scheme(name, *parts, generator.ids.documents, number, unit)


def wanted_schemes(
    data: DataSet,
    engine: Path | None,
    systems: Sequence[str],
    tables: Mapping[str, Mapping[str, Any]],
    beam: int | None = None,
    seed: int = 0,
    cache: Path | None = None,
) -> list[Scheme]:
    """Those of several systems, fitted on the data set unless the cache has them; `engine` is the
    folder of one that takes the place of the system tsgen."""
    check_tables(tables)
    bench = Bench(data, (), 0, seed, cache_folder_of(data, cache))
    found = [] if engine is None else engine_schemes(Engine.load(engine), beam)
    for name in dict.fromkeys(systems):
        if engine is not None and name == KIND:
            continue
        each = SYSTEMS.get(name)
        folder, _ = bench.fit(each, each.settings(tables))
        found += schemes_of(name, each.load(folder), beam)
    return found


# The paper's Figure 1 for any query: where each scheme keeps or loses the right document.


@dataclass(frozen=True, slots=True)
class Story:
    """What became of a document under one scheme."""

    scheme: str
    query: str
    document: str
    beam: int
    ordered: bool  # whether the identifier is a sequence
    identifier: tuple[str, ...]
    rank: int | None  # from 1; None: the beam lost it
    standings: tuple[Standing, ...]  # step by step, while it was in the beam
    fall: Fall | None


def stories(schemes: Sequence[Scheme], query: str, document: str) -> list[Story]:
    """Search with every scheme with an eye on the document."""
    return [_story(scheme, query, document) for scheme in schemes]


def _story(scheme: Scheme, query: str, document: str) -> Story:
    number, constraint, config = scheme.number(document), scheme.constraint, scheme.config
    watcher: Watcher | SequenceWatcher = SequenceWatcher(constraint, scheme.unit, number)
    if isinstance(constraint, PostingsConstraint):
        watcher = Watcher(constraint, scheme.ids, _Units(scheme), number, config)
    read = [scheme.read(query)]
    (found,) = search(scheme.backbone, constraint, read, DEPTH, config, observer=watcher)
    ranks = (rank for rank, one in enumerate(found, 1) if one.document == number)
    return Story(
        scheme.name,
        query,
        document,
        config.beam,
        scheme.ordered,
        tuple(scheme.unit(unit) for unit in constraint.identifier(number)),
        next(ranks, None),
        tuple(watcher.standings),
        watcher.fall,
    )


@dataclass(frozen=True, slots=True)
class _Units:
    """The texts of units by number."""

    scheme: Scheme

    def __getitem__(self, number: int) -> str:
        return self.scheme.unit(number)


def right_document(data: DataSet, query: str) -> str:
    """The document that answers a query of the data set; `DataError` where none is known."""
    asked = [one.id for one in data.queries().values() if one.text == query]
    for split in data.splits:
        judged = data.judgments(split)
        for id in asked:
            best = max(judged.get(id, {}).items(), key=lambda grade: grade[1], default=("", 0))
            if best[1] > 0:
                return best[0]
    raise DataError(
        f"{query!r}: no judgment of {data.name} says which document answers it; expected one of "
        "its queries. Name the right document: --document ID."
    )


PIECE = 64  # queries between two reports of progress
Pair = tuple[str, str]
"""A query's text and the id of a document that answers it."""


@dataclass(frozen=True, slots=True)
class Prunings:
    """For each pair the step at which its document was lost, 0 where it was found."""

    scheme: str
    beam: int
    longest: int  # units of the longest identifier
    steps: Int  # [P]

    @property
    def lost(self) -> Int:
        """[longest] how many documents were lost at each step."""
        return np.bincount(self.steps, minlength=self.longest + 1)[1:]

    @property
    def share(self) -> float:
        """Of the right documents that were lost."""
        return float((self.steps > 0).mean()) if len(self.steps) else 0.0


@dataclass(frozen=True)
class PruningCounts:
    """The false prunings of several schemes on the same pairs."""

    title: str
    schemes: Sequence[Prunings]

    @cached_property
    def last(self) -> int:
        """The last step at which some scheme lost a document."""
        return max(int(one.steps.max(initial=0)) for one in self.schemes)

    def table(self) -> Table:
        """A row for each scheme: losses at every step, and in all."""
        columns = [Column(f"step {step}", None) for step in range(1, self.last + 1)]
        rows = [
            Row(one.scheme, [*_padded(one.lost, self.last), int(one.lost.sum()), 100 * one.share])
            for one in self.schemes
        ]
        ends = [Column("lost", "low"), Column("% lost", "low", 1)]
        return Table([*columns, *ends], rows, self.title, self._notes(), label="DocIDs")

    def _notes(self) -> dict[str, str]:
        first = self.schemes[0]
        notes = {
            "false pruning": "right documents that no hypothesis in the beam leads to any more",
            "pairs": f"{len(first.steps):,} of a query and a right document",
            "beam": ", ".join(dict.fromkeys(str(one.beam) for one in self.schemes)),
        }
        for one in self.schemes[1:]:
            kept, other = first.steps == 0, one.steps == 0
            notes[f"only {first.scheme} keeps, against {one.scheme}"] = f"{(kept & ~other).sum():,}"
            notes[f"only {one.scheme} keeps, against {first.scheme}"] = f"{(other & ~kept).sum():,}"
        return notes

    def as_json(self) -> dict[str, Any]:
        """All figures; steps of each pair, so that other questions can be asked."""
        return {
            "title": self.title,
            "notes": self._notes(),
            "schemes": [
                {
                    "scheme": one.scheme,
                    "beam": one.beam,
                    "pairs": len(one.steps),
                    "lost_at_step": one.lost.tolist(),
                    "lost": int(one.lost.sum()),
                    "share_lost": one.share,
                    "step_of_pair": one.steps.tolist(),
                }
                for one in self.schemes
            ],
        }

    def plot(self, path: Path) -> None:
        """The share of right documents lost so far, step by step, as PNG or SVG."""
        series = {one.scheme: self._lost_so_far(one) for one in self.schemes}
        line_plot(path, series, title=self.title, x="step", y="% of right documents lost")

    def _lost_so_far(self, one: Prunings) -> tuple[Int, Any]:
        lost = np.cumsum([0, *_padded(one.lost, self.last)])
        return np.arange(self.last + 1), 100 * lost / max(len(one.steps), 1)


def _padded(values: Int, size: int) -> list[int]:
    return [*values[:size].tolist(), *[0] * (size - len(values))]


def judged(data: DataSet, split: str, limit: int | None = None) -> list[Pair]:
    """The pairs of a split's judgments, of `limit` of its queries."""
    queries, judgments = data.queries(), some_judged(data, split, limit)
    return [
        (queries[query].text, document)
        for query, grades in judgments.items()
        for document, grade in grades.items()
        if grade > 0
    ]


def count_prunings(title: str, schemes: Sequence[Scheme], pairs: Sequence[Pair]) -> PruningCounts:
    """Search for every query with every scheme, with an eye on the right documents."""
    return PruningCounts(title, [_prunings(scheme, pairs) for scheme in schemes])


def _prunings(scheme: Scheme, pairs: Sequence[Pair]) -> Prunings:
    wanted: dict[str, list[int]] = {}
    for query, document in pairs:
        wanted.setdefault(query, []).append(scheme.number(document))
    queries, lost = list(wanted), {}
    for start in range(0, len(queries), PIECE):
        show(f"false pruning, {scheme.name}: queries", start, len(queries))
        together = queries[start : start + PIECE]
        survival = Survival(scheme, [wanted[query] for query in together])
        read, config = [scheme.read(query) for query in together], scheme.config
        parts = scheme.backbone, scheme.constraint, read, config.beam, config
        search(*parts, observer=survival)
        lost.update({(together[query], d): step for (query, d), step in survival.steps.items()})
    steps = np.array([lost[query, scheme.number(d)] for query, d in pairs], dtype=np.int64)
    return Prunings(scheme.name, scheme.config.beam, scheme.constraint.longest, steps)


class Survival:
    """Observes a search over many queries, each with some documents in mind."""

    def __init__(self, scheme: Scheme, wanted: Sequence[Sequence[int]]) -> None:
        self._scheme, self._wanted = scheme, wanted
        self._first = self._asked = 0  # the first query of this batch, and of the next
        self._alive: dict[tuple[int, int], Int] = {}  # the rows that lead to the document
        self.steps = {(query, d): 0 for query, documents in enumerate(wanted) for d in documents}

    def step(self, step: Step) -> None:
        """Called by the search."""
        if step.number == 1:
            self._begin(len(step.bar))
        parent = step.live.row[step.closed.kept.origin]
        found = step.closed.found.take(step.chosen.counted)
        owner = step.closed.kept.query[step.chosen.counted]
        owner = np.repeat(owner, np.diff(found.offsets))
        complete = set(zip(owner.tolist(), found.values.tolist(), strict=True))
        for (query, document), before in list(self._alive.items()):
            rows = self._leading(step, parent, before, document)
            if (query - self._first, document) in complete:
                del self._alive[query, document]
            elif not len(rows):
                del self._alive[query, document]
                self.steps[query, document] = step.number
            else:
                self._alive[query, document] = rows

    def _begin(self, queries: int) -> None:
        """A new batch: each query's row is that of the empty prefix."""
        self._first, self._asked = self._asked, self._asked + queries
        self._alive = {
            (query, document): np.array([query - self._first])
            for query in range(self._first, self._asked)
            for document in self._wanted[query]
        }

    def _leading(self, step: Step, parent: Int, before: Int, document: int) -> Int:
        """The rows that go on, grew from rows that led to the document, and still do."""
        on = step.chosen.on
        own, unit = on[np.isin(parent[on], before)], step.closed.unit
        identifier = [*self._scheme.constraint.identifier(document), END]
        if self._scheme.ordered:
            identifier = identifier[step.number - 1 :][:1]
        leading: Int = own[np.isin(unit[own], identifier)]
        return leading
