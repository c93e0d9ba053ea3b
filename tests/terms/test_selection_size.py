"""N by what queries ask for."""

from pathlib import Path

import numpy as np
import pytest

from toy import write_beir
from tsgen.corpus.load import load
from tsgen.docids.assign import select_terms, summary
from tsgen.queries.pairs import Pair
from tsgen.settings import TermsConfig, WordsConfig
from tsgen.terms import selection as asked
from tsgen.terms.selection import RankedTerms
from tsgen.terms.words import Splitter

WORDS = [f"w{a}{b}" for a in "abcdefgh" for b in "klmno"]  # forty, none like another's stem
SPLITTER = Splitter(WordsConfig())
# Two documents; the heaviest terms come first.
CANDIDATES = RankedTerms(
    ["x", "y"],
    np.array([0, 40, 80]),
    np.concatenate((np.arange(40), np.arange(40)[::-1])).astype(np.int32),
    np.tile(np.arange(40, 0, -1), 2).astype(np.float32),
    WORDS,
)


def test_the_share_of_a_querys_words_among_the_first_terms() -> None:
    pairs = [Pair(f"{WORDS[0]} {WORDS[12]} {WORDS[30]} unheard", 0), Pair(f"the {WORDS[0]}", 1)]
    # Of x: places 0, 12, 30 and none; of y: the word is its last, the fortieth.
    expected = [1 / 8, 2 / 8, 2 / 8, 3 / 8, (3 / 4 + 1) / 2]
    assert asked.covered(CANDIDATES, pairs, SPLITTER).tolist() == expected
    assert asked.covered(CANDIDATES, [Pair("the", 0)], SPLITTER).tolist() == [0.0] * 5


def chosen(
    tmp_path: Path, queries: list[str], out: Path | None = None, **judged: list[tuple[str, str]]
) -> int:
    documents = {"x": " ".join(WORDS), "y": " ".join(WORDS[:3])}
    texts = {f"q{i}": query for i, query in enumerate(queries)}
    write_beir(tmp_path / "data", documents, texts, **judged)
    config = TermsConfig(weights="tfidf", n="queries")
    out = out or tmp_path / "out"
    select_terms(load(tmp_path / "data"), config, out)
    return summary(out)["n"]


def test_names_need_few_terms_and_details_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_shares = {
        (0.50, 0.51, 0.52, 0.53, 0.54): 12,
        (0.40, 0.45, 0.46, 0.47, 0.48): 16,
        (0.40, 0.45, 0.53, 0.54, 0.55): 24,
        (0.40, 0.45, 0.53, 0.60, 0.61): 32,
        (0.40, 0.45, 0.53, 0.60, 0.70): 48,
        (0.0, 0.0, 0.0, 0.0, 0.0): 12,
    }
    for number, (shares, n) in enumerate(by_shares.items()):
        monkeypatch.setattr(asked, "covered", lambda *_, shares=shares: np.array(shares))
        assert chosen(tmp_path / str(number), [WORDS[0]], train=[("q0", "x")]) == n


def test_queries_decide_and_without_any_it_is_thirty_two(tmp_path: Path) -> None:
    name, details = WORDS[0], " ".join(WORDS)
    assert chosen(tmp_path / "name", [name], train=[("q0", "y")]) == 12
    assert chosen(tmp_path / "details", [details], train=[("q0", "x")]) == 48
    assert chosen(tmp_path / "none", [name], test=[("q0", "x")]) == 48


def test_other_training_queries_are_other_inputs(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert chosen(tmp_path / "a", [WORDS[0]], out, train=[("q0", "y")]) == 12
    assert chosen(tmp_path / "b", [" ".join(WORDS)], out, train=[("q0", "x")]) == 48
