"""Commands that keep running: `serve` for HTTP, `mcp` for assistants."""

from typing import Annotated

import typer

from tsgen.cli.common import EngineArgument


def serve(
    engine: EngineArgument,
    host: Annotated[str, typer.Option(help="0.0.0.0: for all networks.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8080,
    token: Annotated[
        str | None,
        typer.Option(envvar="TSGEN_TOKEN", help="Who sends it may change documents."),
    ] = None,
    read_token: Annotated[
        str | None,
        typer.Option(envvar="TSGEN_READ_TOKEN", help="Only who sends it, or --token, may read."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Another name of this server, as behind a proxy; * for any."
        ),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help=(
                "body, queries, query, where, k, beam, hypotheses, document, seconds, sending, "
                "waiting, batch or connections."
            ),
        ),
    ] = None,
) -> None:
    """Serve searches, documents and a page that shows how an answer was generated.

    Ends at Ctrl-C or SIGTERM, when what was asked is answered.

    Example: `TSGEN_TOKEN=secret tsgen serve runs/engine --port 8080 --limit k=50`
    """
    from tsgen.config import read_settings
    from tsgen.errors import MissingExtraError

    try:
        from tsgen.serve.access import Access
        from tsgen.serve.limits import Limits
        from tsgen.serve.server import serve
    except ImportError:
        raise MissingExtraError("tsgen serve", "serve") from None
    settings = read_settings(None, [f"limit.{one}" for one in limit or []])
    limits = Limits.from_mapping(settings.get("limit", {}), source="--limit")
    access = Access.of(token, read_token, allow_host or (), host)
    serve(engine, host, port, access, limits)


def mcp(engine: EngineArgument) -> None:
    """Serve an engine over the Model Context Protocol, on standard input and output.

    The tools: search_documents, read_document, why_document.

    Example: `tsgen mcp runs/engine`, as the command of a server in a client's settings.
    """
    from tsgen.integrations.mcp import mcp_server
    from tsgen.retrieve.engine import Engine

    with Engine.load(engine) as opened:
        mcp_server(opened).run("stdio")


VERBS = (serve, mcp)
