"""A selector and tf-idf as one weight."""

from pathlib import Path

import pytest

from tsgen.errors import ConfigError
from tsgen.records import Document
from tsgen.settings import LearnedConfig, TfidfConfig, WeigherConfig, WordsConfig
from tsgen.terms.weigher import Selector, Weigher
from tsgen.terms.weigher_training import _WeigherStage
from tsgen.terms.weights import TERM_WEIGHTS, Impact, TfidfWeights
from tsgen.terms.words import Splitter

TEXTS = ["white bread and an egg", "an egg of a level", "white white x9", ""]
DOCUMENTS = [Document(str(i), text) for i, text in enumerate(TEXTS)]
SPLITTER = Splitter(WordsConfig(stem="none"))


def saved(tiny_bert: Path, folder: Path, **shape: object) -> Weigher:
    config = WeigherConfig.from_mapping(
        {"encoder": str(tiny_bert), "window": 24, "overlap": 8} | shape
    )
    impact = Impact.count(TEXTS, SPLITTER) if config.prior == "bm25" else None
    weigher = Weigher(config, SPLITTER, impact).eval()
    weigher.save(folder)
    return weigher


def test_both_have_their_share(tiny_bert: Path, tmp_path: Path) -> None:
    weigher = saved(tiny_bert, tmp_path, prior="bm25", selector=True)
    mixed = TERM_WEIGHTS.get("learned").load(tmp_path, SPLITTER, LearnedConfig(share=0.3))
    rare = TfidfWeights(SPLITTER, Impact.count(TEXTS, SPLITTER), TfidfConfig())
    parts = Selector(weigher).weigh(DOCUMENTS), rare.weigh(DOCUMENTS)
    for found, asked, told in zip(mixed.weigh(iter(DOCUMENTS)), *parts, strict=True):
        assert found.keys() == told.keys()
        expected = {word: asked[word] ** 0.3 * told[word] ** 0.7 for word in told}
        total = sum(expected.values())
        assert found == pytest.approx({word: one / total for word, one in expected.items()})


def test_saved_again_it_weighs_the_same(tiny_bert: Path, tmp_path: Path) -> None:
    saved(tiny_bert, tmp_path, prior="bm25", selector=True)
    kind, config = TERM_WEIGHTS.get("learned"), LearnedConfig(share=0.3)
    first = kind.load(tmp_path, SPLITTER, config)
    (tmp_path / "again").mkdir()
    first.save(tmp_path / "again")
    again = kind.load(tmp_path / "again", SPLITTER, config)
    assert list(again.weigh(DOCUMENTS)) == list(first.weigh(DOCUMENTS))


@pytest.mark.parametrize(
    ("shape", "missing"),
    [({"prior": "bm25"}, "no selector"), ({"selector": True}, "no counts of its corpus")],
)
def test_what_a_share_needs(
    tiny_bert: Path, tmp_path: Path, shape: dict[str, object], missing: str
) -> None:
    saved(tiny_bert, tmp_path, **shape)
    with pytest.raises(ConfigError, match=missing):
        TERM_WEIGHTS.get("learned").load(tmp_path, SPLITTER, LearnedConfig(share=0.3))


def test_a_share_trains_no_other_weigher() -> None:
    whole, half = LearnedConfig(), LearnedConfig(share=0.5)
    assert half.model_dump(exclude={"share"}) == whole.model_dump(exclude={"share"})
    assert not {"share", "options"} & _WeigherStage.model_fields.keys()  # what a cache key is of
