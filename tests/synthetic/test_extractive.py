"""Queries cut out of documents."""

import pytest

from toy import write_beir
from tsgen.corpus.load import load
from tsgen.records import Document
from tsgen.settings import ExtractiveConfig
from tsgen.synthetic.writers import WRITERS, Writer

TEXT = (
    "Bread is baked from flour. It is eaten everywhere.\n\n# Sour dough\nWild yeast, "
    "lactobacilli and patience raise it."
)


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Writer:
    folder = tmp_path_factory.mktemp("set")
    documents = {"bread": TEXT, "tea": "Tea is eaten by nobody.", "soup": "It is eaten hot."}
    data = load(write_beir(folder / "foods", documents, {"q": "x"}, test=[("q", "tea")]))
    config = ExtractiveConfig(words=5, keywords=3)
    return WRITERS.get("extractive").build(data, config, 0, folder)


def test_title_heading_lead_then_sentences_and_bags(writer: Writer) -> None:
    (queries,) = writer.write([Document("bread", TEXT, "White bread")], 8, seed=0)
    assert queries[:3] == ["White bread", "Sour dough", "Bread is baked from flour"]
    assert len(queries) == len(set(queries)) == 8
    rest = queries[3:]
    assert rest[1] == "Wild yeast, lactobacilli and patience"  # rare words before common ones
    assert "It is eaten everywhere" in rest
    bags = [query for query in rest if "eaten" not in query and query != rest[1]]
    assert all(2 <= len(bag.split()) <= 3 for bag in bags)


def test_deterministic_by_seed_whatever_the_company(writer: Writer) -> None:
    bread, tea = Document("bread", TEXT), Document("tea", "Tea, hot water, leaves and a cup.")
    alone = writer.write([tea], 6, seed=1)[0]
    assert writer.write([bread, tea], 6, seed=1)[1] == alone
    assert writer.write([tea], 6, seed=2)[0] != alone


def test_an_empty_document_has_no_queries(writer: Writer) -> None:
    assert writer.write([Document("none", " "), Document("stop", "it is")], 3, 0) == [[], []]
