import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tsgen.errors import ConfigError
from tsgen.records import Document
from tsgen.settings import TfidfConfig, WordsConfig
from tsgen.terms.weights import TERM_WEIGHTS, RandomWeights, Weights, Workspace
from tsgen.terms.words import Splitter

BREAD = Document("d1", "rye bread, breads", title="White bread")
EGG = Document("d2", "an egg and rye")


def corpus(*documents: Document) -> Any:
    def read() -> Iterator[Document]:
        return iter(documents)

    return SimpleNamespace(documents=read)


def build(name: str, *documents: Document, **options: float) -> Weights:
    kind = TERM_WEIGHTS.get(name)
    return kind.build(corpus(*documents), Splitter(), kind.config(**options), Workspace())


def idf(n: int, df: int) -> float:
    return math.log(1 + (n - df + 0.5) / (df + 0.5))


def test_tfidf_by_hand() -> None:
    weights = build("tfidf", BREAD, EGG, title_weight=4, k1=3)
    bread, egg = weights.weigh([BREAD, EGG])
    # "bread" is in the title (4) and twice in the text, once as "breads": tf = 6.
    expected = math.sqrt(idf(2, 1)) * 6 / (6 + 3)
    assert bread == {
        "white": pytest.approx(math.sqrt(idf(2, 1)) * 4 / 7),
        "bread": pytest.approx(expected),
        "breads": pytest.approx(expected),
        "rye": pytest.approx(math.sqrt(idf(2, 2)) / 4),
    }
    assert egg.keys() == {"egg", "rye"}


def test_a_late_word_weighs_less_if_the_lead_counts() -> None:
    document = Document("d", "alpha beta")
    (plain,) = build("tfidf", document).weigh([document])
    (lead,) = build("tfidf", document, lead=0.5).weigh([document])
    assert lead["alpha"] == plain["alpha"]
    assert lead["beta"] == pytest.approx(plain["beta"] / (1 + 0.5 * math.log(2)))


def test_a_word_the_corpus_does_not_have_can_be_weighed() -> None:
    (found,) = build("tfidf", EGG).weigh([Document("new", "toast")])
    assert found == {"toast": pytest.approx(math.sqrt(idf(1, 0)) / 4)}


def test_title_words_alone_in_their_order() -> None:
    title = Document("d3", "an egg and rye", title="White bread, breads and white oats")
    (found,) = build("title", title).weigh([title])
    assert found == {"white": 1.0, "bread": 0.5, "breads": 0.5, "oats": pytest.approx(1 / 3)}
    assert list(build("title", EGG).weigh([EGG])) == [{}]  # it has no title


def test_random_weights_depend_on_seed_document_and_word_alone() -> None:
    weights = RandomWeights(Splitter(), seed=1)
    forth, back = list(weights.weigh([BREAD, EGG])), list(weights.weigh([EGG, BREAD]))
    assert forth == back[::-1]
    assert forth[0]["rye"] != forth[1]["rye"]
    assert forth[0] != next(RandomWeights(Splitter(), seed=2).weigh([BREAD]))
    assert all(0 <= weight < 1 for weight in forth[0].values())


def test_random_weights_are_spread_evenly() -> None:
    splitter = Splitter(WordsConfig(stem="none"))
    document = Document("d", " ".join(f"w{i}" for i in range(2000)))
    (found,) = RandomWeights(splitter, seed=0).weigh([document])
    assert sum(found.values()) / len(found) == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("name", ["control", "random", "tfidf", "title"])
def test_a_document_without_words_has_none(name: str) -> None:
    empty = Document("d", "the of …", title="")
    assert list(build(name, empty).weigh([empty])) == [{}]


def test_an_unknown_name_gets_the_nearest_known_one() -> None:
    assert TERM_WEIGHTS.names() == ["control", "learned", "pretrained", "random", "tfidf", "title"]
    with pytest.raises(ConfigError, match="unknown weights 'tfdif'; did you mean 'tfidf'"):
        TERM_WEIGHTS.get("tfdif")


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match="k1 = -1"):
        TfidfConfig.from_mapping({"k1": -1})


@pytest.mark.parametrize("name", ["random", "tfidf", "title"])
def test_saved_weights_weigh_what_comes_later_as_the_built_ones_do(
    name: str, tmp_path: Path
) -> None:
    kind, new = TERM_WEIGHTS.get(name), Document("d3", "an egg on white toast", title="Egg")
    built = kind.build(corpus(BREAD, EGG), Splitter(), kind.config(), Workspace(seed=7))
    built.save(tmp_path)
    read = kind.load(tmp_path, Splitter(), kind.config())
    assert list(read.weigh([new])) == list(built.weigh([new]))
    own = {"egg"} if name == "title" else {"egg", "white", "toast"}
    assert next(iter(read.weigh([new]))).keys() == own
