"""What the search promises, on corpora small enough to follow by hand."""

import numpy as np
import pytest

from oracle.decoding import subword_corpus, word_corpus
from oracle.toy_backbone import ToyBackbone
from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.decode import log_probs as score
from tsgen.decode.search import search
from tsgen.errors import ConfigError
from tsgen.settings import DecodeConfig


class Scripted(ToyBackbone):
    """Probabilities by prefix, as written down in a test."""

    def __init__(self, outputs: int, script: dict[tuple[int, ...], dict[int, float]]) -> None:
        super().__init__(outputs)
        self._script = script

    def row(self, query: str, prefix: tuple[int, ...]) -> np.ndarray:
        given = self._script.get(prefix, {})
        rest = (1 - sum(given.values())) / (self.output_size - len(given))
        return np.log([given.get(token, rest) for token in range(self.output_size)]).astype("f4")


def test_a_set_inside_another_is_reached() -> None:
    corpus = word_corpus([(0, 1, 2), (0, 1)])
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    backbone = Scripted(4, {(): {0: 0.6}, (0,): {1: 0.6}})
    found = search(backbone, constraint, ["q"], 5, DecodeConfig(beam=1))[0]
    assert sorted(hit.document for hit in found) == [0, 1]


def test_hypotheses_compete_term_by_term() -> None:
    # "0 0 0 ," is likely from its second token on; by tokens it would fall behind "1 ,".
    corpus = subword_corpus([(0,), (1,)], [(0, 0, 0), (1,)])
    script = {
        (): {0: 0.4, 1: 0.59},
        (0,): {0: 0.99},
        (0, 0): {0: 0.99},
        (0, 0, 0): {4: 0.99},
        (1,): {4: 0.5},
    }
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    backbone = Scripted(corpus.outputs, script)
    wide, narrow = (
        search(backbone, constraint, ["q"], 2, DecodeConfig(beam=beam))[0] for beam in (2, 1)
    )
    assert [hit.document for hit in wide] == [0, 1]
    assert wide[0].score == pytest.approx(np.log(0.4 * 0.99**3), abs=1e-5)
    assert [hit.document for hit in narrow] == [1]  # one partial spelling at a time


def test_complete_documents_leave_room() -> None:
    # {0} and {1} are complete and best; the beam of 2 still follows both longer documents.
    corpus = word_corpus([(0,), (1,), (2, 4), (3, 4)])
    backbone = Scripted(6, {(): {0: 0.4, 1: 0.3, 2: 0.15, 3: 0.1}})
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    found = search(backbone, constraint, ["q"], 9, DecodeConfig(beam=2))[0]
    assert sorted(hit.document for hit in found) == [0, 1, 2, 3]


def test_equal_sets_take_one_place() -> None:
    # {0, 1} in both orders is better than {0, 2}: unmerged it fills the beam of 2.
    corpus = word_corpus([(0, 1, 3), (0, 2, 3)])
    script = {(): {0: 0.45, 1: 0.45}, (0,): {1: 0.6, 2: 0.3}, (1,): {0: 0.9}}
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    merged, apart = (
        search(Scripted(5, script), constraint, ["q"], 9, DecodeConfig(beam=2, merge=merge))[0]
        for merge in ("max", "none")
    )
    assert [hit.document for hit in merged] == [0, 1]
    assert [hit.document for hit in apart] == [0]


def test_subsets_of_one_document_need_not_fill_the_beam() -> None:
    # Any two of 0, 1, 2, 3 are likelier than 4 and 5, and all lead to the first document.
    corpus = word_corpus([(0, 1, 2, 3), (4, 5, 6)])
    backbone = Scripted(8, {(): {0: 0.25, 1: 0.24, 2: 0.23, 4: 0.22}})
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    crowded, fair = (
        search(backbone, constraint, ["q"], 9, DecodeConfig(beam=4, per_document=most))[0]
        for most in (0, 1)
    )
    assert [hit.document for hit in crowded] == [0]
    assert sorted(hit.document for hit in fair) == [0, 1]


def test_the_probability_of_a_document_is_known_when_it_is_decided() -> None:
    # 0 is in both documents, every other term decides. Over what is valid p is 3/8, 2/8, 1/8 and
    # 2/8, and after 0 it is 1/4, 1/4 and 1/2. Nothing but 0 is ever read by the model.
    corpus = word_corpus([(0, 1, 2), (0, 3)])
    backbone = Scripted(5, {(): {0: 0.3, 1: 0.2, 2: 0.1, 3: 0.2}, (0,): {1: 0.1, 2: 0.1, 3: 0.2}})
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    config = DecodeConfig(normalise="valid", merge="sum")
    first, second = search(backbone, constraint, ["q"], 2, config)[0]
    assert np.exp(first.score) == pytest.approx(2 / 8 + 1 / 8 + 3 / 8 * (1 / 4 + 1 / 4))
    assert np.exp(second.score) == pytest.approx(2 / 8 + 3 / 8 * 1 / 2)
    assert backbone.rows == 1
    # What was generated on the path that gave most, then the rest of the set.
    assert (first.document, first.units, first.valid_documents) == (0, (1, 0, 2), (1, 1, 1))
    assert (second.document, second.units, second.valid_documents) == (1, (3, 0), (1, 1))
    assert np.exp(second.log_probs) == pytest.approx([2 / 8, 1])


def test_early_stop_saves_steps() -> None:
    corpus = word_corpus([(0,), (1, 2, 3, 4, 5)])
    backbone = Scripted(7, {(): {0: 0.98}})
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    search(backbone, constraint, ["q"], 1, DecodeConfig())
    assert backbone.rows == 0
    search(backbone, constraint, ["q"], 2, DecodeConfig())
    assert backbone.rows > 0


def test_memory_is_bounded_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = word_corpus([(0, 1, 2), (0, 1), (2, 3), (3, 0, 1)])
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    queries = ["a", "b", "c", "d", "e"]
    whole = search(ToyBackbone(5), constraint, queries, 9, DecodeConfig(beam=3))
    monkeypatch.setattr(score, "BLOCK", 25)  # five rows of logits at once
    assert search(ToyBackbone(5), constraint, queries, 9, DecodeConfig(beam=3)) == whole


def test_identifiers_of_another_model_are_refused() -> None:
    corpus = word_corpus([(0, 5)])
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    with pytest.raises(ConfigError, match="token 5 but the model has only 3"):
        search(ToyBackbone(3), constraint, ["q"], 1)


def test_no_queries() -> None:
    corpus = word_corpus([(0,)])
    constraint = PostingsConstraint(corpus.arrays, corpus.spelling)
    assert search(ToyBackbone(2), constraint, [], 1) == []
