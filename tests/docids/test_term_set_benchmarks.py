from pathlib import Path

import pytest

from tsgen.corpus.load import load
from tsgen.docids.assign import select_terms
from tsgen.docids.audit import audit
from tsgen.settings import TermsConfig

pytestmark = pytest.mark.shared


@pytest.mark.parametrize(("name", "documents"), [("cranfield", 1398), ("squad-wiki", 3648)])
def test_every_document_of_a_benchmark_is_unique_and_reachable(
    shared_data: Path, tmp_path: Path, name: str, documents: int
) -> None:
    select_terms(load(shared_data / name), TermsConfig(weights="tfidf", n=12), tmp_path / "sets")
    found = audit(tmp_path / "sets")
    assert found.documents == documents
    assert (found.unreachable, found.duplicate_documents) == (0, 0)
