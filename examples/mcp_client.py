"""What a language model sees of `tsgen mcp ENGINE`: python mcp_client.py ENGINE QUERY"""

import asyncio
import sys

from mcp.client import Client

from tsgen.integrations.mcp import mcp_server
from tsgen.retrieve.engine import Engine


async def ask(engine: str, query: str) -> None:
    """Print the tools and what a search answers; in one process, without a pipe between them."""
    with Engine.load(engine) as opened:
        async with Client(mcp_server(opened)) as client:
            print([tool.name for tool in (await client.list_tools()).tools])
            found = await client.call_tool("search_documents", {"query": query, "k": 3})
            for one in found.structured_content["result"]:
                print(f"[{one['id']}] {one['text']}")


if __name__ == "__main__":
    asyncio.run(ask(*sys.argv[1:]))
