"""Commands that make an engine or its parts: demo, index, fit, queries, pretrain, terms."""

from pathlib import Path
from typing import Annotated

import typer

from tsgen.cli.common import (
    CacheOption,
    DataArgument,
    JsonOption,
    PresetOption,
    QrelsOption,
    SetOption,
    SkipBadOption,
    console,
    progress,
    report,
    results_console,
    write_json,
)


def fit(
    data: DataArgument,
    out: Annotated[Path, typer.Option(metavar="ENGINE", help="The folder of the engine.")],
    queries: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help='More training queries: {"query": …, "document": id}.'),
    ] = None,
    split: Annotated[str, typer.Option(help="The judgments to evaluate on, if there.")] = "dev",
    settings: SetOption = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="TOML: [terms], [queries], [model], [train], [decode]."),
    ] = None,
    preset: PresetOption = "vectors",
    seed: Annotated[int, typer.Option(help="Equal seeds give equal engines.")] = 0,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Fail if TensorBoard's package is not there.")
    ] = False,
    cache: CacheOption = None,
    qrels: QrelsOption = "qrels",
    skip_bad: SkipBadOption = False,
    json: JsonOption = None,
) -> None:
    """Choose terms, train the generator iteration by iteration, and evaluate the engine.

    What was done before is not done again, and an interrupted command goes on from there.

    Several GPUs: `torchrun --nproc-per-node 4 -m tsgen fit …`

    Example: `tsgen fit stdlib: --out runs/engine --preset cpu --set train.epochs=3`
    """
    from tsgen import parallel as processes
    from tsgen.config import read_settings
    from tsgen.corpus.load import load
    from tsgen.evaluate.evaluation import evaluate_source
    from tsgen.evaluate.tables import to_json
    from tsgen.retrieve.build import fit as fit_engine
    from tsgen.training_loop import require_tensorboard

    flags = [] if queries is None else [f"train.pairs.queries={str(queries)!r}"]
    tables = read_settings(config, [*(settings or []), *flags], preset)
    if tensorboard:
        require_tensorboard()
    source = load(data, qrels=qrels, skip_bad=skip_bad)
    with progress():
        fit_engine(source, out=out, preset=None, settings=tables, seed=seed, cache=cache)
        if processes.rank():
            return
        judged = split in source.splits
        result = evaluate_source(out, source, split=split) if judged else None
    if skip_bad:
        console.print(source.problems.summary())
    if result is not None:
        report(result, to_json(result), json, None)
    console.print(f'The engine is in {out}: tsgen search {out} "…"')


def index(
    data: DataArgument,
    out: Annotated[Path, typer.Option(metavar="ENGINE", help="The folder of the engine.")],
    model: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="A generator of your own: what tsgen pretrain wrote."),
    ] = None,
    settings: SetOption = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TOML: [terms], [model], [decode].")
    ] = None,
    preset: PresetOption = "auto",
    cache: CacheOption = None,
    skip_bad: SkipBadOption = False,
    json: JsonOption = None,
) -> None:
    """Make documents searchable without training queries: choose their terms, and let a generator
    learn them from the documents.

    DATA may be a folder of text or Markdown files. What was done before is not done again.

    Example: `tsgen index notes --out runs/notes`
    """
    from tsgen.config import read_settings
    from tsgen.corpus.load import load
    from tsgen.retrieve.build import index as index_documents
    from tsgen.retrieve.build import index_preset

    tables = read_settings(config, settings or [], index_preset(preset, own=model is not None))
    source = load(data, skip_bad=skip_bad)
    with progress():
        engine = index_documents(
            source, out=out, model=model, preset=None, settings=tables, cache=cache
        )
    if skip_bad:
        console.print(source.problems.summary())
    size, terms = len(engine), len(engine.sets.vocabulary)
    results_console(json).print(
        f'{size:,} documents, {terms:,} terms. The engine is in {out}: tsgen search {out} "…"'
    )
    write_json(json, {"engine": str(out), "documents": size, "vocabulary": terms})


