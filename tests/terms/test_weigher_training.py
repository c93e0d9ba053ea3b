"""Training the weigher: the loss by hand, learning, resuming, and the pairs it learns from."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from tsgen.queries.lexical import LexicalIndex
from tsgen.queries.negatives import ContrastiveSet, hard_negatives
from tsgen.queries.pairs import Pair, pseudo_pairs
from tsgen.records import Document
from tsgen.settings import WeigherConfig, WeigherTraining, WordsConfig
from tsgen.terms import weigher as scoring
from tsgen.terms.weigher import Selector, Weigher, selection_loss
from tsgen.terms.weigher_training import WeigherTrainer
from tsgen.terms.words import Splitter

# Each document has a word that names it ("t…") and one that misleads: the next one's name.
NAMES = [f"t{letter}" for letter in "abcdefgh"]
OTHERS = NAMES[1:] + NAMES[:1]
DOCUMENTS = [
    Document(name, f"{name} white. bread {n}") for name, n in zip(NAMES, OTHERS, strict=True)
]
PAIRS = [Pair(f"{name} bread", i) for i, name in enumerate(NAMES)]
SETTINGS = {"learning_rate": 3e-3, "head_learning_rate": 1e-2, "batch_size": 4, "validate_every": 4}
SETTINGS["window"] = 32


def make(tiny_bert: Path, selector: bool = False) -> Weigher:
    torch.manual_seed(0)
    config = WeigherConfig(encoder=str(tiny_bert), window=32, overlap=8, selector=selector)
    return Weigher(config, Splitter(WordsConfig(stem="none")))


def sets(count: int) -> ContrastiveSet:
    rows = [[(i + 7) % 8, *range(i + 1, i + count)] for i in range(8)]  # i + 7 has the name too
    return ContrastiveSet(PAIRS, np.asarray(rows) % 8)


def silent(step: int, steps: int, loss: float | None, mrr: float | None) -> None:
    pass


def trainer(
    tiny_bert: Path, folder: Path, selector: bool = False, **changes: object
) -> WeigherTrainer:
    config, weigher = WeigherTraining.from_mapping(SETTINGS | changes), make(tiny_bert, selector)
    return WeigherTrainer(weigher, DOCUMENTS, sets(3), sets(3), config, 0, folder, silent)


def test_loss_is_the_papers(tiny_bert: Path, tmp_path: Path) -> None:
    one = trainer(tiny_bert, tmp_path)
    one.weigher.eval()
    batch = np.array([2, 5])
    expected = []
    for i in batch:
        documents = [DOCUMENTS[i]] + [DOCUMENTS[d] for d in sets(3).negatives[i]]
        asked = scoring.queries(one.weigher, [PAIRS[i].query])
        found = scoring.weigh(one.weigher, scoring.documents(one.weigher, documents))
        row = scoring.scores(scoring.weigh(one.weigher, asked), found)[0]
        s = row.detach().numpy().astype(float)
        expected.append(-np.log(np.exp(s[0]) / np.exp(s).sum()))
    assert one._loss(batch).item() == pytest.approx(np.mean(expected), rel=1e-4)


def test_the_selector_s_loss_is_added(tiny_bert: Path, tmp_path: Path) -> None:
    plain, selecting = trainer(tiny_bert, tmp_path), trainer(tiny_bert, tmp_path, selector=True)
    batch = np.array([2, 5])
    for one in (plain, selecting):
        one.weigher.eval()
    asked = scoring.queries(selecting.weigher, [PAIRS[i].query for i in batch])
    found = scoring.documents(selecting.weigher, [DOCUMENTS[i] for i in batch])
    asked, found = (scoring.weigh(selecting.weigher, texts) for texts in (asked, found))
    added = selection_loss(selecting.weigher.select(found.states), asked, found).item()
    difference = selecting._loss(batch).item() - plain._loss(batch).item()
    assert difference == pytest.approx(added, rel=1e-4)
    assert added > 0


def test_the_selector_finds_the_words_that_queries_have(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def selected() -> float:
        found = zip(NAMES, Selector(one.weigher).weigh(DOCUMENTS), strict=True)
        best = [(name, sorted(words, key=lambda word: -words[word])[:2]) for name, words in found]
        return float(np.mean([len({name, "bread"} & set(two)) / 2 for name, two in best]))

    monkeypatch.setattr("tsgen.terms.weigher_training.SELECTED", 2)
    one = trainer(tiny_bert, tmp_path, selector=True, epochs=60, patience=99)
    before = selected()
    one.run()
    assert before < 0.8 < selected()


@pytest.mark.parametrize("in_batch", [False, True])
def test_training_learns_which_word_names(tiny_bert: Path, tmp_path: Path, in_batch: bool) -> None:
    config = WeigherTraining.from_mapping(SETTINGS | {"epochs": 60, "in_batch": in_batch})
    weigher = make(tiny_bert)
    curve: list[float] = []

    def report(step: int, steps: int, loss: float | None, mrr: float | None) -> None:
        if mrr is not None:
            curve.append(mrr)

    best = WeigherTrainer(weigher, DOCUMENTS, sets(3), sets(3), config, 0, tmp_path, report).run()
    assert curve[0] < 0.9
    assert best == 1.0


def test_resumed_training_ends_in_the_same_weights(tiny_bert: Path, tmp_path: Path) -> None:
    config = WeigherTraining.from_mapping(SETTINGS | {"epochs": 6, "patience": 9})

    def run(
        folder: Path, report: Callable[[int, int, float | None, float | None], None]
    ) -> Weigher:
        weigher = make(tiny_bert)
        WeigherTrainer(weigher, DOCUMENTS, sets(3), sets(3), config, 0, folder, report).run()
        return weigher

    def interrupt(step: int, steps: int, loss: float | None, mrr: float | None) -> None:
        if step == 6:  # two steps after the last checkpoint
            raise KeyboardInterrupt

    for name in ("whole", "cut"):
        (tmp_path / name).mkdir()
    whole = run(tmp_path / "whole", silent)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "cut", interrupt)
    resumed = run(tmp_path / "cut", silent)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name]), name


def test_early_stopping(tiny_bert: Path, tmp_path: Path) -> None:
    steps: list[int] = []
    changes = {"epochs": 50, "patience": 2, "learning_rate": 1e-9, "head_learning_rate": 1e-9}
    config = WeigherTraining.from_mapping(SETTINGS | changes)

    def report(step: int, *_: object) -> None:
        steps.append(step)

    WeigherTrainer(make(tiny_bert), DOCUMENTS, sets(3), sets(3), config, 0, tmp_path, report).run()
    assert steps[-1] == 8  # two validations, four steps apart, none better than the start


def test_hard_negatives_are_high_ranked_and_wrong() -> None:
    index = LexicalIndex.build(["white bread", "white egg", "white", "sodium"])
    found = hard_negatives(index, ["white bread"], [{0}], 2, seed=0)
    assert sorted(found[0].tolist()) == [1, 2]


def test_random_documents_fill_missing_negatives() -> None:
    index = LexicalIndex.build(["white bread", "egg", "salt", "sodium"])
    found = hard_negatives(index, ["white"], [{0}], 3, seed=0)
    assert sorted(found[0].tolist()) == [1, 2, 3]


def test_a_corpus_too_small_for_negatives_still_fills() -> None:
    index = LexicalIndex.build(["white bread"])
    assert hard_negatives(index, ["white"], [{0}], 2, seed=0).shape == (1, 2)


def test_pseudo_pairs_never_contain_their_query() -> None:
    documents = [
        Document("a", "One sentence. Another one! A third?", "Title"),
        Document("b", "Only one sentence.", ""),
        Document("c", "", "Only a title"),
    ]
    pairs = pseudo_pairs(documents, seed=0)
    assert [pair.document for pair in pairs] == [0, 0]
    assert pairs[0] == Pair("Title", 0, documents[0].text)
    assert pairs[1].text is not None
    assert pairs[1].query not in pairs[1].text
    assert pairs[1].text.startswith("Title ")
