"""A PyTerrier pipeline with tsgen as its retriever: python pyterrier_pipeline.py ENGINE QUERY…"""

import sys

import pandas as pd

from tsgen.integrations.pyterrier import TsgenRetriever
from tsgen.retrieve.collection import Collection


def main(engine: str, *queries: str) -> None:
    """Print the best three documents of each query."""
    with Collection.open(engine) as collection:
        pipeline = TsgenRetriever(collection, k=10) % 3
        topics = pd.DataFrame({"qid": [f"q{i}" for i in range(len(queries))], "query": queries})
        print(pipeline(topics).to_string())


if __name__ == "__main__":
    main(*sys.argv[1:])
