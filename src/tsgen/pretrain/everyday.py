"""The words of encyclopedias and manuals, and those that people type instead (English)."""

import re

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
    """A text with the first such word replaced."""
    return _WORDS.sub(lambda match: EVERYDAY[match[0]], text, count=1)
