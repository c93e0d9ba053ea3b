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


def document_scores(
    pieces: Pieces,
    owners: Sequence[int],
    weights: Sequence[tuple[Ngram, float]],
    alpha: float,
    beta: float,
) -> dict[int, float]:
    """W(d, q) of every document with an n-gram, from n-grams and their weights, heaviest first."""
    found: dict[int, float] = {}
    for document in sorted(set(owners)):
        own = [piece for piece, owner in zip(pieces, owners, strict=True) if owner == document]
        taken: list[Ngram] = []  # K(d)
        covered: set[tuple[int, int]] = set()
        total = 0.0
        for ngram, weight in weights:
            spans = [
                {(number, at + i) for i in range(len(ngram))} for number, at in places(own, ngram)
            ]
            if any(not span & covered for span in spans):
                said = {token for other in taken for token in other}
                share = len(set(ngram) - said) / len(set(ngram))
                total += weight**alpha * (1 - beta + beta * share)
                taken.append(ngram)
            covered = covered.union(*spans)
        if taken:
            found[document] = total
    return found
