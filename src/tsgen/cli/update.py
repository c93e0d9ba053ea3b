"""`tsgen update`: new versions of documents that an engine has."""

from tsgen.cli.add import EngineArgument
from tsgen.cli.common import DataArgument, JsonOption, SkipBadOption, console, progress


def update(
    engine: EngineArgument,
    data: DataArgument,
    skip_bad: SkipBadOption = False,
    json: JsonOption = None,
) -> None:
    """Replace documents of an engine by new versions with the same ids, without training.

    If the engine does not have one of the ids, nothing is changed. `tsgen add` takes new ones, too.

    Example: `tsgen update runs/engine corrected.jsonl`
    """
    from tsgen.cli.changes import report_change
    from tsgen.corpus.load import load
    from tsgen.retrieve.changing import put_all, require_known
    from tsgen.retrieve.collection import Collection

    source = load(data, skip_bad=skip_bad)
    with Collection.open(engine) as collection, progress():
        require_known(collection, (document.id for document in source.documents()))
        changed = put_all(collection, source.documents())
        report_change(json, collection, added=changed.added, updated=changed.updated)
    if skip_bad:
        console.print(source.problems.summary())
