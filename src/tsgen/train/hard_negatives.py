"""Documents that are mistaken for the answers: what competes with them in training.

A document that nobody would take for the answer teaches nothing. Those that somebody does,
`train.hard_from`, are

- `bm25`: what shares the query's words;
- `itself`: what the model that training starts from ranks high by its set prior (self-mined);
- the hits of a run file for the training queries, those of any system. It may also teach
  (`train.distil`): of the answer and these documents together, it holds each to be right with

      τ(D) = exp s(D) / Σ exp s(D'),

  where s are its scores, as the contrastive loss that such systems are trained by has it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tsgen.constrain.constraint import Int
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.runs import read_run
from tsgen.decode.search import search_by_prior
from tsgen.errors import DataError
from tsgen.model.generator import Generator
from tsgen.progress import show
from tsgen.queries.lexical import LexicalIndex
from tsgen.queries.negatives import answers_of, with_negatives, without_answers
from tsgen.queries.pairs import Pair
from tsgen.records import Hit
from tsgen.settings import BM25, ITSELF, DecodeConfig, TrainConfig

CHUNK = 256  # queries searched at once


@dataclass(frozen=True, slots=True)
class Mistaken:
    """H documents for each of P pairs, and how right a teacher holds the answer and each of them;
    without a teacher the answer alone is right."""

    documents: Int  # [P, H]
    taught: NDArray[np.float32] | None = None  # [P, 1 + H] with sum 1

    def repeated(self, times: int) -> Self:
        """Each pair's so many times, one beside the other."""
        taught = None if self.taught is None else np.repeat(self.taught, times, axis=0)
        return type(self)(np.repeat(self.documents, times, axis=0), taught)


def mistaken(
    data: DataSet, generator: Generator, pairs: Sequence[Pair], config: TrainConfig, seed: int
) -> Mistaken | None:
    """`config.hard_documents` for each pair, by `config.hard_from`; None if none are wanted."""
    count = config.hard_documents
    if not count:
        return None
    if config.hard_from == BM25:
        index = LexicalIndex.build(document.contents for document in data.documents())
        return Mistaken(with_negatives(index, pairs, count, seed).negatives)
    rng, size = np.random.default_rng(seed), len(generator.sets)
    answers = answers_of(pairs)
    if config.hard_from == ITSELF:
        ranked = dict(_by_prior(generator, list(answers), count + max(map(len, answers.values()))))
        scores: Mapping[str, Mapping[int, float]] = {}
    else:
        scores = _by_run(Path(config.hard_from), data, generator.sets.document_numbers())
        ranked = {query: list(scored) for query, scored in scores.items()}
    rows = [
        without_answers(ranked.get(pair.query, []), answers[pair.query], count, size, rng)
        for pair in pairs
    ]
    documents = np.array(rows, dtype=np.int64).reshape(len(pairs), count)
    if not config.distil:
        return Mistaken(documents)
    taught = [
        _taught(scores.get(pair.query, {}), (pair.document, *row))
        for pair, row in zip(pairs, rows, strict=True)
    ]
    return Mistaken(documents, np.array(taught, dtype=np.float32))


def _by_prior(
    generator: Generator, queries: Sequence[str], count: int
) -> Iterator[tuple[str, list[int]]]:
    """Each query with the documents that the model itself ranks first, in one step a query."""
    parts, how = (generator.backbone, generator.constraint), DecodeConfig(prior="meant")
    for start in range(0, len(queries), CHUNK):
        show("what the model mistakes for answers", start, len(queries))
        chunk = queries[start : start + CHUNK]
        for query, hits in zip(chunk, search_by_prior(*parts, chunk, count, how), strict=True):
            yield query, [hit.document for hit in hits]


def _by_run(path: Path, data: DataSet, numbers: Mapping[str, int]) -> dict[str, dict[int, float]]:
    """The text of each training query → its hits, best first, with their scores."""
    run, queries, asked = read_run(path), data.queries(), data.judgments("train")
    known = {queries[id].text: hits for id, hits in run.items() if id in asked}
    if not known:
        raise DataError(
            f"{path}: none of its {len(run):,} queries is a training query of {data.name}; "
            "expected a run for these. Make one: tsgen compare DATA --systems NAME --split train "
            "--runs FOLDER."
        )
    return {text: dict(_numbered(path, hits, numbers)) for text, hits in known.items()}


def _numbered(
    path: Path, hits: Sequence[Hit], numbers: Mapping[str, int]
) -> Iterator[tuple[int, float]]:
    for hit in hits:
        if hit.document_id not in numbers:
            raise DataError(
                f"{path}: found document {hit.document_id!r}; expected those of this data set. "
                "Make the run with the same documents."
            )
        yield numbers[hit.document_id], hit.score


def _taught(scored: Mapping[int, float], documents: Sequence[int]) -> list[float]:
    """τ of some documents, the answer first. What the teacher did not find is as good as the worst
    that it did; of a query that it was not asked, only the answer is right."""
    if not scored:
        return [1.0] + [0.0] * (len(documents) - 1)
    least = min(scored.values())
    scores = np.array([scored.get(document, least) for document in documents])
    raised = np.exp(scores - scores.max())
    shares: list[float] = (raised / raised.sum()).tolist()
    return shares
