"""The paper's method at small scale, the form `small` of Table 6, on the pages of a data set that
are asked for most; with T5 in its smallest size, or by the form's own small decoder.

    pip install 'tsgen-ir[flan-t5]'
    python experiments/paper_small.py DATA [--documents 1000] [--epochs 8 | --minutes 30]
    python experiments/paper_small.py DATA --backbone mini-flat

Trains a term set in two iterations, in one, and the same terms as a sequence for equally many
epochs, or in equal minutes, of which the search for favourite permutations is a part. Writes
docs/results/paper-small-NAME.json and .md: figures with paired tests, how many documents a query
returned, the share of targets of iteration 2 that are not the order by weight, and the two
permutations of Table 7.
"""

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tsgen.arrays import ARRAYS
from tsgen.artifact import hash_strings
from tsgen.cli.common import progress
from tsgen.cli.publishing import made, publish
from tsgen.config import StageConfig, read_settings
from tsgen.corpus.dataset import DataSet, DerivedDataSet, cache_folder_of, some_judged
from tsgen.corpus.load import load
from tsgen.docids.term_set import TermSets
from tsgen.evaluate.experiment import Experiment, read_experiment
from tsgen.evaluate.metrics import DEPTH
from tsgen.evaluate.reproduce import cases_table, find_cases, reproduce
from tsgen.records import Document, Judgments
from tsgen.retrieve.bench import Bench
from tsgen.retrieve.build import trained_stages
from tsgen.retrieve.systems import System
from tsgen.settings import MINI_FLAT, EngineConfig
from tsgen.train.examples import numbered_examples, weight_order
from tsgen.train.iterate import FAVOURITES, TERMS

TWO, ONE, SEQUENCE = "term set", "one iteration", "as a sequence"
FORM = "small"


class MostAsked(DerivedDataSet):
    """The documents of a data set that most training queries ask for, of those that test queries
    ask for, with at most `pairs` training queries each."""

    def __init__(self, data: DataSet, documents: int, pairs: int) -> None:
        super().__init__(data)
        tested = {id for grades in data.judgments("test").values() for id in grades}
        asked = Counter(id for grades in data.judgments("train").values() for id in grades)
        found = [id for id, _ in asked.most_common() if id in tested]
        self._ids, self._pairs = set(found[:documents]), pairs

    @property
    def name(self) -> str:
        """The data set's name and the number of its documents."""
        return f"{self._data.name}-{len(self._ids)}-most-asked"

    @property
    def fingerprint(self) -> str:
        """A hash of the data set and of the documents chosen."""
        return hash_strings(self._data.fingerprint, *sorted(self._ids))

    def documents(self) -> Iterator[Document]:
        """Stream the documents chosen, in file order."""
        return (one for one in self._data.documents() if one.id in self._ids)

    def judgments(self, split: str) -> Judgments:
        """The judgments of the documents chosen."""
        met: Counter[str] = Counter()
        left: dict[str, dict[str, int]] = {}
        for query, grades in self._data.judgments(split).items():
            for id, grade in grades.items():
                met[id] += id in self._ids
                if id in self._ids and (split != "train" or met[id] <= self._pairs):
                    left.setdefault(query, {})[id] = grade
        return left


def main() -> None:
    """Train, search, print and write."""
    options = _options()
    data = MostAsked(load(options.data), options.documents, options.pairs)
    with progress():
        _measure(data, options)


