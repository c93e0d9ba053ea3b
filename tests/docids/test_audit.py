import json
from pathlib import Path

import numpy as np
import pytest

from tsgen.artifact import reseal
from tsgen.corpus.load import load
from tsgen.docids.assign import open_term_sets, select_terms
from tsgen.docids.audit import Audit, audit, count_tokens, term_frequencies
from tsgen.errors import ConfigError
from tsgen.settings import TermsConfig

TEXTS = {"ab": "alpha beta", "abc": "beta gamma alpha", "copy": "gamma beta alpha", "no": "?"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = (json.dumps({"_id": name, "text": text}) for name, text in TEXTS.items())
    (tmp_path / "corpus.jsonl").write_text("\n".join(rows) + "\n")
    config = TermsConfig(weights="tfidf", n=3)
    select_terms(load(tmp_path / "corpus.jsonl"), config, tmp_path / "sets")
    return tmp_path / "sets"


def test_everything_is_counted(folder: Path) -> None:
    found = audit(folder)
    assert (found.documents, found.n, found.weights) == (4, 3, "tfidf")
    assert found.terms_per_document == {1: 1, 2: 1, 3: 2}
    assert (found.duplicate_groups, found.duplicate_documents, found.moved) == (1, 2, 0)
    assert found.subset_pairs == 2  # ab ⊂ abc, ab ⊂ copy
    assert found.unreachable == 0
    assert (found.vocabulary, found.postings) == (4, 9)
    assert found.longest_postings == {"alpha": 3, "beta": 3, "gamma": 2, "#no": 1}
    assert found.index_bytes == 4 * (5 + 9 + 5 + 9)
    assert found.bytes_per_document == sum(found.bytes.values()) / 4
    assert term_frequencies(open_term_sets(folder)).tolist() == [1, 3, 3, 2]


def damaged(folder: Path, name: str, values: list[int]) -> Audit:
    """The audit of a folder whose array is wrong although its manifest agrees with it."""
    np.save(folder / name, np.array(values, np.int32))
    reseal(folder)
    return audit(folder)


def test_a_shared_set_of_documents_that_are_no_duplicates_is_reported(folder: Path) -> None:
    found = damaged(folder, "doc_first.npy", [0, 1, 2, 3])
    assert (found.unreachable, found.unreachable_examples) == (1, ["copy"])


def test_a_document_missing_from_postings_is_reported(folder: Path) -> None:
    postings = open_term_sets(folder).post_docs.tolist()
    assert postings[1:4] == [0, 1, 2]  # of alpha
    postings[1:4] = [1, 2, 3]
    found = damaged(folder, "post_docs.npy", postings)
    assert found.unreachable_examples == ["ab"]


def test_tokens_are_counted_without_padding_and_special_tokens() -> None:
    counts = count_tokens(["bread", "sourdoughs"])
    assert (counts.mean, counts.most, counts.share_of_one) == (2.5, 4, 0.5)


def test_a_tokenizer_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ConfigError, match="cannot open the tokenizer"):
        count_tokens(["bread"], str(tmp_path))
