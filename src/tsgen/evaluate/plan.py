"""What an experiment would do and cost, without doing any of it: `tsgen reproduce … --dry-run`.

Every row becomes its stages: the weigher, term sets, synthetic queries, each iteration of the
generator, the search. Stages with equal settings are one stage, as in the cache, so that what rows
share is counted once. A stage is done if the cache has a folder made from the same settings, seed
and inputs. How operations are counted is in `flops`.

Without a data set, sizes are those of the paper's.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from tsgen.artifact import MANIFEST, Manifest, hash_strings, read_manifest, stage_key
from tsgen.baselines._bi_encoder import BiEncoderConfig
from tsgen.baselines.hybrid import HybridConfig
from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet, judged_inputs
from tsgen.docids.assign import with_all_options
from tsgen.errors import ArtifactError, ConfigError, nearest
from tsgen.evaluate.experiment import Experiment, Rows
from tsgen.evaluate.flops import (
    QUERY_TOKENS,
    TERM_TOKENS,
    Spent,
    encoder_training,
    encoding,
    searching,
    shape_of,
    training,
)
from tsgen.evaluate.tables import Column, Row, Table
from tsgen.retrieve.sequence_systems import SequenceConfig
from tsgen.retrieve.systems import SYSTEMS, System
from tsgen.settings import (
    EngineConfig,
    LearnedConfig,
    ModelConfig,
    QueriesConfig,
    TrainConfig,
    TrainingConfig,
)
from tsgen.synthetic.released import with_released
from tsgen.synthetic.writing import QUERIES, writing_stage
from tsgen.terms.weigher_training import weigher_stage
from tsgen.train.iterate import KIND as ITERATION
from tsgen.train.iterate import iteration_config, stage_settings

TFLOPS = 100.0
"""TFLOP/s that a training sustains by default: a third of what an A100 has in bfloat16."""

WORD_TOKENS = 1.3  # of a word, on average
READ = 1000  # documents whose length is measured
TARGETS = {"dsi": 6, "nci": 6, "genret": 4, "genre": 8, "ultron": 20, "se-dsi": 14, "seal": 20,
           "minder": 30}  # fmt: skip
"""Tokens that a system of sequences learns for a pair; 10 for all others."""


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a data set."""

    documents: int
    pairs: int  # judged ones, of training
    queries: int  # of the test
    tokens: float  # of a document, on average


PAPER_SETS = {
    "NQ320K": Size(109_739, 307_373, 7_830, 512),
    "MS300K": Size(319_927, 367_013, 772, 1_400),
    "MSMARCO": Size(8_841_823, 532_761, 6_980, 75),
}
"""The paper's data sets; tokens a document are those that its systems read, or an estimate."""


def size_of(data: DataSet, split: str) -> Size:
    """Count a data set; the length of documents is that of the first thousand."""
    words = [len(document.contents.split()) for document in islice(data.documents(), READ)]
    pairs = data.judgments("train").values() if "train" in data.splits else ()
    return Size(
        sum(1 for _ in data.documents()),
        sum(grade > 0 for grades in pairs for grade in grades.values()),
        len(data.judgments(split)),
        WORD_TOKENS * sum(words) / len(words),
    )


class Made:
    """The finished stages of a data set's cache folder."""

    def __init__(self, folder: Path | None) -> None:
        paths = sorted(folder.glob(f"*/{MANIFEST}")) if folder and folder.is_dir() else []
        self._manifests = [found for path in paths if (found := _manifest(path.parent))]

    def find(
        self, kind: str, config: StageConfig, seed: int, **inputs: str | None
    ) -> Manifest | None:
        """The manifest of a stage with these settings and at least these inputs."""
        wanted = config.model_dump(mode="json")
        for one in self._manifests:
            same = one.kind == kind and one.config == wanted and one.seed == seed
            if same and all(one.inputs.get(name) == value for name, value in inputs.items()):
                return one
        return None


