"""Questions for pseudo-queries, made from English sentences by patterns, without a parser."""

import re
from typing import NamedTuple

import numpy as np

from tsgen.synthetic.english import IRREGULAR_PAST, PAST_OF_PARTICIPLE, base, pick, weighted
from tsgen.synthetic.prepared import Prepared, content_words, first_words, short, with_subject

# Questions that a sentence of the document answers.
#
# The fields of a template are the groups of its pattern, cut short, and what `_Fields` derives from
# them.

_AUXILIARY = "is|are|was|were|can|could|will|must|should|may|has been|have been"
_BE = "(?P<be>is|was|are|were)"
_NOT_BE = rf"(?!(?:{_AUXILIARY}|be|been|has|had|have)\b)"
_SUBJECT = rf"(?P<x>{_NOT_BE}[^\s,]+(?: {_NOT_BE}[^\s,]+){{0,6}}?)"
_PARTICIPLE = (
    r"(?P<v>\w+ed|written|built|made|sung|held|known|given|taken|chosen|drawn|led|won|set)"
)
_PLACED = "located|situated|based|headquartered|born|buried|filmed|held|found|raised|native"
_PAST = rf"(?P<v>[a-z]+ed|{IRREGULAR_PAST})"
_MONTH = r"(?:[A-Z][a-z]+ )?"
_DATE = rf"(?:in|on|since|until|from|by) {_MONTH}(?:\d{{1,2}},? )?{_MONTH}(?P<year>[12]\d{{3}})\b"
_SPANS = "years|times|days|months"
_NUMBER = r"(?:\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty)"


class Pattern(NamedTuple):
    """A regular expression for a form of sentence, with templates of questions that it answers."""

    form: re.Pattern[str]
    templates: tuple[str, ...]


PATTERNS = tuple(
    Pattern(re.compile(form), templates)
    for form, templates in (
        (  # X is a Y: the lead of every encyclopedia
            rf"{_SUBJECT} {_BE} (?P<a>an?|the|one of the) (?P<y>.+)",
            (
                "{who} {be} {x}",
                "{be} {x} {a} {y}",
                "is {x} {a} {y}",
                "which {y}",
                "what {y}",
                "{who} {be} {a} {y}",
                "{who} {be} the {y}",
                "what is the name of the {y}",
                "name of {a} {y}",
                "what kind of {last} {be} {x}",
                "what type of {last} is {x}",
            ),
        ),
        (  # X was written by Z
            rf"{_SUBJECT} {_BE}(?: \w+ly)? {_PARTICIPLE} by (?P<z>.+)",
            (
                "who {past} {x}",
                "who {be} {x} {v} by",
                "{be} {x} {v} by {z}",
                "what did {z} {base}",
                "what {be} {v} by {z}",
            ),
        ),
        (  # …, a novel written by Z
            rf".*?\b(?P<n>{_NOT_BE}[a-z]+) {_PARTICIPLE} by (?P<z>.+)",
            (
                "who {past} {name}",
                "which {n} was {v} by {z}",
                "{n} {v} by {z}",
                "who {past} the {n} {name}",
            ),
        ),
        (  # X was founded … in 1904
            rf"{_SUBJECT} (?P<be>was|were)(?: \w+ly)? {_PARTICIPLE}(?P<z>.*?),? {_DATE}",
            (
                "when {be} {x} {v}",
                "when {be} {x} {v} {z}",
                "what year {be} {x} {v} {z}",
                "in what year {be} {x} {v}",
                "who {be} {v} {z} in {year}",
                "what {be} {v} {z} in {year}",
            ),
        ),
        (  # X won Z in 1904
            rf"{_SUBJECT}(?: \w+ly)? {_PAST} (?P<z>.+?),? {_DATE}",
            (
                "when did {x} {base} {z}",
                "what year did {x} {base} {z}",
                "who {v} {z} in {year}",
                "what did {x} {base} in {year}",
                "did {x} {base} {z}",
            ),
        ),
        (  # X was born in Z
            rf".*?\b{_BE}? ?(?P<v>{_PLACED}) (?:in|at|on|to|near) (?:the )?(?P<z>[A-Z].*)",
            (
                "where {is} {name} {v}",
                "where {is} {name}",
                "what city {is} {name} {v} in",
                "what country {is} {name} {v} in",
                "what state is {name} in",
                "{is} {name} {v} in {z}",
                "is {name} in {z}",
            ),
        ),
        (  # … has 14 doors
            rf".*?\b{_NUMBER} (?:[a-z]+ )?(?P<n>(?!{_SPANS})[a-z]{{3,}}s)\b(?P<z>.*)",
            (
                "how many {n} {does} {name} have",
                "how many {n} in {name}",
                "how many {n} are there in {name}",
                "how many {n} {z}",
                "number of {n} {name}",
            ),
        ),
        (  # population
            r".*?\b(?P<n>population|height|length|budget|elevation)\b.*",
            ("what is the {n} of {name}", "{name} {n}", "what's the {n} of {name}"),
        ),
        (  # X can swim
            rf"{_SUBJECT} (?P<be>{_AUXILIARY}) (?P<z>(?!an? |the |one of )[a-z].+)",
            ("{be} {x} {z}", "{be} {x} {z}", "{who} {be} {z}", "why {be} {x} {z}"),
        ),
        (  # X won Z
            rf"{_SUBJECT}(?: \w+ly)? {_PAST} (?P<z>.+)",
            (
                "who {v} {z}",
                "did {x} {base} {z}",
                "what did {x} {base}",
                "why did {x} {base} {z}",
                "{who} {v} {z}",
            ),
        ),
    )
)


