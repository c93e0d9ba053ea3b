"""False pruning of sequence systems: what the counts call lost is what the search does not find."""

from pathlib import Path

import pytest
from thirty import NAMES, fitted, write_thirty

from tsgen.evaluate.pruning import count_prunings, judged, schemes_of, stories


@pytest.mark.parametrize("name", ["dsi", "genre"])
def test_lost_is_not_found(name: str, tmp_path: Path) -> None:
    data = write_thirty(tmp_path / "thirty")
    retriever = fitted(name, data, tmp_path, train={"epochs": 0})
    pairs = judged(data, "test", limit=10)
    for beam in (3, 100):
        schemes = schemes_of(name, retriever, beam)
        (found,) = count_prunings("thirty", schemes, pairs).schemes
        hits = retriever.search([query for query, _ in pairs], len(NAMES), beam)
        for (query, document), step, answer in zip(pairs, found.steps, hits, strict=True):
            (story,) = stories(schemes, query, document)
            assert (document in {hit.document_id for hit in answer}) == (step == 0)
            assert (story.fall.step if story.fall else 0) == step
        assert bool(found.lost.sum()) == (beam == 3)