def pretrain(
    data: DataArgument,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder of the model.")],
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="DATA", help="Leave out documents that this data set has, too."),
    ] = None,
    settings: SetOption = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="TOML: [terms], [pseudo], [model], [train]."),
    ] = None,
    preset: PresetOption = "pretrain",
    seed: Annotated[int, typer.Option(help="Equal seeds give equal models.")] = 0,
    cache: CacheOption = None,
    qrels: QrelsOption = "qrels",
    skip_bad: SkipBadOption = False,
    json: JsonOption = None,
) -> None:
    """Learn from texts alone to write the terms of documents.

    Queries are made from the texts; judgments of a split named dev, if there are any, choose the
    best weights. Interrupted, it goes on.

    Example: `tsgen pretrain data/pages --out runs/mini --without data/my-test-set`, then
    `tsgen index docs --out runs/engine --model runs/mini/model`
    """
    from tsgen.config import read_settings
    from tsgen.corpus.load import load
    from tsgen.retrieve.build import pretrain as pretrain_generator
    from tsgen.train.iterate import MODEL

    tables = read_settings(config, settings or [], preset)
    source = load(data, qrels=qrels, skip_bad=skip_bad)
    with progress():
        best = pretrain_generator(
            source,
            out=out,
            without=without or [],
            preset=None,
            settings=tables,
            seed=seed,
            cache=cache,
        )
    if skip_bad:
        console.print(source.problems.summary())
    write_json(json, {"model": str(out / MODEL), "M@10": best})
    console.print(f"The model is in {out / MODEL}; its best validation M@10 was {best:.3f}.")


def terms(
    data: DataArgument,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the term sets go.")],
    weights: Annotated[
        str | None, typer.Option(help="learned, tfidf, title or random; default learned.")
    ] = None,
    n: Annotated[
        str | None,
        typer.Option(
            "--n", help="Terms a document. queries: as training queries need; auto: the fewest."
        ),
    ] = None,
    stem: Annotated[
        str | None, typer.Option(metavar="LANGUAGE", help="Of the stemmer, or none.")
    ] = None,
    seed: Annotated[int, typer.Option(help="For random and learned weights.")] = 0,
    settings: SetOption = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="TOML with [terms] and a table for the weights."),
    ] = None,
    preset: PresetOption = "cpu",
    qrels: QrelsOption = "qrels",
    skip_bad: SkipBadOption = False,
    cache: CacheOption = None,
    json: JsonOption = None,
) -> None:
    """Choose each document's N heaviest words as its identifier, unique for every document.

    What was done before is not done again, and an interrupted command goes on from there.

    Example: `tsgen terms stdlib: --out runs/wiki-terms --weights tfidf --n 12`
    """
    from tsgen.config import read_settings
    from tsgen.corpus.dataset import cache_folder_of
    from tsgen.corpus.load import load
    from tsgen.docids.assign import select_terms, summary, terms_config

    given = {"terms.weights": weights, "terms.n": n, "terms.words.stem": stem}
    flags = [f"{name}={value}" for name, value in given.items() if value is not None]
    chosen = terms_config(read_settings(config, [*(settings or []), *flags], preset))
    source = load(data, qrels=qrels, skip_bad=skip_bad)
    with progress():
        select_terms(source, chosen, out, seed, cache_folder_of(source, cache))
    if skip_bad:
        console.print(source.problems.summary())
    facts = summary(out)
    results_console(json).print(
        f"{facts['documents']:,} documents, N = {facts['n']}, {facts['vocabulary']:,} terms, "
        f"{facts['moved']:,} collisions resolved, {facts['duplicates']:,} duplicates. "
        f"To check them: tsgen inspect {out}"
    )
    write_json(json, facts)


