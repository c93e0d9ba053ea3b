"""N-grams the slow way: every place of every piece, in plain Python."""

from collections.abc import Sequence

Pieces = Sequence[Sequence[int]]
Ngram = tuple[int, ...]


def places(pieces: Pieces, ngram: Ngram) -> list[tuple[int, int]]:
    """(piece, where) of every occurrence."""
    size = len(ngram)
    return [
        (number, at)
        for number, piece in enumerate(pieces)
        for at in range(len(piece) - size + 1)
        if tuple(piece[at : at + size]) == ngram
    ]


def following(pieces: Pieces, ngram: Ngram) -> list[int]:
    """The tokens right after an occurrence, ascending."""
    ends = ((pieces[number], at + len(ngram)) for number, at in places(pieces, ngram))
    return sorted({piece[end] for piece, end in ends if end < len(piece)})


def every(pieces: Pieces, longest: int) -> list[Ngram]:
    """All n-grams of up to so many tokens, ascending."""
    return sorted(
        {
            tuple(piece[at : at + size])
            for piece in pieces
            for size in range(1, longest + 1)
            for at in range(len(piece) - size + 1)
        }
    )
