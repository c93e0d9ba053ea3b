"""The weigher that comes with the package."""

from pathlib import Path

import pytest

from toy import copy_damaged, write_beir
from tsgen.corpus.load import load
from tsgen.docids.assign import build_weights, keep_weights, kept_weights, select_terms
from tsgen.errors import ArtifactError, ConfigError
from tsgen.records import Document
from tsgen.settings import PretrainedConfig, TermsConfig
from tsgen.terms import shipped_weigher as pretrained
from tsgen.terms.shipped_weigher import FOLDER
from tsgen.terms.weigher import WEIGHTS, Selector, Weigher

VOLCANO = Document(
    "volcano",
    "Mount Etna is an active volcano on the east coast of Sicily, Italy. It is a rather large one, "
    "and there are several towns around it, which is worth mentioning as well.",
    "Mount Etna",
)
CONFIG = TermsConfig(weights="pretrained", n=2)


def test_it_is_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 15e6


def test_it_knows_what_people_ask_for(tmp_path: Path) -> None:
    data = load(
        write_beir(tmp_path / "set", {"etna": VOLCANO.text, "d2": "green tea"}, {}, test=[])
    )
    (weights,) = build_weights(data, CONFIG, cache=tmp_path).weigh([VOLCANO])
    heaviest = sorted(weights, key=weights.__getitem__, reverse=True)[:8]
    assert {"etna", "volcano", "sicily"} <= set(heaviest)
    assert not {"rather", "several", "worth"} & set(heaviest)
    assert sum(weights.values()) == pytest.approx(1)


def test_it_is_a_mixture(tmp_path: Path) -> None:
    data = load(
        write_beir(tmp_path / "set", {"etna": VOLCANO.text, "d2": "green tea"}, {}, test=[])
    )
    (mixed,) = build_weights(data, CONFIG, cache=tmp_path).weigh([VOLCANO])
    (told,) = build_weights(data, TermsConfig(weights="tfidf"), cache=tmp_path).weigh([VOLCANO])
    (asked,) = Selector(Weigher.load(FOLDER)).weigh([VOLCANO])
    share = PretrainedConfig().share
    expected = {word: asked[word] ** share * told[word] ** (1 - share) for word in told}
    total = sum(expected.values())
    assert mixed == pytest.approx({word: weight / total for word, weight in expected.items()})


def test_what_an_engine_keeps_weighs_the_same(tmp_path: Path) -> None:
    data = load(write_beir(tmp_path / "set", {"d1": "rye bread", "d2": "green tea"}, {}, test=[]))
    select_terms(data, CONFIG, tmp_path / "terms", cache=tmp_path)
    keep_weights(tmp_path / "terms", tmp_path / "kept")
    kept, n = kept_weights(tmp_path / "kept", CONFIG)
    assert n == 2
    built = build_weights(data, CONFIG, cache=tmp_path)
    assert list(kept.weigh([VOLCANO])) == list(built.weigh([VOLCANO]))


def test_its_hash_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_damaged(FOLDER, tmp_path / "weigher", WEIGHTS)
    monkeypatch.setattr(pretrained, "FOLDER", tmp_path / "weigher")
    data = load(write_beir(tmp_path / "set", {"d1": "rye bread"}, {}, test=[]))
    with pytest.raises(ArtifactError, match=WEIGHTS):
        build_weights(data, CONFIG, cache=tmp_path)


def test_weights_of_another_release_are_refused(tmp_path: Path) -> None:
    data = load(write_beir(tmp_path / "set", {"d1": "rye bread", "d2": "green tea"}, {}, test=[]))
    other = CONFIG.model_copy(update={"options": {"sha256": "0" * 64}})
    with pytest.raises(ConfigError, match=r"sha256 = '0+', but the weigher of this package is"):
        build_weights(data, other, cache=tmp_path)
