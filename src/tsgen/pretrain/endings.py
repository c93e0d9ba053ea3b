"""English endings put on and taken off by rule of thumb, as a careless typist would."""

import re

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
    """A word without -s, -ed or -ing: wrote → write, studies → study, moved → move."""
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
    """A word with -s, -ed or -ing put on: city → cities, move → moving."""
    if ending == "s":
        if word.endswith("y") and not word.endswith(("ay", "ey", "oy", "uy")):
            return word[:-1] + "ies"
        return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s")
    return word.removesuffix("e") + ending
