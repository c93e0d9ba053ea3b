"""Three extensions of tsgen: a system, a way to weigh terms, and a form of data sets."""

import json
from pathlib import Path

from tsgen.artifact import hash_file
from tsgen.config import StageConfig
from tsgen.corpus.load import CorpusFormat
from tsgen.corpus.sources import Layout, Source
from tsgen.records import Document, Hit
from tsgen.retrieve.systems import System
from tsgen.terms.weights import WeightsKind


class Overlap:
    """Ranks documents by how many words they have in common with the query."""

    def __init__(self, words):
        self.words = words  # a list of words for each document's id

    def search(self, queries, k):
        """The best `k` hits of each query."""
        return [self.best(set(query.lower().split()), k) for query in queries]

    def best(self, query, k):
        """The documents with the most words of one query."""
        hits = [Hit(id, len(query & set(words))) for id, words in self.words.items()]
        return sorted(hits, key=lambda hit: -hit.score)[:k]

    @classmethod
    def load(cls, folder):
        """Read what `fit` wrote."""
        return cls(json.loads((folder / "words.json").read_text()))


def fit(data, config, seed, folder):
    """Write down the words of every document."""
    words = {document.id: document.contents.lower().split() for document in data.documents()}
    (folder / "words.json").write_text(json.dumps(words))


OVERLAP = System("overlap", StageConfig, fit, Overlap.load)


class Length:
    """Weighs a word by the number of its letters."""

    def __init__(self, splitter):
        self.splitter = splitter

    def weigh(self, documents):
        """The words of each document with their weights."""
        for document in documents:
            yield {word: len(word) for word in self.splitter.spellings(document.contents)}

    def save(self, folder):
        """Write nothing: a word has its weight whatever the documents."""


def build(data, splitter, config, workspace):
    """The weights for a corpus; there is nothing to count or to train."""
    return Length(splitter)


def load(folder, splitter, config):
    """The weights of an engine that was made with them."""
    return Length(splitter)


LENGTH = WeightsKind("length", StageConfig, build, load)


def lines(name, columns):
    """`lines:FILE`: each line of a text file is a document, its number the id."""
    path = Path(name)
    documents = [(n, Document(str(n), line)) for n, line in enumerate(path.open(), 1)]
    return Layout(Source(name, lambda: iter(documents), lambda one: one, lambda: hash_file(path)))


LINES = CorpusFormat("lines", open_name=lines)
