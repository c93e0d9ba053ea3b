"""What a change did to a collection, for a reader."""

from pathlib import Path

from tsgen.cli.common import console, progress, results_console, write_json
from tsgen.corpus.load import load
from tsgen.retrieve.changing import put_all, require_known
from tsgen.retrieve.collection import Collection


def put_documents(
    engine: Path, data: str, skip_bad: bool, json: str | None, known_only: bool = False
) -> None:
    """Put the documents of a data set into an engine, with `known_only` none but new versions of
    those it has, and say what changed."""
    source = load(data, skip_bad=skip_bad)
    with Collection.open(engine) as collection, progress():
        if known_only:
            require_known(collection, (document.id for document in source.documents()))
        changed = put_all(collection, source.documents())
        report_change(json, collection, added=changed.added, updated=changed.updated)
    if skip_bad:
        console.print(source.problems.summary())


def report_change(json: str | None, collection: Collection, **counts: int) -> None:
    """Print how many documents were added, updated or removed, and how many there are."""
    size, terms = len(collection), len(collection.generator.sets.vocabulary)
    done = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    results_console(json).print(
        f"{done or 'nothing changed'}: {size:,} documents, {terms:,} terms in {collection.folder}"
    )
    figures = {"engine": str(collection.folder), **counts, "documents": size, "vocabulary": terms}
    write_json(json, figures)
