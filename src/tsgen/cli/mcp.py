"""`tsgen mcp`: an engine as tools of a language model."""

from tsgen.cli.common import EngineArgument


def mcp(
    engine: EngineArgument,
) -> None:
    """Serve an engine over the Model Context Protocol, on standard input and output.

    The tools: search_documents, read_document, why_document.

    Example: `tsgen mcp runs/engine`, as the command of a server in a client's settings.
    """
    from tsgen.integrations.mcp import mcp_server
    from tsgen.retrieve.collection import Collection

    with Collection.open(engine) as collection:
        mcp_server(collection).run("stdio")
