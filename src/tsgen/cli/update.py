"""`tsgen update`: new versions of documents that an engine has."""

from tsgen.cli.common import DataArgument, EngineArgument, JsonOption, SkipBadOption


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
    from tsgen.cli.changes import put_documents

    put_documents(engine, data, skip_bad, json, known_only=True)
