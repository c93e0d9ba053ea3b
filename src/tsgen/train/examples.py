"""What the generator learns from: (query, document) pairs, and the queries that validate it.

Pairs are the training judgments, and as far as wanted those of a file (synthetic queries), and the
documents' own titles and pieces of text (indexing).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tsgen.corpus.dataset import DataSet
from tsgen.corpus.lines import numbered_lines
from tsgen.corpus.problems import BadRecord
from tsgen.corpus.tables import json_object
from tsgen.docids.term_set import TermSets
from tsgen.errors import DataError
from tsgen.queries.pairs import Pair, judged_pairs
from tsgen.records import Document
from tsgen.train.config import PairsConfig

HELD_OUT = 0.05  # share of the training queries that validate where there is no dev split


@dataclass(frozen=True, slots=True)
class Validation:
    """Queries, and the documents that answer each."""

    queries: Sequence[str]
    answers: Sequence[set[int]]


def examples(
    data: DataSet, sets: TermSets, config: PairsConfig, limit: int, seed: int
) -> tuple[list[Pair], Validation]:
    """`numbered_examples` for the documents of term sets; those without a term are not learned."""
    pairs, validation = numbered_examples(data, sets.document_numbers(), config, limit, seed)
    return [pair for pair in pairs if len(sets.terms(pair.document))], validation


def numbered_examples(
    data: DataSet, numbers: Mapping[str, int], config: PairsConfig, limit: int, seed: int
) -> tuple[list[Pair], Validation]:
    """The pairs to train on, and at most `limit` queries to validate with: those of the dev split,
    or some that are held out of training. `numbers` are the documents' by id."""
    asked = judged_pairs(data, "train", numbers) if "train" in data.splits else []
    if config.queries is not None:
        asked += read_pairs(Path(config.queries), numbers)
    own = own_pairs(data, config, seed)
    if not asked and not own:
        raise DataError(
            f"{data.name}: no training queries: it has no judgments named train. Give a file of "
            'them with --queries (lines like {"query": "…", "document": "id"}), or learn from the '
            "documents' own words with --set train.pairs.titles=true --set train.pairs.pieces=4."
        )
    if "dev" in data.splits:
        held_out = judged_pairs(data, "dev", numbers)
    else:
        asked, held_out = _held_out(asked, seed) if asked else ([], own)
    return asked + own, sampled(held_out, limit, seed)


def read_pairs(path: Path, numbers: Mapping[str, int]) -> list[Pair]:
    """The pairs of a JSONL file, in file order; a document that is not there is an error."""
    pairs = []
    for line, text in numbered_lines(path):
        try:
            record = json_object(text)
        except BadRecord as error:
            raise DataError(f"{path}:{line}: {error}") from None
        query, document = record.get("query"), record.get("document")
        if not isinstance(query, str) or str(document) not in numbers:
            raise DataError(
                f'{path}:{line}: found {record!r}; expected {{"query": text, "document": id}} with '
                "the id of a document in this data set. Correct the line, or make the file again."
            )
        pairs.append(Pair(query, numbers[str(document)]))
    return pairs


def own_pairs(data: DataSet, config: PairsConfig, seed: int) -> list[Pair]:
    """The documents' titles and random pieces of their texts, as queries for them."""
    if not (config.titles or config.pieces):
        return []
    return [
        Pair(query, number)
        for number, document in enumerate(data.documents())
        for query in _own_queries(document, config, np.random.default_rng((seed, number)))
    ]


def _own_queries(
    document: Document, config: PairsConfig, rng: np.random.Generator
) -> Iterator[str]:
    if config.titles and document.title:
        yield document.title
    words = document.text.split()
    starts = rng.integers(max(len(words) - config.piece_words, 0) + 1, size=config.pieces)
    for start in starts if words else ():
        yield " ".join(words[start : start + config.piece_words])


def _held_out(pairs: Sequence[Pair], seed: int) -> tuple[list[Pair], list[Pair]]:
    """Some queries with all their pairs taken out; a single query stays and validates, too."""
    queries = list(dict.fromkeys(pair.query for pair in pairs))
    order = np.random.default_rng(seed).permutation(len(queries))
    chosen = {queries[i] for i in order[: max(int(len(queries) * HELD_OUT), 1)]}
    rest = [pair for pair in pairs if pair.query not in chosen]
    return rest or list(pairs), [pair for pair in pairs if pair.query in chosen]


def sampled(pairs: Sequence[Pair], limit: int, seed: int) -> Validation:
    """At most `limit` of the pairs' queries, with all their answers."""
    answers: dict[str, set[int]] = defaultdict(set)
    for pair in pairs:
        answers[pair.query].add(pair.document)
    queries = list(answers)
    order = np.random.default_rng(seed).permutation(len(queries))[:limit]
    chosen = [queries[i] for i in order]
    return Validation(chosen, [answers[query] for query in chosen])