def _manifest(folder: Path) -> Manifest | None:
    try:
        return read_manifest(folder)
    except ArtifactError:
        return None


@dataclass(frozen=True, slots=True)
class PlannedStage:
    """One piece of an experiment's work: its key is equal for equal work."""

    name: str
    key: str
    spent: Spent
    done: bool = False
    minutes: float | None = None  # the budget of a training that has one

    def hours(self, tflops: float) -> float:
        """GPU hours: the budget in minutes, or the operations at so many TFLOP/s."""
        return self.spent.hours(tflops) if self.minutes is None else self.minutes / 60


@dataclass(frozen=True, slots=True)
class Planner:
    """Finds the stages of systems on a data set of some size, and which of them are done."""

    size: Size
    seed: int
    made: Made
    data: DataSet | None = None

    def stages(self, system: System, settings: StageConfig) -> list[PlannedStage]:
        """The stages of a row in their order."""
        if isinstance(settings, HybridConfig):
            parts = [(SYSTEMS.get(name), values) for name, values in settings.settings.items()]
            found = [self.stages(one, one.config.from_mapping(v)) for one, v in parts]
            return [*(stage for part in found for stage in part), self._whole(system, settings)]
        if isinstance(settings, EngineConfig):
            return list(self._engine(system, settings))
        if isinstance(settings, SequenceConfig):
            return list(self._sequences(system, settings))
        if isinstance(settings, BiEncoderConfig):
            return list(self._bi_encoder(system, settings))
        return [self._whole(system, settings)]

    def _engine(self, system: System, config: EngineConfig) -> Iterator[PlannedStage]:
        options = with_all_options(config.terms)
        if config.terms.weights == "learned":
            yield from self._weigher(config)
        terms = self._find("term-sets", options)
        yield self._stage("term sets", options, Spent(disk=30.0 * self.size.documents), terms)
        queries, synthetic = None, 0.0
        if config.queries is not None:
            written = list(self._queries(config.queries))
            queries = self._found_queries(config.queries)
            synthetic = float(self.size.documents * config.queries.n)
            yield from written
        pairs = self._pairs(config.train, synthetic)
        before: Manifest | None = None
        for number in range(1, config.train.iterations + 1):
            train = iteration_config(config.train, number)
            settings = stage_settings(config.model, train)
            inputs = {
                "terms": terms.key if terms else None,
                "previous": before.key if before else None,
                "queries": queries.files[QUERIES][1] if queries else None,
            }
            ready = terms and (before or number == 1) and (queries or config.queries is None)
            before = self.made.find(ITERATION, settings, self.seed, **inputs) if ready else None
            spent = self._generator(config, train, pairs, number)
            about = hash_strings(options.model_dump_json(), str(config.queries))
            name = f"iteration {number}"
            yield self._stage(name, settings, spent, before, about, train.minutes)
        yield self._whole(system, config, self._engine_search(config))

    def _weigher(self, config: EngineConfig) -> Iterator[PlannedStage]:
        learned = LearnedConfig.from_mapping(config.terms.options)
        shape, sizes = shape_of(learned.model.encoder), learned.training
        about = weigher_stage(config.terms.words, learned)
        trained, read = Spent(), Spent()
        if shape is not None:
            texts = self.size.pairs * sizes.epochs * (1 + sizes.negatives)
            tokens = min(self.size.tokens, sizes.window)
            trained = encoder_training(
                shape, texts, tokens, sizes.batch_size * (1 + sizes.negatives)
            )
            windows = learned.model.window / max(learned.model.window - learned.model.overlap, 1)
            again = windows if self.size.tokens > learned.model.window else 1.0
            read = encoding(shape, self.size.documents, self.size.tokens * again)
            read = replace(read, disk=8 * self.size.documents * self.size.tokens)
        found = self._find("weigher", about)
        yield self._stage("weigher", about, trained, found)
        done = self._find("term-sets", with_all_options(config.terms))
        yield self._stage("weighing documents", about, read, done)

    def _queries(self, config: QueriesConfig) -> Iterator[PlannedStage]:
        """Writing; choosing among the written ones costs next to nothing."""
        config = self._released(config)
        about = writing_stage(config)
        options, spent = about.options, Spent()
        shape = shape_of(str(options.get("model", options.get("backbone", ""))))
        if shape is not None:
            read = min(self.size.tokens, float(options["document_tokens"]))
            text = shape.encoder * read
            one = shape.next_token * QUERY_TOKENS
            spent = Spent(
                2 * self.size.documents * (text + config.n * one),
                4 * shape.weights + 8 * config.n * 8 * shape.width * 512,
            )
            if options.get("tune") or config.writer == "local":
                pairs = self.size.pairs * float(options["epochs"])
                memory = training(shape, 0, read, int(options["batch_size"])).memory
                spent += Spent(6 * pairs * (text + one), memory)
        disk = 60.0 * config.n * self.size.documents
        found = self._find("written-queries", about)
        yield self._stage("synthetic queries", about, replace(spent, disk=disk), found)

    def _found_queries(self, config: QueriesConfig) -> Manifest | None:
        return self._find("queries", self._released(config), documents=False)

    def _released(self, config: QueriesConfig) -> QueriesConfig:
        return config if self.data is None else with_released(self.data, config)

    def _pairs(self, train: TrainingConfig, synthetic: float) -> float:
        """Training pairs of an epoch."""
        own = self.size.documents * (train.pairs.titles + train.pairs.pieces)
        return (self.size.pairs if train.pairs.judged else 0) + synthetic + own

    def _generator(
        self, config: EngineConfig, train: TrainConfig, pairs: float, number: int
    ) -> Spent:
        """Training of one iteration, its validations and the search for its targets."""
        shape = shape_of(config.model.backbone)
        if shape is None:
            return Spent()
        tokens = _term_tokens(config)
        learned = min(tokens, train.first_tokens or tokens)
        met = pairs * train.epochs * train.permutations
        spent = training(shape, met, learned, train.batch_size)
        spent += self._validations(config.model, train, pairs, tokens)
        if number > 1 or train.order == "likelihood":
            spent += searching(shape, pairs, tokens, train.favourite.beam)
        return spent

    def _validations(
        self, model: ModelConfig, train: TrainingConfig, pairs: float, tokens: float
    ) -> Spent:
        shape = shape_of(model.backbone)
        if shape is None:
            return Spent()
        often = pairs * train.epochs / train.batch_size / train.validate_every
        queries = often * min(train.validation_queries, self.size.queries)
        return searching(shape, queries, tokens, train.validation.beam)

    def _engine_search(self, config: EngineConfig) -> Spent:
        shape, texts = shape_of(config.model.backbone), 6 * self.size.tokens * self.size.documents
        if shape is None:
            return Spent(disk=texts)
        decode = config.decode
        spent = searching(shape, self.size.queries, _term_tokens(config), decode.beam, decode.batch)
        return replace(spent, disk=texts + 4 * shape.weights + 100 * self.size.documents)

    def _sequences(self, system: System, config: SequenceConfig) -> Iterator[PlannedStage]:
        synthetic = 0.0
        if config.queries is not None:
            synthetic = float(self.size.documents * config.queries.n)
            yield from self._queries(config.queries)
        shape, tokens = shape_of(config.model.backbone), float(TARGETS.get(system.name, 10))
        spent = Spent()
        if shape is not None:
            train, pairs = config.train, self._pairs(config.train, synthetic)
            spent = training(shape, pairs * train.epochs, tokens, train.batch_size)
            spent += self._validations(config.model, train, pairs, tokens)
            spent += searching(
                shape, self.size.queries, tokens, config.decode.beam, config.decode.batch
            )
        yield self._whole(system, config, spent, config.train.minutes)

    def _bi_encoder(self, system: System, config: BiEncoderConfig) -> Iterator[PlannedStage]:
        shape, spent = shape_of(config.encoder), Spent()
        if shape is not None:
            read = min(self.size.tokens, config.training_tokens or config.document_tokens)
            texts = self.size.pairs * config.epochs * (1 + config.negatives)
            rounds = int(getattr(config, "rounds", 1))
            batch = config.batch_size * (1 + config.negatives)
            spent = encoder_training(shape, texts * rounds, read, batch)
            tokens = min(self.size.tokens, config.document_tokens)
            spent += encoding(shape, self.size.documents * rounds, tokens)
            spent += Spent(disk=4 * shape.width * self.size.documents)
        yield self._whole(system, config, spent, config.minutes)

    def _whole(
        self,
        system: System,
        settings: StageConfig,
        spent: Spent | None = None,
        minutes: float | None = None,
    ) -> PlannedStage:
        """The stage of the fitted system, with its search."""
        found = self._find(system.name, settings)
        return self._stage(system.name, settings, spent or Spent(), found, minutes=minutes)

    def _find(self, kind: str, config: StageConfig, documents: bool = True) -> Manifest | None:
        """The manifest of a stage that was made of this data set."""
        if self.data is None:
            return None
        inputs = {"documents": self.data.fingerprint} if documents else {}
        if kind in SYSTEMS.names() and SYSTEMS.get(kind).trains:
            inputs |= judged_inputs(self.data, "train", "dev")
        return self.made.find(kind, config, self.seed, **inputs)

    def _stage(
        self,
        name: str,
        config: StageConfig,
        spent: Spent,
        found: Manifest | None,
        about: str = "",
        minutes: float | None = None,
    ) -> PlannedStage:
        key = stage_key(name, config.model_dump(mode="json"), {"about": about}, self.seed)
        return PlannedStage(name, key, spent, found is not None, minutes)


