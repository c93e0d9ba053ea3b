"""How terms are written in output tokens: `word` (one symbol a term) or `subword` (pieces and ",").

Terms are ranked by their token sequences, compared token by token. All terms that begin with given
tokens then have consecutive ranks, so in any ascending list of ranks they are a slice: finding the
tokens that may come next needs no trie.

No spelling is the beginning of another one, so a term ends exactly where its last token is read. To
keep that true for any tokenizer, terminators inside a term are left out ("1,000" is spelled like
"1000"), and terms that would be spelled alike get a number before the terminator.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count

import numpy as np
from numpy.typing import NDArray

from tsgen.errors import ConfigError

Tokenize = Callable[[Sequence[str]], Sequence[Sequence[int]]]


@dataclass(frozen=True, slots=True)
class Spelling:
    """The token sequence of every term, in the order of the sequences."""

    offsets: NDArray[np.int64]  # [T + 1]
    tokens: NDArray[np.int32]  # rank r is spelled tokens[offsets[r]:offsets[r + 1]]
    rank_of: NDArray[np.int32]  # [T] term → rank
    term_of: NDArray[np.int32]  # [T] rank → term

    def __len__(self) -> int:
        """The number of terms."""
        return len(self.term_of)

    @property
    def alphabet(self) -> NDArray[np.int32]:
        """The tokens that occur in some spelling, ascending."""
        return np.unique(self.tokens)

    def spell(self, term: int) -> NDArray[np.int32]:
        """The tokens of one term."""
        rank = self.rank_of[term]
        return self.tokens[self.offsets[rank] : self.offsets[rank + 1]]

    def sequence(self, terms: Sequence[int] | NDArray[np.int32]) -> NDArray[np.int32]:
        """The tokens of several terms, one after the other: what the decoder is to generate."""
        ranks = self.rank_of[np.asarray(terms, dtype=np.int64)]
        starts = self.offsets[ranks]
        lengths = self.offsets[ranks + 1] - starts
        before = np.cumsum(lengths) - lengths
        places = np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
        tokens: NDArray[np.int32] = self.tokens[places]
        return tokens


def words(terms: int, first: int = 0) -> Spelling:
    """One output symbol a term: term t is the token `first` + t."""
    same = np.arange(terms, dtype=np.int32)
    return Spelling(np.arange(terms + 1, dtype=np.int64), same + np.int32(first), same, same)


def subwords(terms: Sequence[str], tokenize: Tokenize, terminator: int) -> Spelling:
    """Each term as its pieces and a terminator (the paper's ","); `tokenize` gives pieces."""
    pieces = [_without(terminator, row) for row in tokenize(terms)] if terms else []
    if len({(), *pieces}) <= len(pieces):
        pieces = _told_apart(pieces, _digits(tokenize, terminator))
    return _ranked([(*row, terminator) for row in pieces])


def _without(terminator: int, pieces: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(piece) for piece in pieces if piece != terminator)


def _digits(tokenize: Tokenize, terminator: int) -> list[tuple[int, ...]]:
    """The pieces of 0 to 9, with which terms that look alike to the tokenizer are told apart."""
    digits = [_without(terminator, row) for row in tokenize(list("0123456789"))]
    if len({(), *digits}) < 11:
        raise ConfigError(
            f"two terms have the same pieces, and the tokenizer writes the digits as {digits}: "
            f"expected ten different ones without the terminator {terminator} to number them with"
        )
    return digits


def _told_apart(
    rows: Sequence[tuple[int, ...]], digits: Sequence[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """The rows, those that are empty or were there before followed by a number from 2 on."""
    taken: set[tuple[int, ...]] = {()}
    numbers: defaultdict[tuple[int, ...], Iterator[int]] = defaultdict(lambda: count(2))
    unique = []
    for row in rows:
        spelled = row
        while spelled in taken:
            digit_pieces = (digits[int(digit)] for digit in str(next(numbers[row])))
            spelled = (*row, *chain.from_iterable(digit_pieces))
        taken.add(spelled)
        unique.append(spelled)
    return unique


def _ranked(spelled: Sequence[tuple[int, ...]]) -> Spelling:
    """Sort sequences token by token."""
    term_of = np.array(sorted(range(len(spelled)), key=spelled.__getitem__), dtype=np.int32)
    rank_of = np.empty_like(term_of)
    rank_of[term_of] = np.arange(len(spelled), dtype=np.int32)
    lengths = [len(spelled[term]) for term in term_of]
    tokens = [token for term in term_of for token in spelled[term]]
    offsets = np.cumsum([0, *lengths], dtype=np.int64)
    return Spelling(offsets, np.array(tokens, dtype=np.int32), rank_of, term_of)
