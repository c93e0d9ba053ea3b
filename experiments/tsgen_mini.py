"""tsgen-mini without training beside BM25, on test queries as they are and misspelt.

    python experiments/tsgen_mini.py DATA… [--split test] [--limit N]

writes docs/results/tsgen-mini.json and .md. `bm25-terms` is BM25 over nothing but the 12 terms of
each document with the largest tf-idf. Misspelt: one random edit in each content word of a query.
tsgen-mini corrects what it reads by its documents' words; `bm25` on queries corrected in the same
way is a comparison of its own.
"""

import string
from argparse import ArgumentParser, Namespace
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tsgen.cli.common import progress
from tsgen.cli.publishing import made, publish
from tsgen.corpus.dataset import DataSet, DerivedDataSet
from tsgen.corpus.load import load
from tsgen.evaluate.compare import compare
from tsgen.evaluate.tables import Row, Table
from tsgen.records import Query
from tsgen.terms.words import ENGLISH_STOP_WORDS, Counting, Lexicon

SYSTEMS = ("bm25", "bm25-terms", "tsgen-mini")


class Misspelt(DerivedDataSet):
    """A data set whose queries have one edit in each content word."""

    def __init__(self, data: DataSet, seed: int) -> None:
        super().__init__(data)
        rng, asked = np.random.default_rng(seed), data.queries()
        self._queries = {id: replace(q, text=misspelt(q.text, rng)) for id, q in asked.items()}

    def queries(self) -> Mapping[str, Query]:
        """All queries, misspelt."""
        return self._queries


class Corrected(DerivedDataSet):
    """A data set whose queries are read by the words of its documents, as an engine reads them."""

    def __init__(self, data: DataSet) -> None:
        super().__init__(data)
        counting = Counting()
        deque(counting.passing(data.documents()), maxlen=0)
        lexicon, asked = Lexicon(counting.frequencies), data.queries()
        self._queries = {id: replace(q, text=lexicon.correct(q.text)) for id, q in asked.items()}

    def queries(self) -> Mapping[str, Query]:
        """All queries, corrected."""
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
    tables, figures, costs = [], [], []
    for name in options.data:
        data = load(name)
        noisy = Misspelt(data, options.seed)
        with progress():
            found = [
                _compare(data, "", SYSTEMS, options),
                _compare(noisy, ", misspelt", SYSTEMS, options),
                _compare(Corrected(noisy), ", misspelt and corrected", ("bm25",), options),
            ]
        tables += [one.table() for one in found]
        figures += [one.as_json() for one in found]
        costs += _lost(data.name, *tables[-3:])
    tables.append(_costs(tables[0], costs, notes))
    publish(options.out / "tsgen-mini", {"comparisons": figures} | notes, *tables)


def _compare(source: DataSet, asked: str, systems: Sequence[str], options: Namespace) -> Any:
    return compare(
        source,
        systems,
        split=options.split,
        limit=options.limit,
        cache=options.cache,
        seed=options.seed,
        title=f"{source.name}, {options.split}{asked}",
    )


def _lost(name: str, plain: Table, noisy: Table, corrected: Table) -> list[Row]:
    """M@10 before and after, and the share of it that misspelling costs each system."""
    place = [column.name for column in plain.columns].index("M@10")
    before = {row.label: row for row in plain.rows if row.group in ("", "all")}
    after = [(row, row.label) for row in noisy.rows if row.group in ("", "all")]
    after += [(row, "bm25, corrected") for row in corrected.rows if row.group in ("", "all")]
    rows = []
    for row, label in after:
        old, new = (float(one.values[place] or 0) for one in (before[row.label], row))
        values = [old, new, 1 - new / old if old else 0.0]
        rows.append(replace(row, label=label, values=values, group=name, marks={}))
    return rows


def _costs(like: Table, rows: list[Row], notes: Mapping[str, str]) -> Table:
    column = next(column for column in like.columns if column.name == "M@10")
    lost = replace(column, name="lost", best="low")
    columns = [column, replace(column, name="misspelt"), lost]
    return Table(columns, rows, "What misspelling costs", notes=notes, group_label="data")


def _options(arguments: list[str] | None) -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--split", default="test")
    parser.add_argument("--limit", type=int, help="only so many queries, evenly spread")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
