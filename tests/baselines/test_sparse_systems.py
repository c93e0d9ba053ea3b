"""UniCOIL and SPLADEv2: they learn thirty documents, and are the same after saving and loading."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer, BertForMaskedLM

import tiny
from tastes import fitted, recall, write_words_bert
from toy import write_beir
from tsgen.baselines._bi_encoder import in_chunks
from tsgen.baselines.spladev2 import SPLADE, SPLADEv2Config, flops
from tsgen.baselines.unicoil import UniCOIL, UniCOILConfig, UniCOILRetriever
from tsgen.corpus.load import load
from tsgen.errors import ConfigError
from tsgen.retrieve.systems import SYSTEMS

SETTINGS: dict[str, Any] = {
    "batch_size": 30,
    "negatives": 2,
    "learning_rate": 3e-3,
    "head_learning_rate": 1e-2,
    "validate_every": 20,
    "validation_queries": 30,
    "document_tokens": 32,
    "patience": 9,
}


def write_masked_lm(folder: Path) -> Path:
    """The BERT with a head."""
    write_words_bert(folder)
    torch.manual_seed(1)
    config = tiny.bert_config(len(AutoTokenizer.from_pretrained(folder)))
    BertForMaskedLM(config).save_pretrained(folder)
    return folder


def test_unicoil_learns(tmp_path: Path) -> None:
    bert = str(write_words_bert(tmp_path / "bert"))
    hits, _ = fitted("unicoil", SETTINGS | {"encoder": bert, "epochs": 40}, tmp_path)
    assert recall(hits) >= 0.95


def test_spladev2_learns_and_stays_sparse(tmp_path: Path) -> None:
    bert = str(write_words_bert(tmp_path / "bert"))
    changes = {"encoder": bert, "epochs": 60, "document_flops": 0.05, "query_flops": 0.05}
    hits, retriever = fitted("spladev2", SETTINGS | changes | {"flops_steps": 20}, tmp_path)
    assert recall(hits) >= 0.95
    weights = retriever._postings.weights
    assert weights.nnz < 0.7 * weights.shape[0] * weights.shape[1]


def test_a_token_s_largest_weight_counts(tmp_path: Path) -> None:
    bert = str(write_words_bert(tmp_path / "bert"))
    model = UniCOIL.pretrained(UniCOILConfig(encoder=bert)).eval()
    torch.nn.init.normal_(model.head.weight)
    (tokens,) = model.tokens(["white tea and white bread"], 32)
    ids, mask = model.padded([tokens])
    states = model.encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state
    each = torch.relu(model.head(states)).flatten().tolist()
    (found,) = model.weights([tokens]).tolist()
    for token in range(len(model.tokenizer)):
        own = [w for t, w in zip(tokens, each, strict=True) if t == token]
        special = token in model.tokenizer.all_special_ids
        assert found[token] == pytest.approx(max(own, default=0.0) if not special else 0.0)


def test_all_windows_of_a_document_are_read(tmp_path: Path) -> None:
    bert = str(write_words_bert(tmp_path / "bert"))
    documents = {"long": "white bread " * 6 + "and tea", "short": "tea milk " * 3}
    data = load(write_beir(tmp_path / "set", documents, {"q": "tea"}, test=[("q", "long")]))
    found = {}
    for windows in (None, 1):
        config = UniCOILConfig(encoder=bert, document_tokens=8, windows=windows)
        retriever = UniCOILRetriever.fit(data, UniCOIL.pretrained(config).eval())
        found[windows] = {hit.document_id for hit in retriever.search(["tea"], 5)[0]}
    assert found == {None: {"long", "short"}, 1: {"short"}}


def test_splade_with_a_head_has_its_logits(tmp_path: Path) -> None:
    folder = write_masked_lm(tmp_path / "lm")
    whole = BertForMaskedLM.from_pretrained(folder).eval()
    torch.nn.init.normal_(whole.cls.predictions.bias)
    whole.save_pretrained(folder)
    model = SPLADE.pretrained(SPLADEv2Config(encoder=str(folder))).eval()
    tokens = model.tokens(["white bread", "sour tea and milk"], 32)
    for row, each in zip(in_chunks(model.documents, tokens), tokens, strict=True):
        logits = whole(input_ids=torch.tensor([each])).logits[0]  # [S, V]
        torch.testing.assert_close(row, torch.log1p(logits.relu()).max(0).values)
    (tmp_path / "saved").mkdir()
    model.save(tmp_path / "saved")
    again = SPLADE.load(tmp_path / "saved")
    torch.testing.assert_close(again.documents(tokens), model.documents(tokens))


def test_a_head_for_fewer_layers_is_refused(tmp_path: Path) -> None:
    folder = str(write_masked_lm(tmp_path / "lm"))
    with pytest.raises(ConfigError, match="head fits its last layer only"):
        SPLADE.pretrained(SPLADEv2Config(encoder=folder, layers=1))


def test_a_fresh_head_starts_from_exact_matching() -> None:
    model = SPLADE.pretrained(SPLADEv2Config(layers=1)).eval()
    text = "volcanoes erupt when magma rises to the surface of the earth"
    model.begin([text, "the moon circles the earth once a month"], [])
    (tokens,) = model.tokens([text], 32)
    with torch.no_grad():
        (weights,) = model.documents([tokens])
    own = [t for t in tokens if t not in model.tokenizer.all_special_ids]
    assert (weights[own] > 0).float().mean() > 0.9
    assert (weights > 0).float().mean() < 0.01
    added = weights.clone()
    added[tokens] = 0.0
    assert weights[own].mean() > 3 * added[added > 0].mean() > 0


def test_expansion_finds_what_has_no_word_in_common(tmp_path: Path) -> None:
    """Documents without a word of the query: exact matching could not find them."""
    bert = str(write_words_bert(tmp_path / "bert"))
    documents = {"a": "white bread", "b": "raw egg", "c": "smoked rice"}
    queries = {"1": "milk", "2": "tea", "3": "soup"}
    pairs = [("1", "a"), ("2", "b"), ("3", "c")]
    splits = dict.fromkeys(("train", "dev"), pairs)
    data = load(write_beir(tmp_path / "set", documents, queries, **splits))
    settings = SETTINGS | {"encoder": bert, "epochs": 60, "batch_size": 3}
    for name in ("spladev2", "unicoil"):
        each, folder = SYSTEMS.get(name), tmp_path / "cache" / name
        folder.mkdir(parents=True)
        each.fit(data, each.settings({name: settings}), 0, folder)
        found = [[hit.document_id for hit in row] for row in each.load(folder).search(["tea"], 1)]
        assert found == ([["b"]] if name == "spladev2" else [[]])


def test_flops_by_hand_and_growing(tmp_path: Path) -> None:
    weights = torch.tensor([[1.0, 0.0, 2.0], [3.0, 0.0, 0.0]])
    assert flops(weights).item() == pytest.approx(2.0**2 + 1.0**2)
    bert = str(write_words_bert(tmp_path / "bert"))
    config = SPLADEv2Config(encoder=bert, query_flops=0.1, document_flops=0.01, flops_steps=4)
    model = SPLADE.pretrained(config)
    asked = torch.tensor([[1.0, 1.0, 0.0]])
    assert model.penalty(asked, weights, 1).item() == pytest.approx(0.25 * (0.2 + 0.05))
    assert model.penalty(asked, weights, 9).item() == pytest.approx(0.2 + 0.05)


def test_splade_is_that_of_sentence_transformers(tmp_path: Path) -> None:
    library = pytest.importorskip("sentence_transformers.sparse_encoder")
    modules = pytest.importorskip("sentence_transformers.sparse_encoder.modules")
    folder = str(write_masked_lm(tmp_path / "lm"))
    read = modules.Transformer(folder, transformer_task="fill-mask")
    parts = [read, modules.SpladePooling("max")]
    theirs = library.SparseEncoder(modules=parts, device="cpu")
    model = SPLADE.pretrained(SPLADEv2Config(encoder=folder)).eval()
    texts = ["white bread", "sour tea and milk"]
    ours = in_chunks(model.documents, model.tokens(texts, 32))
    torch.testing.assert_close(ours, theirs.encode(texts).to_dense())
