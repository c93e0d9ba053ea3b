"""`tsgen compact`: an engine's changes into its arrays."""

from tsgen.cli.common import EngineArgument, JsonOption, progress


def compact(engine: EngineArgument, json: JsonOption = None) -> None:
    """Write what was added and removed into the engine's own arrays, and erase what was removed.

    Searches and changes may go on meanwhile. Worth it when a tenth of the documents has changed.

    Example: `tsgen compact runs/engine`
    """
    from tsgen.cli.changes import report_change
    from tsgen.retrieve.collection import Collection

    with Collection.open(engine) as collection, progress():
        collection.compact()
        report_change(json, collection)
