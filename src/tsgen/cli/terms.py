"""`tsgen terms`: a term set for every document."""

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
    results_console,
    write_json,
)


def terms(
    data: DataArgument,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the term sets go.")],
    weights: Annotated[
        str | None, typer.Option(help="learned, tfidf, title or random; default learned.")
    ] = None,
    n: Annotated[
        str | None,
        typer.Option(
            "--n", help="Terms a document. asked: as training queries need; auto: the fewest."
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

    Example: `tsgen terms data/wiki-10k --out runs/wiki-terms --weights tfidf --n 12`
    """
    from tsgen.config import read_settings
    from tsgen.corpus.dataset import cache_folder_of
    from tsgen.corpus.load import load
    from tsgen.docids.stage import select_terms, summary, terms_config

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
