"""A BERT small enough for tests, with its tokenizer, built from nothing."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from tiny import SPECIAL, write_bert

LETTERS = [chr(c) for c in range(ord("a"), ord("z") + 1)] + list("0123456789")


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a 2-layer BERT whose tokenizer knows letters and a few words."""
    folder = tmp_path_factory.mktemp("tiny-bert")
    tokens = [*SPECIAL, ".", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    tokens += ["white", "bread", "egg", "sodium", "level"]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return write_bert(folder, tokenizer, width=16, layers=2)
