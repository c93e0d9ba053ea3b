"""English sentences and the questions they answer: patterns, no parser.

A template's fields are the groups of the pattern, cut short, and what `question` adds to them.
"""

import re
from typing import NamedTuple

from tsgen.pretrain.endings import IRREGULAR_PAST

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
    """A form of sentence, and templates of questions for it."""

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
