"""What spelling correction does to queries that are right, and to queries that are not.

    python experiments/spelling.py [DATA…] [--split test] [--limit N] [--seed 0] [--cache FOLDER]

DATA is by default `stdlib:` and examples/kitchen. Each query is read twice by the engine of
`tsgen index`: as it is, where every change of a right word is harm (a data set's queries have some
errors of their own; the words changed are listed), and misspelt as a hurried person does it, one
edit in one content word (`with_noise`), where the word should be restored. M@10 of both, with and
without correction. Writes docs/results/spelling.json and .md.
"""

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from tsgen.cli.common import progress
from tsgen.cli.publishing import made, publish
from tsgen.corpus.dataset import cache_folder_of, some_judged
from tsgen.corpus.load import load
from tsgen.evaluate.metrics import Scores, evaluate
from tsgen.evaluate.significance import compare_with
from tsgen.evaluate.tables import Column, Row, Table, p_value
from tsgen.progress import show
from tsgen.records import Hit, Judgments
from tsgen.retrieve.build import index
from tsgen.retrieve.engine import Engine
from tsgen.settings import NoiseConfig, SearchConfig
from tsgen.synthetic.pseudo_query import with_noise
from tsgen.terms.words import normalise

DATA = ("stdlib:", "examples/kitchen")
NOISE = NoiseConfig(everyday=0, inflect=0, misspell=1, drop=0, add=0, lower=0)
BATCH, DEPTH = 32, 10
MEASURE = "M@10"
Texts = Mapping[str, str]  # by query id


@dataclass(frozen=True)
class Reading:
    """Queries of one data set as they were written, and as the engine reads them."""

    name: str
    engine: Engine
    judged: Judgments
    right: Texts
    misspelt: Texts

    @cached_property
    def read_right(self) -> Texts:
        """The well-spelt queries, corrected."""
        return {id: self.engine.correct_query(text) for id, text in self.right.items()}

    @cached_property
    def read_misspelt(self) -> Texts:
        """The misspelt queries, corrected."""
        return {id: self.engine.correct_query(text) for id, text in self.misspelt.items()}

    def harmed(self) -> dict[str, int]:
        """The words of well-spelt queries that were changed, and in how many places."""
        changes = (changed(self.right[id], self.read_right[id]) for id in self.right)
        return dict(Counter(f"{old} → {new}" for pairs in changes for old, new in pairs))

    def outcomes(self) -> Counter[str]:
        """What became of the words that were misspelt."""
        found = Counter(restored=0, left=0, another=0)
        for id, text in self.misspelt.items():
            for place, (old, new) in enumerate(words(self.right[id], text)):
                if old != new:
                    read = self.read_misspelt[id].split()[place]
                    found[_outcome(old, new, read)] += 1
        return found

    @cached_property
    def scores(self) -> dict[str, Scores]:
        """The scores of all four, each different text searched for once."""
        asked = {
            "right": self.right,
            "right, corrected": self.read_right,
            "misspelt": self.misspelt,
            "misspelt, corrected": self.read_misspelt,
        }
        hits = search_as_written(
            self.engine, {t for texts in asked.values() for t in texts.values()}
        )
        return {
            name: evaluate({id: hits[text] for id, text in texts.items()}, self.judged)
            for name, texts in asked.items()
        }


def words(one: str, other: str) -> Iterable[tuple[str, str]]:
    """The words of two texts that differ in their spelling alone, side by side."""
    return zip(one.split(), other.split(), strict=True)


def changed(one: str, other: str) -> list[tuple[str, str]]:
    """The pairs of words that differ."""
    return [(old, new) for old, new in words(one, other) if old != new]


def _outcome(right: str, typed: str, read: str) -> str:
    if plain(read) == plain(right):
        return "restored"
    return "left" if read == typed else "another"


def plain(word: str) -> str:
    """A word without the punctuation around it, in its one spelling."""
    return normalise(word.strip('"“”«»()[]{}.,;:!?…'))


