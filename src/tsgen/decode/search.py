"""The front door: queries in, documents out."""

from collections.abc import Sequence

import numpy as np
import torch

from tsgen.constrain.constraint import Constraint, Ragged
from tsgen.decode.beam import Beam
from tsgen.decode.config import DecodeConfig
from tsgen.decode.found import Found
from tsgen.model.backbone import Backbone


@torch.no_grad()
def search(
    backbone: Backbone,
    constraint: Constraint,
    queries: Sequence[str],
    k: int,
    config: DecodeConfig | None = None,
    pool: Ragged | None = None,
) -> list[list[Found]]:
    """At most `k` documents for each query, best first; ties by document order.

    `pool` limits each query to some documents (ascending positions).
    """
    config = config or DecodeConfig()
    answers: list[list[Found]] = []
    for start in range(0, len(queries), config.batch):
        together = queries[start : start + config.batch]
        rows = start + np.arange(len(together))
        beam = Beam(backbone, constraint, together, k, config)
        answers += beam.run(None if pool is None else pool.take(rows))
    return answers
