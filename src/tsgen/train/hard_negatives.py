"""Hard negatives: documents that a retriever ranks high for a training query, but are no answers.

They compete with the answer in the loss that ranks documents. The retriever is named by the setting
`train.hard_negatives_from`:

- `bm25`: BM25, whose negatives share the query's words;
- `itself`: the model that training starts from, which ranks all documents by its set prior;
- a run file for the training queries, made by any system. With `train.distil` that system is a
  teacher, too: among the answer and the hard negatives D', it holds a document D to be right with

      τ(D) = exp s(D) / Σ exp s(D'),

  where s are the system's scores. This is the probability that a contrastive loss gives them.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

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
from tsgen.train.examples import HardNegatives

CHUNK = 256  # queries searched at once


def find_hard_negatives(
    data: DataSet, generator: Generator, pairs: Sequence[Pair], config: TrainConfig, seed: int
) -> HardNegatives | None:
    """`config.hard_negatives` documents for each pair; None where the settings want none."""
    count = config.hard_negatives
    if not count:
        return None
    if config.hard_negatives_from == BM25:
        index = LexicalIndex.build(document.contents for document in data.documents())
        return HardNegatives(with_negatives(index, pairs, count, seed).negatives)
    rng, size = np.random.default_rng(seed), len(generator.sets)
    answers = answers_of(pairs)
    if config.hard_negatives_from == ITSELF:
        ranked = dict(_by_prior(generator, list(answers), count + max(map(len, answers.values()))))
        scores: Mapping[str, Mapping[int, float]] = {}
    else:
        scores = _by_run(Path(config.hard_negatives_from), data, generator.sets.document_numbers())
        ranked = {query: list(scored) for query, scored in scores.items()}
    rows = [
        without_answers(ranked.get(pair.query, []), answers[pair.query], count, size, rng)
        for pair in pairs
    ]
    documents = np.array(rows, dtype=np.int64).reshape(len(pairs), count)
    if not config.distil:
        return HardNegatives(documents)
    probs = [
        _teacher_probs(scores.get(pair.query, {}), (pair.document, *row))
        for pair, row in zip(pairs, rows, strict=True)
    ]
    return HardNegatives(documents, np.array(probs, dtype=np.float32))


def _by_prior(
    generator: Generator, queries: Sequence[str], count: int
) -> Iterator[tuple[str, list[int]]]:
    """Each query with the best documents of the model's set prior."""
    parts, how = (generator.backbone, generator.constraint), DecodeConfig(prior="weighted")
    for start in range(0, len(queries), CHUNK):
        show("hard negatives", start, len(queries))
        chunk = queries[start : start + CHUNK]
        for query, hits in zip(chunk, search_by_prior(*parts, chunk, count, how), strict=True):
            yield query, [hit.document for hit in hits]


def _by_run(path: Path, data: DataSet, numbers: Mapping[str, int]) -> dict[str, dict[int, float]]:
    """The text of each training query → its hits, best first, with their scores."""
    run, queries, judged = read_run(path), data.queries(), data.judgments("train")
    known = {queries[id].text: hits for id, hits in run.items() if id in judged}
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


def _teacher_probs(scored: Mapping[int, float], documents: Sequence[int]) -> list[float]:
    """τ of some documents, of which the first is the answer.

    A document that the teacher did not find has the lowest score of those that it did. Where the
    teacher's run does not have the query, the answer alone is right.
    """
    if not scored:
        return [1.0] + [0.0] * (len(documents) - 1)
    least = min(scored.values())
    scores = np.array([scored.get(document, least) for document in documents])
    raised = np.exp(scores - scores.max())
    shares: list[float] = (raised / raised.sum()).tolist()
    return shares
