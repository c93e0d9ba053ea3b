"""English for pseudo-queries: inflection, and everyday words in place of an encyclopedia's."""

import re
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

# Small random choices.

T = TypeVar("T")


def pick(choices: Sequence[T], rng: np.random.Generator) -> T:
    """Draw one of the choices uniformly; several times as fast as `Generator.choice`."""
    return choices[int(rng.random() * len(choices))]


def weighted(weights: NDArray[np.float64], count: int, rng: np.random.Generator) -> list[int]:
    """`count` different places (or all), drawn one after the other in proportion to weights > 0.

    Independent exponential waiting times with these rates: the first to end are such a sample.
    """
    waits = rng.standard_exponential(len(weights)) / weights
    return [int(place) for place in np.argsort(waits, kind="stable")[:count]]


# Adding and removing English endings by rule of thumb.

_DOUBLED = re.compile(r"([bdgmnprt])\1$")
_NEEDS_E = re.compile(
    r"(?:[^aeiou][aiou][cgsvz]|[aeiou][lr]?[cgsvz]|at|[^aeiou]iz|[bcdfgkptz]l|u|[aeiou]nc|rg)$"
)
_IRREGULAR = {
    "became": "become", "began": "begin", "built": "build", "came": "come", "died": "die",
    "fell": "fall", "fought": "fight", "found": "find", "gave": "give", "got": "get",
    "grew": "grow", "had": "have", "has": "have", "held": "hold", "kept": "keep", "led": "lead",
    "left": "leave", "lost": "lose", "made": "make", "married": "marry", "met": "meet",
    "ran": "run", "said": "say", "sang": "sing", "saw": "see", "sold": "sell", "spent": "spend",
    "stood": "stand", "took": "take", "taught": "teach", "told": "tell", "went": "go",
    "won": "win", "wrote": "write", "goes": "go", "does": "do", "dies": "die", "lies": "lie",
    "series": "series", "species": "species",
}  # fmt: skip
PAST_OF_PARTICIPLE = {
    "begun": "began", "broken": "broke", "chosen": "chose", "drawn": "drew", "driven": "drove",
    "given": "gave", "known": "knew", "sung": "sang", "taken": "took", "won": "won",
    "worn": "wore", "written": "wrote",
}  # fmt: skip
IRREGULAR_PAST = "|".join(word for word in _IRREGULAR if not word.endswith(("s", "ed")))


def base(word: str) -> str:
    """Remove -s, -ed or -ing from a word: wrote → write, studies → study, moved → move."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for ending in ("ies", "ied"):
        if word.endswith(ending) and len(word) > 4:
            return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    for ending in ("ed", "ing"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return _verb(word[: -len(ending)])
    return word


def _verb(stem: str) -> str:
    if _DOUBLED.search(stem):
        return stem[:-1]
    return stem + "e" if _NEEDS_E.search(stem) else stem


def with_ending(word: str, ending: str) -> str:
    """Add -s, -ed or -ing to a word: city → cities, move → moving."""
    if ending == "s":
        if word.endswith("y") and not word.endswith(("ay", "ey", "oy", "uy")):
            return word[:-1] + "ies"
        return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s")
    return word.removesuffix("e") + ending


EVERYDAY = {
    "film": "movie", "films": "movies", "motion picture": "movie", "novel": "book",
    "television series": "tv show", "television": "tv", "United States": "us",
    "United Kingdom": "uk", "physician": "doctor", "attorney": "lawyer", "automobile": "car",
    "vocalist": "singer", "author": "writer", "footballer": "football player",
    "species": "kind", "genus": "type", "variety": "type",
    "located": "found", "situated": "located", "established": "started", "founded": "created",
    "released": "come out", "portrayed": "played", "commonly": "usually", "numerous": "many",
    "headquartered": "based", "acquired": "bought",
    "purchased": "bought", "created": "made", "manufactured": "made", "deceased": "dead",
    "beverage": "drink", "residents": "people", "inhabitants": "people", "largest": "biggest",
    "corporation": "company", "municipality": "town",
    "begin": "start", "began": "started", "constructed": "built", "aircraft": "plane",
    "American": "us", "British": "england", "English": "england", "French": "france",
    "German": "germany", "Italian": "italy", "Spanish": "spain", "Russian": "russia",
    "Japanese": "japan", "Chinese": "china", "Indian": "india", "Canadian": "canada",
    "Australian": "australia", "Irish": "ireland", "Swedish": "sweden", "Polish": "poland",
    "children": "kids", "invoke": "call", "return": "get", "remove": "delete",
}  # fmt: skip
_WORDS = re.compile(rf"\b(?:{'|'.join(sorted(EVERYDAY, key=len, reverse=True))})\b")


def everyday(text: str) -> str:
    """Replace the first word of a text that has an everyday word for it."""
    return _WORDS.sub(lambda match: EVERYDAY[match[0]], text, count=1)
