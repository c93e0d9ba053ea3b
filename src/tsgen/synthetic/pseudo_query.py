"""Pseudo-queries: what a person might type to find a document, made from nothing but the document.

One query is made by `pseudo_query`; `PseudoPairs` is an endless stream of such queries with their
documents, and `PseudoJudged` a data set that has them in the place of people's queries.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np

from tsgen.corpus.dataset import DataSet, DerivedDataSet
from tsgen.errors import ConfigError, DataError
from tsgen.queries.pairs import Pair
from tsgen.records import Document, Judgments, Query
from tsgen.settings import KINDS, NoiseConfig, PseudoQueryConfig
from tsgen.synthetic.english import base, everyday, pick, weighted, with_ending
from tsgen.synthetic.prepared import Prepared, clause, content_words, sentence
from tsgen.synthetic.questions import aspect, question
from tsgen.terms.words import ENGLISH_STOP_WORDS

# Noise: what a hurried person does to a query.

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
    """Apply each kind of noise to a query with its probability; the result is never empty."""
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
    """Make one edit in a word: transpose two letters, or drop, double or replace one; it is
    replaced by its neighbour on the keyboard or by any letter."""
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
    """Remove a word's ending, or add one where it has none; a capitalised word stays as it is."""
    if not word.islower():
        return word
    bare = base(word)
    return bare if bare != word else with_ending(word, pick(("s", "s", "s", "ed", "ing"), rng))


def add_word(words: list[str], rng: np.random.Generator) -> None:
    """Insert one of the words that people add to any query as the first, second or last word."""
    words.insert(pick((0, 1, len(words), len(words)), rng), pick(ADDED, rng))


def _change(words: list[str], rng: np.random.Generator, change: Change) -> None:
    """Change one content word in place, if there is one."""
    places = [i for i, word in enumerate(words) if _is_changeable(word)]
    if places:
        place = pick(places, rng)
        words[place] = change(words[place], rng)


def _is_changeable(word: str) -> bool:
    return len(word) >= SHORTEST and word.isalpha() and word.lower() not in ENGLISH_STOP_WORDS


# Queries that are a few keywords.

FEWEST, MOST = 2, 6
SHUFFLED = 0.3


def keywords(document: Prepared, rng: np.random.Generator) -> str:
    """Two to six of the document's content words, drawn by their rates; in the order of the text
    or, for a share of `SHUFFLED`, in another order."""
    size = FEWEST + int(rng.random() * (MOST - FEWEST + 1))
    places = weighted(document.rates, size, rng)
    if rng.random() >= SHUFFLED:
        places.sort()
    words = list(document.weights)
    return " ".join(words[place] for place in places)


# Queries that are little more than a title.

BARE = 0.35  # how often a title stands alone
LEAD_WORDS = 12  # of the first sentence that may be added


def title(document: Prepared, rng: np.random.Generator) -> str:
    """The title, with or without its qualifier: `mercury`, `mercury planet`; often with one or two
    content words of the first sentence after or before it."""
    qualifier = document.qualifier if rng.random() < 0.5 else ""
    name = f"{document.name} {qualifier}".strip()
    if rng.random() < BARE:
        return name
    added = _telling(document, name, rng)
    parts = (name, *added) if rng.random() < 0.8 else (*added, name)
    return " ".join(parts).strip()


def _telling(document: Prepared, name: str, rng: np.random.Generator) -> list[str]:
    said = content_words(name)
    lead = dict.fromkeys(content_words(document.lead))
    found = [word for word in lead if word not in said and word.isalpha()][:LEAD_WORDS]
    lengths = np.fromiter((min(len(word), 8) for word in found), np.float64, len(found))
    return [found[i] for i in sorted(weighted(lengths, pick((1, 1, 2), rng), rng))]


Kind = Callable[[Prepared, np.random.Generator], str]
MAKERS: Mapping[str, Kind] = dict(
    zip(KINDS, (title, sentence, question, aspect, keywords), strict=True)
)
ASKING = ("question", "aspect")


def pseudo_query(
    document: Document | Prepared, rng: np.random.Generator, config: PseudoQueryConfig
) -> str:
    """One query for a document, of a kind drawn by the settings' shares, with noise; never empty.

    The same document, state of the generator and settings give the same text on every machine.
    Pass a `Prepared` document where many queries are made for it.
    """
    prepared = document if isinstance(document, Prepared) else Prepared(document)
    kind = _kind(config, rng)
    made = with_noise(MAKERS[kind](prepared, rng) or _fallback(prepared), rng, config.noise)
    mark = "?" if kind in ASKING and rng.random() < config.question_mark else ""
    return made + mark


def _kind(config: PseudoQueryConfig, rng: np.random.Generator) -> str:
    shares = config.shares()
    left = rng.random() * sum(shares.values())
    for kind, share in shares.items():
        left -= share
        if left < 0:
            return kind
    return max(shares, key=shares.__getitem__)  # rounding may leave a little


