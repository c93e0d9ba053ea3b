"""A PyTerrier pipeline with tsgen as its retriever: python pyterrier_pipeline.py ENGINE QUERY…"""

import sys

import pandas as pd

from tsgen.integrations.pyterrier import TsgenPyTerrierRetriever
from tsgen.retrieve.engine import Engine


def main(engine: str, *queries: str) -> None:
    """Print the best three documents of each query."""
    with Engine.load(engine) as opened:
        pipeline = TsgenPyTerrierRetriever(opened, k=10) % 3
        topics = pd.DataFrame({"qid": [f"q{i}" for i in range(len(queries))], "query": queries})
        print(pipeline(topics).to_string())


if __name__ == "__main__":
    main(*sys.argv[1:])
