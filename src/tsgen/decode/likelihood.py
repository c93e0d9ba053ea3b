"""log p of given token sequences, without any search."""

from collections.abc import Sequence

import numpy as np
import torch

from tsgen.constrain.constraint import Int, Int32
from tsgen.decode.select import Float
from tsgen.model.backbone import Backbone


@torch.no_grad()
def log_likelihoods(
    backbone: Backbone,
    queries: Sequence[str],
    owner: Int,
    sequences: Sequence[Int32],
    among: Int32 | None = None,
) -> Float:
    """[S] Σ log p of each sequence's tokens after the query `owner[s]`.

    log p is normalised over all outputs of the model, or over the (ascending) tokens `among`.
    """
    total = np.zeros(len(sequences))
    lengths = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
    flat = np.concatenate([np.zeros(0, dtype=np.int32), *sequences])
    starts = np.cumsum(lengths) - lengths
    cache, node, hidden = backbone.encode(queries)
    rows = np.flatnonzero(lengths)
    start = torch.from_numpy(owner[rows]).to(node.device)
    node, hidden = node[start], hidden[start]
    chosen = None if among is None else torch.from_numpy(among.astype(np.int64)).to(node.device)
    for place in range(int(lengths.max(initial=0))):
        tokens = flat[starts[rows] + place].astype(np.int64)
        columns = tokens if among is None else np.searchsorted(among, tokens)
        log_probs = torch.log_softmax(backbone.logits(hidden, chosen).float(), dim=-1)
        picked = log_probs.gather(1, torch.from_numpy(columns).to(node.device)[:, None])
        total[rows] += picked[:, 0].double().cpu().numpy()
        on = lengths[rows] > place + 1
        if on.any():
            keep = torch.from_numpy(np.flatnonzero(on)).to(node.device)
            node, hidden = backbone.step(
                cache, node[keep], torch.from_numpy(tokens[on]).to(node.device)
            )
        rows = rows[on]
    return total