# Questions that people usually ask about a thing of the same sort (a person, a place, a work, …).
#
# Many of their words do not occur in the text, as in real queries. The sort of thing that the text
# is about is read from its first sentence: `… is an American film director` is a person.

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
    """A question about things of the document's sort with its title in it; empty without a
    title."""
    if not document.name:
        return ""
    return _X.sub(lambda _: document.name, pick(_TEMPLATES[sort_of(document)], rng))


def sort_of(document: Prepared) -> str:
    """The sort of thing that a document is about: `person`, `place`, `work`, `group`, `event`,
    `living` or else `thing`."""
    match = _CLASS.search(document.lead)
    for word in reversed(_WORD.findall(match[1]) if match else []):
        if sort := _SORT_OF.get(word) or _SORT_OF.get(word.removesuffix("s")):
            return sort
    spoken_of = any(sentence.startswith(("He ", "She ")) for sentence in document.sentences)
    return "person" if spoken_of else "thing"


MOST = 11  # words
TELLING = 4  # content words that a question without the title has at least
_QUESTION_WORDS = ("what", "who", "which", "where", "when", "how", "is", "does", "why", "can")


def question(document: Prepared, rng: np.random.Generator) -> str:
    """A question that a sentence of the document answers, by a pattern that the sentence matches.
    If it matches none, a question word with some of the sentence's content words."""
    sentence = with_subject(document.some_sentence(rng), document.name or "it")
    if not sentence:
        return ""
    asked = _by_pattern(document, sentence, rng)
    return asked if _tells(asked, document) else _loose(document, sentence, rng)


def _by_pattern(document: Prepared, sentence: str, rng: np.random.Generator) -> str:
    for number in rng.permutation(len(PATTERNS)):
        pattern = PATTERNS[number]
        if match := pattern.form.match(sentence):
            template = pick(pattern.templates, rng)
            room = MOST - len(template.split())
            return first_words(template.format_map(_Fields(document, match, room)), MOST)
    return ""


class _Fields(dict[str, str]):
    """The fields of a template: the groups of a pattern, cut short, and what follows from them."""

    def __init__(self, document: Prepared, match: re.Match[str], room: int) -> None:
        super().__init__()
        self._document, self._match, self._room = document, match, room

    def __missing__(self, key: str) -> str:
        groups = self._match.groupdict()
        if key in groups:
            return self._short(key, groups[key] or "")
        return str(getattr(self, f"_{key}")())

    def _short(self, key: str, text: str) -> str:
        """Cut a group short; a subject that is a longer form of the title becomes the title."""
        name = self._document.name
        named = key == "x" and name and name.split()[-1] in text.split()
        return name if named else short(text, self._room)

    def _name(self) -> str:
        return self._document.name or "it"

    def _who(self) -> str:
        return "who" if sort_of(self._document) == "person" else "what"

    def _is(self) -> str:
        return self._match["be"] or ("was" if self._match["v"] in ("born", "held") else "is")

    def _does(self) -> str:
        return "did" if sort_of(self._document) in ("person", "event") else "does"

    def _base(self) -> str:
        return base(self._match["v"])

    def _past(self) -> str:
        return PAST_OF_PARTICIPLE.get(self._match["v"], self._match["v"])

    def _last(self) -> str:
        """The likely head noun of a phrase: its last word before a preposition."""
        words = re.split(r" (?:of|in|by|for|from|at|on|to|with|who|that)\b", self["y"])[0].split()
        return words[-1] if words else "thing"


def _tells(asked: str, document: Prepared) -> bool:
    """Whether a question names the document or has enough content words to find it."""
    named = bool(document.name) and document.name in asked
    return named or len(content_words(asked)) >= TELLING


def _loose(document: Prepared, sentence: str, rng: np.random.Generator) -> str:
    named = content_words(document.name)
    words = [word for word in dict.fromkeys(content_words(sentence)) if word not in named]
    size = 1 + int(rng.random() * 4)
    lengths = np.fromiter((min(len(word), 8) for word in words), np.float64, len(words))
    chosen = " ".join(words[i] for i in sorted(weighted(lengths, size, rng)))
    about = f"{document.name} {chosen}".strip()
    return f"{pick(_QUESTION_WORDS, rng)} {about}" if about else ""