def search_as_written(engine: Engine, texts: Iterable[str]) -> dict[str, list[Hit]]:
    """The hits of each text, without correction."""
    search = SearchConfig(correct=False)
    snapshot = engine.snapshot
    snapshot = replace(snapshot, config=snapshot.config.model_copy(update={"search": search}))
    ordered, found = sorted(texts), dict[str, list[Hit]]()
    for start in range(0, len(ordered), BATCH):
        show("queries", start, len(ordered))
        batch = ordered[start : start + BATCH]
        found |= zip(batch, snapshot.search(batch, DEPTH), strict=True)
    return found


def read_all(name: str, options: Namespace) -> Reading:
    """Index a data set, and misspell its queries; a query without a content word stays as it is."""
    data, rng = load(name), np.random.default_rng(options.seed)
    judged, queries = some_judged(data, options.split, options.limit), data.queries()
    folder = cache_folder_of(data, options.cache)
    engine = index(data, out=folder / "spelling", preset="vectors", cache=options.cache)
    right = {id: " ".join(queries[id].text.split()) for id in judged}
    misspelt = {id: with_noise(text, rng, NOISE) for id, text in right.items()}
    return Reading(data.name, engine, judged, right, misspelt)


def main(arguments: list[str] | None = None) -> None:
    """Index, read, search and write."""
    options = _options(arguments)
    readings = []
    for name in options.data:
        with progress():
            readings.append(read_all(name, options))
            _ = readings[-1].scores
    notes = made(seed=options.seed, split=options.split)
    tables = [words_table(readings, notes), scores_table(readings, notes)]
    tables += [harm_table(readings)] if any(one.harmed() for one in readings) else []
    publish(options.out / "spelling", {"data": [as_json(one) for one in readings]} | notes, *tables)


def words_table(readings: Iterable[Reading], notes: Mapping[str, str]) -> Table:
    """How many well-spelt queries were changed, and what became of the misspelt words."""
    names = ("queries", "changed", "misspelt words", "restored", "left", "read as another")
    rows = []
    for one in readings:
        found = one.outcomes()
        different = sum(one.right[id] != one.read_right[id] for id in one.right)
        counts = found.total(), found["restored"], found["left"], found["another"]
        rows.append(Row(one.name, [len(one.right), different, *counts]))
    columns = [Column(name, None) for name in names]
    caption = "Queries as they are, and words misspelt by one edit"
    return Table(columns, rows, caption, notes, label="data")


def scores_table(readings: Iterable[Reading], notes: Mapping[str, str]) -> Table:
    """M@10 with and without correction, and the p of the difference."""
    rows = []
    for one in readings:
        values: list[float | str] = []
        for text in ("right", "misspelt"):
            before, after = one.scores[text], one.scores[f"{text}, corrected"]
            (test,) = compare_with(before, {text: after}, MEASURE)
            values += [before.means[MEASURE], after.means[MEASURE]]
            values.append(p_value(test.p) if test.mean_difference else "–")
        rows.append(Row(one.name, values))
    names = ("right", "corrected", "p", "misspelt", "misspelt, corrected", "p of misspelt")
    columns = [Column(name, None) for name in names]
    notes = {**notes, "p": "paired t-test with correction against without"}
    return Table(columns, rows, f"{MEASURE} of `tsgen index`", notes, label="data")


def harm_table(readings: Iterable[Reading]) -> Table:
    """Every word of a query as it is that was changed."""
    rows = [
        Row(change, [count], one.name) for one in readings for change, count in one.harmed().items()
    ]
    caption = "Words changed in queries as they are"
    return Table([Column("times", None)], rows, caption, label="word", group_label="data")


def as_json(reading: Reading) -> dict[str, object]:
    """All figures of one data set."""
    return {
        "name": reading.name,
        "queries": len(reading.right),
        "changed": reading.harmed(),
        "misspelt words": dict(reading.outcomes()),
        MEASURE: {name: scores.means[MEASURE] for name, scores in reading.scores.items()},
    }


def _options(arguments: list[str] | None) -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=DATA, help="names or folders of data sets")
    parser.add_argument("--split", default="test")
    parser.add_argument("--limit", type=int, help="queries, evenly spread over the split")
    parser.add_argument("--seed", type=int, default=0, help="of the misspellings")
    parser.add_argument("--cache", type=Path, help="of engines; by default TSGEN_CACHE")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
