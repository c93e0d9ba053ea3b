"""tsgen-mini without training beside BM25, on test queries as they are and misspelt.

    python experiments/zero_shot.py DATA… [--split test] [--limit N]

writes docs/results/zero-shot.json and .md. `bm25-terms` is BM25 over nothing but the 12 terms of
each document with the largest tf-idf. Misspelt: one random edit in each content word of a query.
"""

import shlex
import string
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from tsgen.artifact import write_beside
from tsgen.cli.common import progress, write_json
from tsgen.corpus.dataset import DataSet
from tsgen.corpus.load import load
from tsgen.corpus.problems import Problems
from tsgen.evaluate.compare import compare
from tsgen.evaluate.tables import Table, to_markdown, to_rich
from tsgen.records import Document, Judgments, Query
from tsgen.terms.words import ENGLISH_STOP_WORDS

SYSTEMS = ("bm25", "bm25-terms", "tsgen-mini")


class Misspelt:
    """A data set whose queries have one edit in each content word."""

    def __init__(self, data: DataSet, seed: int) -> None:
        self._data, self.name, self.splits = data, data.name, data.splits
        rng, asked = np.random.default_rng(seed), data.queries()
        self._queries = {id: replace(q, text=misspelt(q.text, rng)) for id, q in asked.items()}

    @property
    def fingerprint(self) -> str:
        """That of the documents."""
        return self._data.fingerprint

    @property
    def problems(self) -> Problems:
        """Those of the data."""
        return self._data.problems

    def documents(self) -> Iterator[Document]:
        """The documents as they are."""
        return self._data.documents()

    def queries(self) -> Mapping[str, Query]:
        """All queries, misspelt."""
        return self._queries

    def judgments(self, split: str) -> Judgments:
        """The judgments as they are."""
        return self._data.judgments(split)


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
    made = {
        "command": shlex.join(["python", *sys.argv]),
        "date": date.today().isoformat(),
        "seed": str(options.seed),
    }
    tables, figures = [], []
    for name in options.data:
        data = load(name)
        for asked, source in (("", data), (", misspelt", Misspelt(data, options.seed))):
            with progress():
                found = _compare(source, f"{data.name}, {options.split}{asked}", options)
            tables.append(found.table())
            figures.append(found.as_json())
            Console().print(to_rich(tables[-1]))
    tables.append(_lost(tables))
    Console().print(to_rich(tables[-1]))
    write_json(str(options.out / "zero-shot.json"), {"comparisons": figures} | made)
    with write_beside(options.out / "zero-shot.md") as beside:
        notes = "; ".join(f"{name}: {value}" for name, value in made.items())
        beside.write_text("\n\n".join([*map(to_markdown, tables), notes]) + "\n", encoding="utf-8")


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