def queries(
    data: DataArgument,
    out: Annotated[Path, typer.Option(metavar="FILE", help="JSONL, for `tsgen fit --queries`.")],
    n: Annotated[
        int | None, typer.Option("-n", "--n", help="Queries to write a document; default 10.")
    ] = None,
    writer: Annotated[
        str | None,
        typer.Option(help="extractive, local, doct5query or smollm2; default extractive."),
    ] = None,
    keep_top: Annotated[
        int | None,
        typer.Option(metavar="K", help="Keep queries that find their document among K first."),
    ] = None,
    finder: Annotated[
        str | None, typer.Option(help="What must find it: bm25 or minilm; default bm25.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Equal seeds give equal queries.")] = 0,
    settings: SetOption = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TOML with a table [queries].")
    ] = None,
    preset: PresetOption = "cpu",
    cache: CacheOption = None,
    qrels: QrelsOption = "qrels",
    skip_bad: SkipBadOption = False,
    json: JsonOption = None,
) -> None:
    """Write queries that people might ask, drop duplicates, keep those that find their document.

    What was done before is not done again, and an interrupted command goes on from there.

    Example: `tsgen queries stdlib: --out queries.jsonl -n 10 --writer local --keep-top 20`
    """
    from tsgen.config import read_settings
    from tsgen.corpus.dataset import cache_folder_of
    from tsgen.corpus.load import load
    from tsgen.evaluate.tables import one_row_table
    from tsgen.synthetic.writing import copy_queries, counts, make_queries, queries_config

    options = {"writer": writer, "n": n, "keep_top": keep_top, "finder": finder}
    flags = [f"queries.{name}={value}" for name, value in options.items() if value is not None]
    chosen = queries_config(read_settings(config, [*(settings or []), *flags], preset))
    source = load(data, qrels=qrels, skip_bad=skip_bad)
    with progress():
        folder = make_queries(source, chosen, seed, cache_folder_of(source, cache))
    copy_queries(folder, out)
    if skip_bad:
        console.print(source.problems.summary())
    kept_if = f"document among {chosen.finder}'s first {chosen.keep_top}"
    table = one_row_table(
        chosen.writer,
        {name.replace("_", " "): count for name, count in counts(folder).items()},
        caption=f"Synthetic queries for {source.name}, {chosen.n} a document",
        notes={"round trip": kept_if if chosen.keep_top else "off"},
        label="writer",
    )
    report(table, counts(folder), json, None)
    console.print(f"The queries are in {out}: tsgen fit {data} --queries {out} --out ENGINE")


def demo(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="For the engine and run files.")
    ] = Path("runs/demo"),
    json: JsonOption = None,
    preset: PresetOption = "vectors",
    seed: Annotated[int, typer.Option(help="For all that is trained.")] = 0,
) -> None:
    """Search Python's own documentation: let an engine learn it, compare it with others, and ask.

    What was done before is not done again, and an interrupted command goes on from there.

    Example: `tsgen demo --json figures.json`
    """
    from tsgen.cli.views import introduction, search_view
    from tsgen.corpus.load import load
    from tsgen.evaluate.demo import ENGINE
    from tsgen.evaluate.demo import demo as run_demo
    from tsgen.evaluate.tables import to_rich

    data = load("stdlib:")
    console.print(introduction(data, preset), highlight=False, soft_wrap=True)
    with progress():
        found = run_demo(data, out, preset, seed)
    results = results_console(json)
    results.print(to_rich(found.comparison.table()))
    results.print("\nSearches by tsgen, with the terms it generated (✓ answers the question):\n")
    for search in found.searches:
        results.print(search_view(found.engine, search))
    write_json(json, found.as_json())
    console.print(
        f'Your turn: tsgen search {out / ENGINE} "how do I ..."', highlight=False, soft_wrap=True
    )


def import_authors(
    data: DataArgument,
    codes: Annotated[Path, typer.Option(metavar="FILE", help="Their term sets: codes.mmp.")],
    checkpoint: Annotated[Path, typer.Option(metavar="FILE", help="Their T5, below ckpts/.")],
    out: Annotated[Path, typer.Option(metavar="ENGINE", help="The folder of the engine.")],
    backbone: Annotated[
        str, typer.Option(help="The T5 it was trained from, by hub name or folder.")
    ] = "google-t5/t5-base",
    json: JsonOption = None,
) -> None:
    """Make an engine from the term sets and the T5 that the authors of TSGen release.

    DATA is the folder that they release as well: rows of the term sets are its documents in order.

    Example: `tsgen import-authors data/NQ320k --codes codes.mmp --checkpoint best --out runs/nq`
    """
    from dataclasses import asdict

    from tsgen.corpus.load import load
    from tsgen.retrieve.import_authors import import_authors as make

    with progress():
        found = make(load(data), codes, checkpoint, backbone, out)
    results_console(json).print(
        f"{found.documents:,} documents, {found.terms:,} terms, of which tsgen spells "
        f"{found.spelled_otherwise:,} otherwise; {found.shared:,} documents share a term set. "
        f"To evaluate: tsgen evaluate {out} {data}",
        highlight=False,
        soft_wrap=True,
    )
    write_json(json, asdict(found))


VERBS = (demo, index, fit, queries, pretrain, terms, import_authors)
