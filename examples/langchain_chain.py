"""A LangChain chain with tsgen as its retriever: python langchain_chain.py ENGINE QUERY"""

import sys

from langchain_core.runnables import RunnableLambda

from tsgen.integrations.langchain import TsgenLangChainRetriever
from tsgen.retrieve.engine import Engine


def main(engine: str, query: str) -> None:
    """Print what a prompt would be given as its context."""
    with Engine.load(engine) as opened:
        retriever = TsgenLangChainRetriever(engine=opened, k=3)
        context = retriever | RunnableLambda(
            lambda found: "\n".join(f"[{one.id}] {one.page_content}" for one in found)
        )
        print(context.invoke(query))


if __name__ == "__main__":
    main(*sys.argv[1:])
