"""A decoder-only backbone gives the scores of the plain model over prompt and continuation."""

import random

import pytest
import torch
from backbones import FAMILIES
from torch.testing import assert_close

from tsgen.model.pretrained import CUE, DecoderOnly

QUERIES = ["egg", "a b c d e f g", "", "sodium in white bread"]  # of different lengths


def plain(backbone, query, prefix):
    """The model's own scores after the whole text."""
    words = backbone.tokenizer
    prompt = words(query)["input_ids"] + words(CUE, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        return backbone.model(input_ids=torch.tensor([[*prompt, *prefix]])).logits[0, -1]


@pytest.mark.parametrize("family", ["llama", "gpt2"])
@pytest.mark.parametrize("seed", range(3))
def test_steps_equal_the_plain_forward(family, seed):
    torch.manual_seed(seed)
    backbone, rng = FAMILIES[family](), random.Random(seed)
    cache, nodes, hidden = backbone.encode(QUERIES)
    prefixes = dict(zip(nodes.tolist(), ((query, ()) for query in QUERIES), strict=True))
    for step in range(6):
        for node, scores in zip(nodes.tolist(), backbone.logits(hidden), strict=True):
            assert_close(scores, plain(backbone, *prefixes[node]), atol=1e-4, rtol=0)
        left = rng.sample(sorted(prefixes), k=min(3 + step, len(prefixes)))
        kept = backbone.keep(cache, torch.tensor(left)).tolist()
        prefixes = {new: prefixes[old] for old, new in zip(left, kept, strict=True)}
        parents = rng.choices(kept, k=6)  # of any depth, some several times
        tokens = rng.choices(range(backbone.output_size), k=6)
        nodes, hidden = backbone.step(cache, torch.tensor(parents), torch.tensor(tokens))
        for node, parent, token in zip(nodes.tolist(), parents, tokens, strict=True):
            query, prefix = prefixes[parent]
            prefixes[node] = (query, (*prefix, token))


def test_all_beams_of_a_query_share_its_prompt():
    cache, nodes, _ = (backbone := FAMILIES["llama"]()).encode(QUERIES)
    prompts = len(cache.tree)
    assert prompts == sum(len(query.split()) + 1 for query in QUERIES)
    backbone.step(cache, nodes.repeat(5), torch.arange(20))
    assert len(cache.tree) == prompts + 20
    assert backbone.keep(cache, nodes[:1]).tolist() == [1]
    assert len(cache.tree) == 2  # "egg" and the cue


def test_a_long_query_is_cut_but_its_cue_stays():
    llama = FAMILIES["llama"]()
    short = DecoderOnly(llama.model, llama.tokenizer, query_tokens=3)
    assert_close(short.encode(["a b c d e"])[2], llama.encode(["a b c"])[2])