def _measure(data: DataSet, options: Namespace) -> None:
    tables, experiment = _settings(options), _experiment(options)
    found = reproduce(
        experiment,
        data,
        form=FORM,
        limit=options.limit,
        minutes=options.minutes,
        settings=tables,
        title=f"The paper's method at small scale: {data.name}",
    )
    chosen = experiment.chosen(FORM, minutes=options.minutes, over=tables)
    queries = [data.queries()[id] for id in some_judged(data, "test", options.limit)]
    bench = Bench(data, queries, DEPTH, 0, cache_folder_of(data))
    facts: dict[str, Any] = {"documents": sum(1 for _ in data.documents())}
    facts["training pairs"] = sum(map(len, data.judgments("train").values()))
    for name, row in chosen.items():
        facts[f"documents found a query, {name}"] = round(_documents_a_query(bench, *row), 1)
    facts |= _targets(bench, chosen[TWO][1])
    each, settings = chosen[TWO]
    folder, _ = bench.fit(each, settings)
    cases = find_cases(each.load(folder), data, "test")
    facts["cases with two different orders"] = sum(case.difference > 0 for case in cases)
    notes = made() | {name: str(value) for name, value in facts.items()}
    shown = [replace(table, notes={**table.notes, **notes}) for table in found.tables]
    figures = dict(found.figures) | made() | facts | {"cases": [one.as_json() for one in cases]}
    name = f"paper-small-{options.backbone}-{data.name}"
    publish(options.out / name, figures, *shown, cases_table(cases, TWO))


def _settings(options: Namespace) -> dict[str, dict[str, Any]]:
    """Settings over those of the form: T5 takes smaller batches, and p over all its outputs."""
    t5 = ["batch_size=16", "learning_rate=1e-3", "normalise=full", "validation.normalise=full"]
    t5 += ["validate_every=50", "validation_queries=20", "encoder_learning_rate=unset"]
    over = [f"model.backbone={options.backbone}", "queries.writer=none"]
    if options.backbone != MINI_FLAT:
        over += [f"train.{one}" for one in t5]
    return read_settings(None, [*over, *options.settings])


def _experiment(options: Namespace) -> Experiment:
    """Three rows of Table 6, trained for equally many epochs if no minutes are given."""
    table = read_experiment("table6")
    rows = {row.name: row for row in table.rows}
    parts = {TWO: 2, ONE: 1, SEQUENCE: 1}  # iterations
    chosen = []
    for name, iterations in parts.items():
        settings = {key: dict(value) for key, value in rows[name].settings.items()}
        settings.setdefault("train", {})["epochs"] = max(options.epochs // iterations, 1)
        chosen.append(rows[name].model_copy(update={"settings": settings}))
    return table.model_copy(update={"rows": tuple(chosen)})


def _documents_a_query(bench: Bench, each: System, settings: StageConfig) -> float:
    return float(np.mean([len(hits) for hits in bench.run(each, settings).values()]))


def _targets(bench: Bench, config: StageConfig) -> Mapping[str, Any]:
    """How many targets of iteration 2 are another order than that by weight."""
    assert isinstance(config, EngineConfig)  # all rows are of the system tsgen
    terms, iterations = trained_stages(bench.data, config, bench.seed, bench.cache)
    sets = TermSets.load(terms)
    numbers = sets.document_numbers()
    limit = config.train.validation_queries
    pairs, _ = numbered_examples(bench.data, numbers, config.train.pairs, limit, bench.seed)
    by_weight = weight_order(sets, [pair.document for pair in pairs])
    found = _favourites(iterations[-1])
    differ = [
        bool(np.any(found[start:end] != by_weight.values[start:end]))
        for start, end in zip(by_weight.offsets, by_weight.offsets[1:], strict=False)
    ]
    return {"share of targets of iteration 2 not by weight": round(float(np.mean(differ)), 3)}


def _favourites(iteration: Path) -> np.ndarray:
    files: Sequence[Path] = sorted(iteration.glob(f"{FAVOURITES}-*"))
    return np.concatenate([ARRAYS.read(file)[TERMS] for file in files])


def _options() -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("--backbone", default="flan-t5-small")
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=5, help="training queries of a page, at most")
    parser.add_argument("--epochs", type=int, default=8, help="of training, for each row")
    parser.add_argument("--minutes", type=float, help="of training, in place of epochs")
    parser.add_argument("--limit", type=int, default=200, help="test queries")
    parser.add_argument("--set", dest="settings", action="append", default=[])
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
