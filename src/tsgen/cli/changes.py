"""What a change did to a collection, for a reader."""

from tsgen.cli.common import results_console, write_json
from tsgen.retrieve.collection import Collection


def report_change(json: str | None, collection: Collection, **counts: int) -> None:
    """Print how many documents were added, updated or removed, and how many there are."""
    size, terms = len(collection), len(collection.generator.sets.vocabulary)
    done = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    results_console(json).print(
        f"{done or 'nothing changed'}: {size:,} documents, {terms:,} terms in {collection.folder}"
    )
    figures = {"engine": str(collection.folder), **counts, "documents": size, "vocabulary": terms}
    write_json(json, figures)
