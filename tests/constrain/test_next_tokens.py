"""The next tokens of partial spellings against their definition."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.decoding import ragged
from tsgen.constrain.kernels import fixed, next_tokens

END = 4
Spelled = tuple[int, ...]
spellings = st.sets(
    st.lists(st.integers(0, 3), max_size=4).map(lambda pieces: (*pieces, END)), min_size=1
)


def slowly(units: list[Spelled], depth: int, skip: bool) -> list[tuple[int, int, bool]]:
    """For each next token: the token, the depth after it, and whether the unit is complete."""
    entries = []
    for token in sorted({unit[depth] for unit in units}):
        alike = [unit for unit in units if unit[depth] == token]
        after = depth + 1
        while skip and len({unit[: after + 1] for unit in alike}) == 1 and after < len(alike[0]):
            after += 1
        entries.append((token, after, after == len(alike[0])))
    return entries


@settings(deadline=None, max_examples=300)
@given(spellings, st.booleans(), st.booleans(), st.data())
def test_next_tokens(spelled: set[Spelled], skip: bool, plain: bool, data: st.DataObject) -> None:
    units = sorted(spelled)
    every = list(range(len(units)))
    listed = every if plain else sorted(data.draw(st.sets(st.sampled_from(every), min_size=1)))
    own = [units[rank] for rank in listed]
    prefix = data.draw(st.sampled_from([unit[:n] for unit in own for n in range(len(unit))]))
    low = next(i for i, unit in enumerate(own) if unit[: len(prefix)] == prefix)
    alike = [unit for unit in own if unit[: len(prefix)] == prefix]
    table, cursor = ragged(units), (low, low + len(alike), len(prefix))
    entries = next_tokens(
        fixed(table.offsets, np.int64),
        fixed(table.values, np.int32),
        fixed([] if plain else listed, np.int32),
        np.array([plain]),
        *(np.array([x], dtype=np.int64) for x in cursor),
        skip,
    )
    found = zip(entries.tokens.tolist(), entries.depth.tolist(), entries.closes, strict=True)
    assert list(found) == slowly(alike, len(prefix), skip)
    assert (entries.starts[0], entries.ends[0]) == (0, len(entries.tokens))
    for token, first, place, depth in zip(
        entries.tokens, entries.low, entries.place, entries.depth, strict=True
    ):
        assert own[first][len(prefix)] == token
        read = table.values[place : place + depth - len(prefix)]
        assert tuple(read) == own[first][len(prefix) : depth]
