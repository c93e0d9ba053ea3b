"""Learned codes: each part of how they are learned is missed where it is left out."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from tsgen.baselines import genret as _codebooks
from tsgen.baselines.genret import Codebooks, CodePairs, CodeTraining, _figure, learn_codes

HOW = CodeTraining(epochs=15, batch_size=30)


def unit(rows: int, width: int, seed: int) -> np.ndarray:
    found = np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


# Queries say what their documents say, in dimensions that documents do not use.
DOCUMENTS, NOTHING = unit(30, 8, 0), np.zeros((30, 8), np.float32)
ASKED = np.tile(np.hstack((NOTHING, DOCUMENTS)), (3, 1))
PAIRS = CodePairs(np.hstack((DOCUMENTS, NOTHING)), ASKED, np.arange(90) % 30)


def learned(how: CodeTraining, folder: Path, pairs: CodePairs = PAIRS) -> list[list[int]]:
    return learn_codes(pairs, positions=3, codes=6, how=how, seed=0, folder=folder)


def test_codes_tell_documents_apart_position_by_position(tmp_path: Path) -> None:
    codes = learned(HOW, tmp_path)
    prefixes = [len({tuple(row[:n]) for row in codes}) for n in (1, 2, 3)]
    assert prefixes[0] == 6
    assert prefixes[0] < prefixes[1] <= prefixes[2]
    assert prefixes[2] >= 28
    assert learned(HOW, tmp_path / "again") == codes


def figure(how: CodeTraining, folder: Path, monkeypatch: pytest.MonkeyPatch) -> float:
    """How well queries tell codes at the end of the first position."""
    figures: list[float] = []

    def kept(model: Codebooks, *rest: object) -> float:
        figures.append(_figure(model, *rest))  # type: ignore[arg-type]
        return figures[-1]

    monkeypatch.setattr(_codebooks, "_figure", kept)
    learn_codes(PAIRS, positions=1, codes=6, how=replace(how, epochs=80), seed=0, folder=folder)
    return max(figures)


def test_without_retrieval_queries_do_not_tell_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_it = figure(HOW, tmp_path / "a", monkeypatch)
    without = figure(replace(HOW, retrieval=0.0), tmp_path / "b", monkeypatch)
    assert with_it > 0.8
    assert without < 0.5


def after_some_steps(how: CodeTraining, codes: int) -> tuple[Codebooks, torch.Tensor]:
    """Codebooks of one position that started at random, and the scores [D, K] of documents."""
    torch.manual_seed(0)
    model = Codebooks(16, positions=1, codes=codes)
    torch.nn.init.normal_(model.books)
    queries, documents = model.tensor(PAIRS.queries[:30]), model.tensor(PAIRS.documents)
    none, same = torch.zeros(30, 0, dtype=torch.int64), torch.eye(30, dtype=torch.bool)
    steps = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(60):
        steps.zero_grad()
        model.loss(queries, documents, none, same, how).backward()
        steps.step()
    return model, model.scores(model.states(documents, none), 0).detach()


def test_without_reconstruction_codes_tell_less_of_a_vector() -> None:
    def told(how: CodeTraining) -> float:
        """The mean log p of a document by what its code tells."""
        model, scores = after_some_steps(how, codes=30)
        told = normalize(model.decode(scores.argmax(dim=-1)[:, None]).detach(), dim=-1)
        near = told @ model.tensor(PAIRS.documents).T / _codebooks.TEMPERATURE
        return float(near.log_softmax(-1).diagonal().mean())

    with_it, without = told(HOW), told(replace(HOW, reconstruction=0.0))
    assert with_it > without + 0.1


def test_without_commitment_states_are_between_codes() -> None:
    def committed(how: CodeTraining) -> float:
        """The mean log p of a document's own code."""
        _, scores = after_some_steps(how, codes=6)
        return float(scores.log_softmax(-1).max(dim=-1).values.mean())

    with_it, without = committed(HOW), committed(replace(HOW, commitment=0.0))
    assert with_it > without + 0.05


def test_without_balanced_start_codes_are_not_all_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = unit(30, 16, 0)
    crowd[3:] = crowd[0] + 0.05 * crowd[3:]  # nearly all documents are nearly the same
    pairs = replace(PAIRS, documents=crowd)
    still = CodeTraining(epochs=0)
    used = len({row[0] for row in learned(still, tmp_path / "a", pairs)})

    def unbalanced(vectors: np.ndarray, clusters: int, seed: int) -> np.ndarray:
        return np.arange(len(vectors)) % 2  # two clusters, the others stay empty

    monkeypatch.setattr(_codebooks, "balanced_kmeans", unbalanced)
    assert used == 6
    assert len({row[0] for row in learned(still, tmp_path / "b", pairs)}) <= 3


def test_each_position_starts_from_what_the_codes_before_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first position learned would lead all rests to a few codes of the second."""
    vectors = unit(200, 16, 1)
    pairs = CodePairs(vectors, vectors, np.arange(200))

    def prefixes(folder: Path) -> int:
        train, calls = _codebooks._train, []

        def first_only(*arguments: object) -> None:
            if not calls:
                train(*arguments)  # type: ignore[arg-type]
            calls.append(1)

        with monkeypatch.context() as patch:
            patch.setattr(_codebooks, "_train", first_only)
            how = replace(HOW, epochs=40)
            codes = learn_codes(pairs, positions=2, codes=14, how=how, seed=0, folder=folder)
        return len({tuple(row) for row in codes})

    afresh = prefixes(tmp_path / "a")
    monkeypatch.setattr(Codebooks, "begin", lambda self: None)
    assert afresh > 1.2 * prefixes(tmp_path / "b")


def test_interrupted_learning_goes_on_to_the_same_codes(tmp_path: Path) -> None:
    short = replace(HOW, epochs=4)
    whole = learned(short, tmp_path / "whole")
    original, calls = _codebooks._train, []

    def killed(*arguments: object) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        original(*arguments)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_codebooks, "_train", killed)
        with pytest.raises(KeyboardInterrupt):
            learned(short, tmp_path / "cut")
    assert learned(short, tmp_path / "cut") == whole
