"""Which terms the words of a query are."""

from tsgen.settings import WordsConfig
from tsgen.terms.words import Lookup, Splitter

TERMS = ["baking", "bread", "breads", "café", "rye"]


def test_words_of_one_stem_are_one_another() -> None:
    lookup = Lookup(Splitter(), TERMS)
    assert lookup("Who BAKES the best rye?") == ["baking", "rye"]
    assert lookup("rye, rye and more rye") == ["rye"]
    assert lookup("bread") == ["bread", "breads"]  # of documents that were added later
    assert lookup("the toast of the town") == []
    assert lookup("") == []


def test_without_stems_only_the_same_word_is() -> None:
    lookup = Lookup(Splitter(WordsConfig(stem="none")), TERMS)
    assert lookup("baked bread breads") == ["bread", "breads"]


def test_terms_are_added() -> None:
    lookup = Lookup(Splitter(), TERMS)
    grown = lookup.with_terms(["toast"])
    assert grown("toasted rye") == ["toast", "rye"]
    assert grown.with_terms(["ryes"])("toasted rye") == ["rye", "ryes"]
    assert lookup("toasted rye") == ["rye"]