def _term_tokens(config: EngineConfig) -> float:
    """The tokens of a document's terms."""
    n = config.terms.n if isinstance(config.terms.n, int) else 12
    return n * (TERM_TOKENS if config.model.spelling == "subword" else 1.0)


@dataclass(frozen=True, slots=True)
class Plan:
    """The stages of every row of an experiment."""

    title: str
    rows: Mapping[str, Sequence[PlannedStage]]
    systems: Mapping[str, str]
    expected: Mapping[str, Mapping[str, float]]
    tflops: float

    def left(self) -> list[PlannedStage]:
        """The distinct stages that are not done."""
        every = (stage for stages in self.rows.values() for stage in stages)
        return list({stage.key: stage for stage in every if not stage.done}.values())

    def table(self) -> Table:
        """A row for each row of the experiment, with the paper's figures."""
        measures = list(dict.fromkeys(name for found in self.expected.values() for name in found))
        columns = [Column(name, None) for name in ("system", "stages", "done")]
        columns += [Column("PFLOP", None, 1), Column("GPU hours", None, 1)]
        columns += [Column("GPU GB", None, 1), Column("disk GB", None, 1)]
        columns += [Column(f"paper {name}", None) for name in measures]
        rows = []
        for name, stages in self.rows.items():
            own = self.expected.get(name, {})
            figures = [_plain(own[measure]) if measure in own else None for measure in measures]
            rows.append(Row(name, [self.systems[name], *self._told(stages), *figures]))
        return Table(columns, rows, self.title, self._notes(), label="row")

    def stage_table(self) -> Table:
        """A row for each distinct stage, with the row that first needs it."""
        columns = [Column(name, None) for name in ("first for", "rows", "done")]
        columns += [Column("PFLOP", None, 1), Column("GPU hours", None, 1)]
        columns += [Column("GPU GB", None, 1), Column("disk GB", None, 1)]
        users: dict[str, list[str]] = {}
        stages: dict[str, PlannedStage] = {}
        for name, own in self.rows.items():
            for stage in own:
                stages.setdefault(stage.key, stage)
                users.setdefault(stage.key, []).append(name)
        rows = [
            Row(one.name, [users[key][0], len(set(users[key])), *self._told([one])[1:]])
            for key, one in stages.items()
        ]
        return Table(columns, rows, f"{self.title}: stages", label="stage")

    def as_json(self) -> dict[str, Any]:
        """Every row with its stages, as plain values."""
        return {
            "title": self.title,
            "tflops": self.tflops,
            "rows": {
                name: {
                    "system": self.systems[name],
                    "paper": dict(self.expected.get(name, {})),
                    "stages": [
                        {
                            "name": stage.name,
                            "key": stage.key,
                            "done": stage.done,
                            "flops": stage.spent.flops,
                            "gpu_hours": stage.hours(self.tflops),
                            "gpu_bytes": stage.spent.memory,
                            "disk_bytes": stage.spent.disk,
                        }
                        for stage in stages
                    ],
                }
                for name, stages in self.rows.items()
            },
        }

    def _told(self, stages: Sequence[PlannedStage]) -> list[float | int | str]:
        """The number of stages and of those done, and what the others take."""
        left = [stage for stage in stages if not stage.done]
        done = f"{len(stages) - len(left)}"
        if len(stages) == 1:
            done = "no" if left else "yes"
        spent = sum((stage.spent for stage in left), Spent())
        hours = sum(stage.hours(self.tflops) for stage in left)
        facts = [spent.flops / 1e15, hours, spent.memory / 1e9, spent.disk / 1e9]
        return [len(stages), done, *facts]

    def _notes(self) -> dict[str, str]:
        left = self.left()
        spent = sum((stage.spent for stage in left), Spent())
        hours = sum(stage.hours(self.tflops) for stage in left)
        return {
            "in all": f"{len(left)} stages are left, {spent.flops / 1e15:,.1f} PFLOP, "
            f"{hours:,.1f} GPU hours at {self.tflops:g} TFLOP/s, {spent.disk / 1e9:,.1f} GB of "
            "disk; what several rows need is counted once",
            "estimates": "from shapes, right to a factor of two; 0.0 where no GPU is needed or a "
            "model's size is not known",
        }


