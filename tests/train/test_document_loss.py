"""The loss of the order of all documents, some of which have several vectors."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.docids.spelling import words
from tsgen.docids.term_set import TermSets
from tsgen.records import TermSet
from tsgen.settings import DecodeConfig, TrainConfig
from tsgen.terms.passages import UNIT, DocumentVectors
from tsgen.terms.sentences import TextVectors, joined
from tsgen.train.objective import DocumentObjective

COUNTS = [0, 2, 1, 0]
WIDTH = 6
RNG = np.random.default_rng(5)


def texts(count: int, sentences: int = 0) -> TextVectors:
    """Random vectors of so many texts and of so many sentences of each."""
    whole = RNG.normal(size=(count, WIDTH)).astype(np.float32) / 8
    own = [RNG.normal(size=(sentences, WIDTH)).astype(np.float32) / 8 for _ in range(count)]
    return joined(whole, own)


def objective(
    vectors: DocumentVectors, read: torch.Tensor, share: float = 0.0
) -> DocumentObjective:
    """The loss of a model that reads every query as `read` [1, d]."""
    sets = TermSets.of([TermSet(f"d{i}", (f"t{i}",), (1.0,)) for i in range(len(COUNTS))])
    constraint = PostingsConstraint(sets.with_vectors(vectors), words(len(COUNTS)))
    model: Any = SimpleNamespace(
        backbone=SimpleNamespace(query_vectors=lambda queries: read.expand(len(queries), -1)),
        constraint=constraint,
    )
    validation = DecodeConfig(beam=10, normalise="docid", sentence_share=share)
    config = TrainConfig(loss="documents", prior_weight=20.0, iterations=1, validation=validation)
    return DocumentObjective(model, config, ["q", "q"], np.array([1, 2]))


def loss(
    vectors: DocumentVectors, read: torch.Tensor, right: int, share: float = 0.0
) -> torch.Tensor:
    none = np.empty((1, 0), np.int64)
    mask = np.empty((1, 0), np.bool_)
    return objective(vectors, read, share)(["q"], none, mask, np.array([right]), RNG)


def test_a_documents_score_is_that_of_its_nearest_passage_and_so_is_the_gradient() -> None:
    vectors = DocumentVectors.joined(texts(len(COUNTS)), np.array(COUNTS), texts(sum(COUNTS)))
    read = torch.randn(1, WIDTH, generator=torch.manual_seed(0), requires_grad=True)
    found = loss(vectors, read, right=0)
    found.backward()  # type: ignore[no-untyped-call]

    nearest = []
    for document in range(len(COUNTS)):
        own = vectors.row(document).astype(np.float32) / UNIT
        nearest.append(own[np.argmax(own @ read.detach().numpy()[0])])
    scores = 20 * torch.from_numpy(np.stack(nearest)) @ read.detach()[0]
    scores[2] = -torch.inf  # answers the same query
    probs = torch.softmax(scores, dim=0)
    assert torch.allclose(found.detach(), -probs[1].log(), atol=1e-5)
    probs[1] -= 1
    assert read.grad is not None
    assert torch.allclose(read.grad[0], 20 * probs @ torch.from_numpy(np.stack(nearest)), atol=1e-4)


def test_the_nearest_sentence_counts_with_its_share() -> None:
    vectors = DocumentVectors.joined(texts(len(COUNTS), 3), np.array(COUNTS), texts(sum(COUNTS)))
    read = torch.randn(1, WIDTH)
    products = vectors.as_floats() @ read[0].numpy()
    scores = torch.from_numpy(20 * vectors.similarity(products[None], 0.25)[0])
    scores[1] = -torch.inf
    wanted = -torch.log_softmax(scores, dim=0)[2]
    assert torch.allclose(loss(vectors, read, right=1, share=0.25), wanted, atol=1e-4)


def test_documents_of_one_vector_are_scored_by_it() -> None:
    first = texts(len(COUNTS))
    vectors = DocumentVectors.joined(first, np.zeros(len(COUNTS), np.int64), texts(0))
    read = torch.randn(1, WIDTH)
    scores = 20 * torch.from_numpy(first.whole) @ read[0]
    scores[1] = -torch.inf
    wanted = -torch.log_softmax(scores, dim=0)[2]
    assert torch.allclose(loss(vectors, read, right=1), wanted, atol=0.1)