def _fallback(document: Prepared) -> str:
    """The title, or the first words, or the id of a document that has neither."""
    return document.title or clause(" ".join(document.sentences[:1]), 8) or document.id


# A random permutation of many numbers without a list of them.

ROUNDS = 4
_MASK = (1 << 64) - 1


def shuffled(place: int, size: int, key: int) -> int:
    """The number that a random permutation of 0 … size − 1, chosen by the key, has at `place`.

    A Feistel network permutes the numbers of an even count of bits; a result that is too large is
    permuted again until it is not, which takes less than four rounds of it on average.
    """
    half = max((size - 1).bit_length() + 1, 2) // 2
    while True:
        place = _feistel(place, half, key)
        if place < size:
            return place


def _feistel(number: int, half: int, key: int) -> int:
    low_bits = (1 << half) - 1
    left, right = number >> half, number & low_bits
    for step in range(ROUNDS):
        left, right = right, left ^ (mixed(key ^ step << 60 ^ right) & low_bits)
    return left << half | right


def mixed(*numbers: int) -> int:
    """A hash of numbers ≥ 0 below 2^64, in 64 bits."""
    found = 0
    for number in numbers:
        found = _mix(found ^ number)
    return found


def _mix(number: int) -> int:
    """The output function of SplitMix64: every bit of the input changes every bit of the result."""
    number = (number + 0x9E3779B97F4A7C15) & _MASK
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    number = (number ^ number >> 27) * 0x94D049BB133111EB & _MASK
    return number ^ number >> 31


# An endless stream of pairs of a pseudo-query and its document, of which none is held in memory.

DOCUMENTS, EXTRA = 0, 1  # their random orders differ


class PseudoPairs:
    """Pairs numbered 0, 1, …, each made on demand from the seed and its number alone.

    In every epoch the documents come in a new random order, each with another query. Pairs in
    `extra` (with real or synthetic queries) are mixed in at regular intervals, so that they make up
    `share` of the stream; they have epochs of their own.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        config: PseudoQueryConfig,
        seed: int,
        extra: Sequence[Pair] = (),
        share: float = 0.0,
    ) -> None:
        if not documents:
            raise DataError("no documents; expected at least one to make queries from")
        if not 0 <= share < 1:
            raise ConfigError(f"share = {share}: expected at least 0 and less than 1")
        self._documents, self._config, self._seed = documents, config, seed
        self._extra, self._share = extra, share if extra else 0.0

    def __len__(self) -> int:
        """The length of an epoch: how many pairs have every document once."""
        return math.ceil(len(self._documents) / (1 - self._share))

    def pair(self, number: int) -> Pair:
        """Make the pair with this number, which depends on no pair before it."""
        extra_before = int(number * self._share)
        if int((number + 1) * self._share) > extra_before:
            return self._extra[self._place(extra_before, len(self._extra), EXTRA)]
        document = self._place(number - extra_before, len(self._documents), DOCUMENTS)
        rng = np.random.default_rng((self._seed, number))
        return Pair(pseudo_query(self._documents[document], rng, self._config), document)

    def _place(self, number: int, size: int, stream: int) -> int:
        epoch, place = divmod(number, size)
        return shuffled(place, size, mixed(self._seed, stream, epoch))


TRAIN = "train"


class PseudoJudged(DerivedDataSet):
    """A data set with pseudo-queries in the place of people's, judged in its one split `train`:
    what learns from judgments can then learn from texts alone."""

    def __init__(self, data: DataSet, config: PseudoQueryConfig, queries: int, seed: int) -> None:
        super().__init__(data)
        self._config, self._count, self._seed = config, queries, seed

    @property
    def name(self) -> str:
        """The name of the documents' data set with `-pseudo`."""
        return f"{self._data.name}-pseudo"

    @property
    def splits(self) -> list[str]:
        """The one split, `train`."""
        return [TRAIN]

    def queries(self) -> Mapping[str, Query]:
        """The pseudo-queries; a query's id is its number."""
        return {str(n): Query(str(n), pair.query) for n, (pair, _) in enumerate(self._pairs)}

    def judgments(self, split: str) -> Judgments:
        """Each pseudo-query with the document that it was made from."""
        if split != TRAIN:
            raise DataError(f"{self.name}: no split {split!r}; it has {TRAIN!r} only.")
        return {str(n): {document: 1} for n, (_, document) in enumerate(self._pairs)}

    @cached_property
    def _pairs(self) -> list[tuple[Pair, str]]:
        documents = list(self._data.documents())
        stream = PseudoPairs(documents, self._config, self._seed)
        pairs = map(stream.pair, range(min(self._count, len(stream))))
        return [(pair, documents[pair.document].id) for pair in pairs]