def _plain(figure: float) -> float | int:
    """A count as a whole number."""
    return int(figure) if figure.is_integer() else figure


def plan(
    experiment: Experiment,
    chosen: Rows,
    title: str,
    known_as: str | None,
    data: DataSet | None = None,
    split: str = "test",
    seeds: Iterable[int] = (0,),
    cache: Path | None = None,
    tflops: float = TFLOPS,
) -> Plan:
    """Find the stages of an experiment's rows and what they cost.

    Args:
        experiment: The experiment.
        chosen: Its rows, as `Experiment.chosen` gives them.
        title: The caption of the table.
        known_as: The paper's name of the data set, if it is one of the paper's.
        data: The data set; None for the sizes of the paper's.
        split: The judgments to evaluate on.
        seeds: Each has stages of its own.
        cache: The data set's folder in the cache.
        tflops: TFLOP/s that a training sustains on the GPU.
    """
    if data is None and known_as not in PAPER_SETS:
        raise ConfigError(
            f"no --data, and {known_as or experiment.title!r} is none of the paper's data sets: "
            f"{nearest(known_as or '', PAPER_SETS)}. Give --data DATA, or --as with one of them."
        )
    size = PAPER_SETS[str(known_as)] if data is None else size_of(data, split)
    planners = [Planner(size, seed, Made(cache), data) for seed in seeds]
    rows = {
        name: [stage for planner in planners for stage in planner.stages(*row)]
        for name, row in chosen.items()
    }
    systems = {name: row[0].name for name, row in chosen.items()}
    return Plan(title, rows, systems, experiment.expected(known_as), tflops)
