"""tsgen-mini without training beside BM25, on test queries as they are and misspelt.

    python experiments/zero_shot.py DATA… [--split test] [--limit N]

writes docs/results/zero-shot.json and .md. `bm25-terms` is BM25 over nothing but the 12 terms of
each document with the largest tf-idf. Misspelt: one random edit in each content word of a query.
"""

import string
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tsgen.cli.common import progress
from tsgen.cli.published import made, publish
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.derived import Derived
from tsgen.corpus.load import load
from tsgen.evaluate.compare import compare
from tsgen.evaluate.tables import Table
from tsgen.records import Query
from tsgen.terms.words import ENGLISH_STOP_WORDS

SYSTEMS = ("bm25", "bm25-terms", "tsgen-mini")


class Misspelt(Derived):
    """A data set whose queries have one edit in each content word."""

    def __init__(self, data: DataSet, seed: int) -> None:
        super().__init__(data)
        rng, asked = np.random.default_rng(seed), data.queries()
        self._queries = {id: replace(q, text=misspelt(q.text, rng)) for id, q in asked.items()}

    def queries(self) -> Mapping[str, Query]:
        """All queries, misspelt."""
        return self._queries


def misspelt(query: str, rng: np.random.Generator) -> str:
    """A query with one edit in each word but stop words and single characters."""
    return " ".join(
        word
        if len(word) < 2 or word.lower().strip("?,.'") in ENGLISH_STOP_WORDS
        else edit(word, rng)
        for word in query.split()
    )


def edit(word: str, rng: np.random.Generator) -> str:
    """One letter inserted, dropped or replaced, or two transposed, each as likely, anywhere."""
    place, letter = int(rng.integers(len(word))), string.ascii_lowercase[rng.integers(26)]
    before, after = word[:place], word[place:]
    kind = rng.integers(4)
    if kind == 0:
        return before + letter + after
    if kind == 1:
        return before + after[1:]
    if kind == 2 or len(after) < 2:
        return before + letter + after[1:]
    return before + after[1] + after[0] + after[2:]


def main(arguments: list[str] | None = None) -> None:
    """Search, print and write."""
    options = _options(arguments)
    notes = made(seed=options.seed)
    tables, figures = [], []
    for name in options.data:
        data = load(name)
        for asked, source in (("", data), (", misspelt", Misspelt(data, options.seed))):
            with progress():
                found = _compare(source, f"{data.name}, {options.split}{asked}", options)
            tables.append(found.table())
            figures.append(found.as_json())
    tables.append(replace(_lost(tables), notes=notes))
    publish(options.out / "zero-shot", {"comparisons": figures} | notes, *tables)


def _compare(source: DataSet, title: str, options: Namespace) -> Any:
    return compare(
        source,
        SYSTEMS,
        split=options.split,
        limit=options.limit,
        cache=options.cache,
        seed=options.seed,
        title=title,
    )


def _lost(tables: list[Table]) -> Table:
    """The share of M@10 that misspelling costs each system, by data set."""
    place = [column.name for column in tables[0].columns].index("M@10")
    rows = []
    for plain, noisy in zip(tables[::2], tables[1::2], strict=True):
        for one, other in zip(plain.rows, noisy.rows, strict=True):
            if one.group in ("", "all"):
                before, after = float(one.values[place] or 0), float(other.values[place] or 0)
                lost = 1 - after / before if before else 0.0
                group = plain.caption.split(",")[0]
                rows.append(replace(one, values=[before, after, lost], group=group, marks={}))
    columns = [replace(tables[0].columns[place], name=name) for name in ("M@10", "misspelt")]
    lost = replace(columns[0], name="lost", best="low")
    return Table([*columns, lost], rows, "What misspelling costs", group_label="data")


def _options(arguments: list[str] | None) -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--split", default="test")
    parser.add_argument("--limit", type=int, help="only the first so many queries")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
