"""tsgen as a LlamaIndex retriever: python llamaindex_retriever.py ENGINE QUERY"""

import sys

from tsgen.integrations.llamaindex import TsgenLlamaIndexRetriever
from tsgen.retrieve.engine import Engine


def main(engine: str, query: str) -> None:
    """Print the nodes with their scores and terms."""
    with Engine.load(engine) as opened:
        for found in TsgenLlamaIndexRetriever(opened, k=3).retrieve(query):
            print(f"{found.score:.2f} [{found.node.node_id}] {found.node.metadata['terms']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
