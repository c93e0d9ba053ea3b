"""The paper's Figure 1 for any query: where each scheme keeps or loses the right document."""

from collections.abc import Sequence
from dataclasses import dataclass

from tsgen.constrain.postings import PostingsConstraint
from tsgen.corpus.dataset import DataSet
from tsgen.decode.search import search
from tsgen.decode.watch import Fall, Standing, Watcher
from tsgen.decode.watch_sequence import SequenceWatcher
from tsgen.errors import DataError
from tsgen.evaluate.schemes import Scheme
from tsgen.retrieve.why import DEPTH


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
