"""A Haystack pipeline with tsgen as its retriever: python haystack_pipeline.py ENGINE QUERY"""

import sys

from haystack import Pipeline
from haystack.components.builders import PromptBuilder

from tsgen.integrations.haystack import TsgenHaystackRetriever

TEMPLATE = """{% for one in documents %}[{{ one.id }}] {{ one.content }}
{% endfor %}Question: {{ question }}"""


def main(engine: str, query: str) -> None:
    """Print the prompt that a language model would get; the pipeline is saved and loaded first."""
    pipeline = Pipeline()
    pipeline.add_component("retriever", TsgenHaystackRetriever(engine, top_k=3))
    pipeline.add_component("prompt", PromptBuilder(TEMPLATE, required_variables="*"))
    pipeline.connect("retriever.documents", "prompt.documents")
    loaded = Pipeline.loads(pipeline.dumps(), allowed_modules=["tsgen.integrations.haystack"])
    asked = {"retriever": {"query": query}, "prompt": {"question": query}}
    print(loaded.run(asked)["prompt"]["prompt"])


if __name__ == "__main__":
    main(*sys.argv[1:])
