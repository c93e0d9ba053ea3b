"""A tiny BEIR folder that tests bend to their needs."""

from collections.abc import Callable
from pathlib import Path

import pytest

CORPUS = (
    '{"_id": "d1", "title": "Bread", "text": "white bread has sodium", "metadata": {"url": "u1"}}\n'
    '{"_id": "d2", "title": "Egg", "text": "egg white"}\n'
    '{"_id": "d3", "title": "", "text": "rye bread"}\n'
)
QUERIES = (
    '{"_id": "q1", "text": "sodium in bread"}\n'
    '{"_id": "q2", "text": "egg"}\n'
    '{"_id": "q3", "text": "rye or egg"}\n'
)
TRAIN = "query-id\tcorpus-id\tscore\nq2\td2\t1\n"
TEST = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq3\td3\t1\nq3\td2\t1\n"


@pytest.fixture
def beir(tmp_path: Path) -> Callable[..., Path]:
    """Write a BEIR folder; keyword arguments replace its files' contents (None leaves one out)."""

    def write(**contents: str | bytes | None) -> Path:
        files = {"corpus": CORPUS, "queries": QUERIES, "train": TRAIN, "test": TEST} | contents
        folder = tmp_path / "set"
        (folder / "qrels").mkdir(parents=True)
        for name, content in files.items():
            path = f"qrels/{name}.tsv" if name in ("train", "dev", "test") else f"{name}.jsonl"
            if content is not None:
                data = content if isinstance(content, bytes) else content.encode()
                (folder / path).write_bytes(data)
        return folder

    return write
