"""Carelessness: what a hurried person does to a query."""

from collections.abc import Callable

import numpy as np

from tsgen.pretrain.config import NoiseConfig
from tsgen.pretrain.draw import pick
from tsgen.pretrain.endings import base, with_ending
from tsgen.pretrain.everyday import everyday
from tsgen.terms.words import ENGLISH_STOP_WORDS

SHORTEST = 4  # letters of a word that is changed
ADDED = """actually always based best big called common country different end ever example famous
    first get good group history known last list located long made main meaning much name new now
    old part people place play real show start still story thing time today true two type us use
    used way work world year years""".split()
LETTERS = "abcdefghijklmnopqrstuvwxyz"
Change = Callable[[str, np.random.Generator], str]
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
NEIGHBOURS = {
    letter: row[max(place - 1, 0) : place] + row[place + 1 : place + 2]
    for row in _ROWS
    for place, letter in enumerate(row)
}


def with_noise(text: str, rng: np.random.Generator, config: NoiseConfig) -> str:
    """A query with each kind of noise put on with its probability; never empty."""
    chances = rng.random(6)
    if chances[0] < config.everyday:
        text = everyday(text)
    words = text.split()
    if chances[1] < config.inflect:
        _change(words, rng, inflect)
    if chances[2] < config.misspell:
        _change(words, rng, misspell)
    if chances[3] < config.drop and len(words) > 2:
        del words[int(rng.random() * len(words))]
    if chances[5] < config.add:
        add_word(words, rng)
    text = " ".join(words)
    return text.lower() if chances[4] < config.lower else text


def misspell(word: str, rng: np.random.Generator) -> str:
    """A word with one edit: two letters transposed, or one dropped, doubled or replaced, by its
    neighbour on the keyboard or by any."""
    place = int(rng.random() * len(word))
    before, letter, after = word[:place], word[place], word[place + 1 :]
    kind = int(rng.random() * 5)
    if kind == 0 and after and after[0] != letter:
        return before + after[0] + letter + after[1:]
    if kind == 1:
        return before + letter + letter + after
    if kind in (2, 3) and letter.lower() in NEIGHBOURS:
        others = NEIGHBOURS[letter.lower()] if kind == 2 else LETTERS.replace(letter.lower(), "")
        return before + pick(others, rng) + after
    return before + after


def inflect(word: str, rng: np.random.Generator) -> str:
    """A word without its ending, or with another put on; a name stays."""
    if not word.islower():
        return word
    bare = base(word)
    return bare if bare != word else with_ending(word, pick(("s", "s", "s", "ed", "ing"), rng))


def add_word(words: list[str], rng: np.random.Generator) -> None:
    """Put in one of the words that people add to any query: first, second or last."""
    words.insert(pick((0, 1, len(words), len(words)), rng), pick(ADDED, rng))


def _change(words: list[str], rng: np.random.Generator, change: Change) -> None:
    """Change one content word in place, if there is one."""
    places = [i for i, word in enumerate(words) if _is_changeable(word)]
    if places:
        place = pick(places, rng)
        words[place] = change(words[place], rng)


def _is_changeable(word: str) -> bool:
    return len(word) >= SHORTEST and word.isalpha() and word.lower() not in ENGLISH_STOP_WORDS
