"""Queries for what is usually asked about a thing of its sort (English).

Many of their words are not in the text: that is how people ask. What sort of thing a document is
about is read from its first sentence: `… is an American film director` is a person.
"""

import re

import numpy as np

from tsgen.pretrain.draw import pick
from tsgen.pretrain.prepared import Prepared

_SORTS = {
    "person": """actor actress singer rapper musician songwriter composer politician statesman
        footballer player wrestler boxer athlete swimmer cyclist driver coach writer author novelist
        poet journalist director producer artist painter scientist physicist chemist mathematician
        engineer lawyer judge philosopher king queen prince princess emperor model comedian general
        officer businessman businesswoman president minister presenter historian architect""",
    "place": """city town village country state county river island mountain lake region district
        province municipality capital suburb borough neighborhood peninsula bay park valley sea
        commune territory community station street airport building""",
    "work": """film novel book album song single series show sitcom episode game play opera musical
        soundtrack drama comic manga anime magazine newspaper""",
    "group": """band company organization organisation team club university school college party
        agency association group brand airline army network church""",
    "event": """war battle tournament championship election season festival disaster earthquake
        event revolution conflict race awards ceremony""",
    "living": """species genus family plant tree animal bird fish dog breed insect disease disorder
        drug medication food dish fruit""",
    "thing": "ship vessel corvette destroyer frigate cruiser submarine battleship language",
}  # fmt: skip
_SORT_OF = {noun: sort for sort, nouns in _SORTS.items() for noun in nouns.split()}
_CLASS = re.compile(
    r"\b(?:is|was|are|were)\b((?:(?!\b(?:of|by|in|from|for|at|who|that|which)\b)[^,;])*)"
)
_WORD = re.compile(r"[a-z]+")
_ASKED = {
    "person": """who is X|who was X|how old is X|where was X born|where is X from|when did X die|
        how did X die|what is X known for|what is X famous for|what did X do|who is X married to|
        what nationality is X|where did X go to school|what movies has X been in|X biography|
        what year was X born|who did X play for|what did X invent|X age|what does X do now|
        is X still alive|who did X marry|what was X's real name|where does X live""",
    "place": """where is X|where is X located|what country is X in|what state is X in|what county is
        X in|what is the population of X|how big is X|what is X known for|what to do in X|what to
        see in X|how many people live in X|X map|what time zone is X in|what language do they speak
        in X|is X a city|what is the capital of X|who founded X|what is there to see in X|what type
        of government does X have|what currency is used in X|what is near X|is X safe""",
    "work": """who wrote X|who directed X|who played in X|when did X come out|when was X released|
        what is X about|who sings X|cast of X|is X based on a true story|is X based on a book|who is
        in X|how does X end|X plot|what year did X come out|who made X|is there a sequel to X|how
        many seasons of X are there|where was X filmed|who is the main character in X|what genre is
        X|is X a true story""",
    "group": """who founded X|when was X founded|where is X located|what does X do|who owns X|what
        is X|who is the head of X|where is X based|X headquarters|members of X|who started X|is X a
        public company|how many people are in X|what is X known for|does X still exist""",
    "event": """when was X|who won X|where was X held|what caused X|when did X start|when did X end|
        who was in X|what happened in X|how many people died in X|X results|where did X take place|
        what was the outcome of X|why did X happen|how long did X last|what year was X""",
    "living": """what is X|what does X look like|where do X live|what do X eat|is X poisonous|can
        you eat X|where is X found|types of X|what causes X|what family is X in|how long do X live|
        what is X used for|are X dangerous|what is X made of|can you have X""",
    "thing": """what is X|what does X mean|how does X work|what is X used for|definition of X|X
        meaning|what is the purpose of X|examples of X|who invented X|where does X come from|what is
        the difference between X and others|is X real|how to use X|types of X|what are X|why is X
        important|is there X|can you X|where is X|who discovered X|is X the same thing""",
}  # fmt: skip
_TEMPLATES = {
    sort: [" ".join(one.split()) for one in asked.split("|")] for sort, asked in _ASKED.items()
}
_X = re.compile(r"\bX\b")


def aspect(document: Prepared, rng: np.random.Generator) -> str:
    """What is asked about such a thing, with the title's name in it; empty without a title."""
    if not document.name:
        return ""
    return _X.sub(lambda _: document.name, pick(_TEMPLATES[sort_of(document)], rng))


def sort_of(document: Prepared) -> str:
    """`person`, `place`, `work`, `group`, `event`, `living` or else `thing`."""
    match = _CLASS.search(document.lead)
    for word in reversed(_WORD.findall(match[1]) if match else []):
        if sort := _SORT_OF.get(word) or _SORT_OF.get(word.removesuffix("s")):
            return sort
    spoken_of = any(sentence.startswith(("He ", "She ")) for sentence in document.sentences)
    return "person" if spoken_of else "thing"
