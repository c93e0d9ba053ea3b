"""The loss of the order of all documents, some of which have several vectors."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.docids.spelling import words
from tsgen.docids.term_set import TermSets
from tsgen.records import TermSet
from tsgen.settings import TrainConfig
from tsgen.terms.passages import PassageVectors
from tsgen.train.objective import DocumentObjective

COUNTS = [0, 2, 1, 0]
WIDTH = 6
RNG = np.random.default_rng(5)


def objective(vectors: PassageVectors, read: torch.Tensor) -> DocumentObjective:
    """The loss of a model that reads every query as `read` [1, d]."""
    sets = TermSets.of([TermSet(f"d{i}", (f"t{i}",), (1.0,)) for i in range(len(COUNTS))])
    constraint = PostingsConstraint(sets.with_vectors(vectors), words(len(COUNTS)))
    model: Any = SimpleNamespace(
        backbone=SimpleNamespace(query_vectors=lambda queries: read.expand(len(queries), -1)),
        constraint=constraint,
    )
    config = TrainConfig(loss="documents", prior_weight=20.0, iterations=1)
    return DocumentObjective(model, config, ["q", "q"], np.array([1, 2]))


def loss(vectors: PassageVectors, read: torch.Tensor, right: int) -> torch.Tensor:
    none = np.empty((1, 0), np.int64)
    mask = np.empty((1, 0), np.bool_)
    return objective(vectors, read)(["q"], none, mask, np.array([right]), RNG)


def test_a_documents_score_is_that_of_its_nearest_passage_and_so_is_the_gradient() -> None:
    first = RNG.normal(size=(len(COUNTS), WIDTH)).astype(np.float16)
    more = RNG.normal(size=(sum(COUNTS), WIDTH)).astype(np.float16)
    vectors = PassageVectors.joined(first, np.array(COUNTS), more)
    read = torch.randn(1, WIDTH, generator=torch.manual_seed(0), requires_grad=True)
    found = loss(vectors, read, right=0)
    found.backward()  # type: ignore[no-untyped-call]

    nearest = []
    for document in range(len(COUNTS)):
        own = vectors.row(document).astype(np.float32)
        nearest.append(own[np.argmax(own @ read.detach().numpy()[0])])
    scores = 20 * torch.from_numpy(np.stack(nearest)) @ read.detach()[0]
    scores[2] = -torch.inf  # answers the same query
    probs = torch.softmax(scores, dim=0)
    assert torch.allclose(found.detach(), -probs[1].log(), atol=1e-5)
    probs[1] -= 1
    assert read.grad is not None
    assert torch.allclose(read.grad[0], 20 * probs @ torch.from_numpy(np.stack(nearest)), atol=1e-4)


def test_documents_of_one_vector_are_scored_by_it() -> None:
    first = RNG.normal(size=(len(COUNTS), WIDTH)).astype(np.float16)
    vectors = PassageVectors.joined(first, np.zeros(len(COUNTS), np.int64), first[:0])
    read = torch.randn(1, WIDTH)
    scores = 20 * torch.from_numpy(first.astype(np.float32)) @ read[0]
    scores[1] = -torch.inf
    wanted = -torch.log_softmax(scores, dim=0)[2]
    assert torch.allclose(loss(vectors, read, right=1), wanted, atol=1e-4)
