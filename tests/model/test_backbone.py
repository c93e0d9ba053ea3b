"""Stepping through the tree gives the scores of the teacher-forced forward, for every family."""

import random
from copy import deepcopy

import pytest
import torch
from backbones import FAMILIES, TERMS, TINY
from torch.testing import assert_close

from tsgen.model.mini import Mini

QUERIES = ["a b c", "sodium in white bread", "egg"]


@pytest.fixture(scope="module", params=FAMILIES)
def backbone(request):
    torch.manual_seed(7)
    return FAMILIES[request.param]()


def expected(backbone, query, prefix):
    """The scores after `prefix`, by one pass over the whole target."""
    with torch.no_grad():
        return backbone([query], torch.tensor([[*prefix, 0]]))[0, -1].log_softmax(-1)


def check(backbone, queries, nodes, hidden, prefixes):
    """All rows at once against the forward pass of each."""
    found = backbone.logits(hidden).log_softmax(-1)
    for row, node in enumerate(nodes.tolist()):
        query, prefix = prefixes[node]
        assert_close(found[row], expected(backbone, queries[query], prefix), atol=1e-4, rtol=0)


def grow(backbone, rng, steps, width, queries=QUERIES, keep=False):
    """Extend random nodes of any depth, several children a node, and check every new row."""
    cache, nodes, hidden = backbone.encode(queries)
    prefixes = {node: (query, ()) for query, node in enumerate(nodes.tolist())}
    check(backbone, queries, nodes, hidden, prefixes)
    for _ in range(steps):
        parents = torch.tensor(rng.choices(list(prefixes), k=width))
        tokens = torch.tensor(rng.choices(range(backbone.output_size), k=width))
        nodes, hidden = backbone.step(cache, parents, tokens)
        for parent, token, node in zip(
            parents.tolist(), tokens.tolist(), nodes.tolist(), strict=True
        ):
            query, prefix = prefixes[parent]
            prefixes[node] = (query, (*prefix, token))
        check(backbone, queries, nodes, hidden, prefixes)
        if keep:
            left = rng.sample(sorted(prefixes), k=min(6, len(prefixes)))
            renumbered = backbone.keep(cache, torch.tensor(left))
            prefixes = {
                new: prefixes[old] for old, new in zip(left, renumbered.tolist(), strict=True)
            }
    return cache, prefixes


def test_ragged_branching_steps(backbone):
    grow(backbone, random.Random(0), steps=8, width=7)


def test_keep_changes_nothing_for_the_nodes_kept(backbone):
    grow(backbone, random.Random(1), steps=12, width=5, keep=True)


def test_several_tokens_at_once(backbone):
    cache, roots, _ = backbone.encode(QUERIES)
    node, _ = backbone.step(cache, roots[1:2], torch.tensor([5]))
    parents = torch.cat((roots[:2], node, node))
    paths = [[1], [2, 3, 4], [0, 6], [6]]
    tokens = torch.tensor([token for path in paths for token in path])
    lengths = torch.tensor([len(path) for path in paths])
    nodes, hidden = backbone.step(cache, parents, tokens, lengths)
    before = [(0, ()), (1, ()), (1, (5,)), (1, (5,))]
    ends = [(query, (*start, *path)) for (query, start), path in zip(before, paths, strict=True)]
    check(backbone, QUERIES, nodes, hidden, dict(zip(nodes.tolist(), ends, strict=True)))
    after, hidden = backbone.step(cache, nodes, torch.tensor([7, 7, 7, 7]))
    on = [(query, (*path, 7)) for query, path in ends]
    check(backbone, QUERIES, after, hidden, dict(zip(after.tolist(), on, strict=True)))


def test_one_query(backbone):
    _, prefixes = grow(backbone, random.Random(2), steps=4, width=3, queries=["white bread"])
    assert max(len(prefix) for _, prefix in prefixes.values()) >= 2  # it was ragged indeed


def test_deeper_than_the_first_table_of_paths(backbone):
    cache, nodes, hidden = backbone.encode(QUERIES)
    tokens = [(5 * i + 1) % backbone.output_size for i in range(20)]
    for token in tokens:
        nodes, hidden = backbone.step(cache, nodes, torch.full_like(nodes, token))
    prefixes = {node: (query, tokens) for query, node in enumerate(nodes.tolist())}
    check(backbone, QUERIES, nodes, hidden, prefixes)


def test_logits_over_some_tokens(backbone):
    _, _, hidden = backbone.encode(QUERIES)
    some = torch.tensor([5, 0, 3])
    for _ in range(2):  # the second call may use what the first gathered
        assert_close(backbone.logits(hidden, some), backbone.logits(hidden)[:, some])
    other = torch.tensor([1, 2, 4])
    assert_close(backbone.logits(hidden, other), backbone.logits(hidden)[:, other])


def test_the_sum_over_all_symbols_follows_the_weights(backbone):
    backbone = deepcopy(backbone)
    for _ in range(2):
        _, _, hidden = backbone.encode(QUERIES)
        sums = torch.logsumexp(backbone.logits(hidden), dim=-1)
        assert_close(backbone.log_normaliser(hidden), sums, atol=1e-4, rtol=0)
        backbone.train()
        with torch.no_grad():
            for weights in backbone.parameters():
                weights.mul_(1.5)
        backbone.eval()


def test_forward_over_some_tokens_and_padding(backbone):
    some, targets = torch.tensor([4, 1]), torch.tensor([[1, 2, 3], [4, 0, 0], [2, 2, 1]])
    with torch.no_grad():
        whole = backbone(QUERIES, targets)
        assert_close(backbone(QUERIES, targets, some), whole[..., some], atol=1e-5, rtol=0)
        targets[1, 1:] = 5
        assert_close(backbone(QUERIES, targets)[1, :2], whole[1, :2], atol=1e-5, rtol=0)


def test_training_reaches_every_weight(backbone):
    loss = backbone(QUERIES, torch.tensor([[1, 2], [3, 4], [5, 6]])).log_softmax(-1)[..., 3].sum()
    loss.backward()
    weights = backbone.named_parameters()
    assert not [name for name, w in weights if w.requires_grad and w.grad is None]
    backbone.zero_grad()


def test_trains_in_mixed_precision(backbone):
    """As on a GPU: products in bfloat16, weights in float32."""
    targets = torch.tensor([[1, 2, 3], [3, 4, 0], [5, 6, 7]])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = backbone(QUERIES, targets)
    assert_close(scores.float(), backbone(QUERIES, targets), atol=0.3, rtol=0.1)
    scores.float().log_softmax(-1)[..., 3].sum().backward()
    backbone.zero_grad()


def test_output_sizes(backbone):
    size = len(TERMS) if backbone.spelling == "word" else TINY.vocabulary
    if isinstance(backbone, Mini) and backbone.config.free_symbols:
        size = backbone.config.free_symbols
    assert backbone.output_size == backbone.logits(backbone.encode(["egg"])[2]).shape[1] == size
