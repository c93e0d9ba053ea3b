"""`tsgen add`: documents into an engine that is already there."""

from tsgen.cli.common import DataArgument, EngineArgument, JsonOption, SkipBadOption


def add(
    engine: EngineArgument,
    data: DataArgument,
    skip_bad: SkipBadOption = False,
    json: JsonOption = None,
) -> None:
    """Add documents to an engine, or replace those with the same id, without training.

    Their terms come from the weights the engine was made with. The next search finds them. Every
    thousand documents are one change, which is on disk when the next thousand are begun.

    Example: `tsgen add runs/engine new.jsonl`
    """
    from tsgen.cli.changes import put_documents

    put_documents(engine, data, skip_bad, json)
