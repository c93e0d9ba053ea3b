"""log p of the next tokens of a search, and of whole token sequences that are given."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from tsgen.constrain.constraint import Allowed, Int, Int32
from tsgen.decode.topk import Best, Float, best_entries, valid_normaliser
from tsgen.errors import ConfigError
from tsgen.model.backbone import Backbone
from tsgen.settings import DecodeConfig

# log p of what may come next, with logits computed only where the definition needs them.
#
# - `full`: log p = logit − log Σ exp over all outputs of the model, as in the paper.
# - `docid`: the sum runs over the tokens that occur in identifiers; other logits are not computed.
# - `valid`: the sum runs over the tokens that are valid at that point; other logits are not
#   computed.

BLOCK = 2**24  # logits held at once: 64 MB


@dataclass(frozen=True, slots=True)
class Block:
    """The logits of some consecutive queries, few enough to fit into memory together."""

    allowed: Allowed
    rows: slice  # the cursors of these queries
    queries: slice
    first: Int  # [queries + 1] where each query's cursors begin within the block
    logits: NDArray[np.float32]  # [C, columns]
    column: Int32  # [E] the column of each entry's token
    normaliser: Float  # [C] what is still to be subtracted from the logits

    def best(self, score: Float, floor: Float, rooms: tuple[int, int]) -> tuple[Best, Best]:
        """The best entries that close a unit, and the best that do not, for each query.

        Args:
            score: the scores of all cursors of the search.
            floor: for all queries of the search, the score below which entries are left out.
            rooms: how many closing and how many other entries to return for a query.

        Cursors are counted from the first one of the block.
        """
        closes = self.allowed.closes  # where no entry is of a kind, none of it is looked for
        closed_room, open_room = rooms[0] * bool(closes.any()), rooms[1] * (not closes.all())
        return best_entries(
            self.logits,
            score[self.rows],
            self.normaliser,
            floor[self.queries],
            self.first,
            self.allowed.starts[self.rows],
            self.allowed.ends[self.rows],
            self.column,
            closes,
            closed_room,
            open_room,
        )


class Scorer:
    """log p over the outputs of a backbone, as `DecodeConfig.normalise` defines it."""

    def __init__(self, backbone: Backbone, alphabet: Int32, config: DecodeConfig) -> None:
        self._backbone, self._config = backbone, config
        self._outputs = backbone.output_size
        if len(alphabet) and alphabet[-1] >= self._outputs:
            raise ConfigError(
                f"identifiers contain token {alphabet[-1]} but the model has only {self._outputs} "
                "outputs: load the model together with the identifiers it was trained for"
            )
        self._tokens: torch.Tensor | None = None
        self._column: Int32 | None = None  # [V] the column of each token
        if config.normalise == "docid":
            self._column = self._columns(alphabet)
            self._tokens = torch.from_numpy(alphabet.astype(np.int64))

    def blocks(
        self, hidden: torch.Tensor, allowed: Allowed, first: Int, same: Int | None = None
    ) -> Iterator[Block]:
        """Logits of what may follow each cursor.

        Args:
            hidden: [C, d] the model's state at each cursor.
            allowed: what may follow.
            first: query q has the cursors first[q]:first[q + 1].
            same: [C] the first cursor of the same query with the same state, if that is known.
        """
        most, start = max(1, BLOCK // self._outputs), 0
        for stop in range(1, len(first)):
            if stop == len(first) - 1 or first[stop + 1] - first[start] > most:
                rows = slice(first[start], first[stop])
                within = first[start : stop + 1] - first[start]
                known = None if same is None else same[rows] - rows.start
                scored = self._logits(hidden[rows], allowed, rows, known)
                yield Block(allowed, rows, slice(start, stop), within, *scored)
                start = stop

    def _logits(
        self, hidden: torch.Tensor, allowed: Allowed, rows: slice, same: Int | None
    ) -> tuple[NDArray[np.float32], Int32, Float]:
        if self._config.normalise == "valid":
            return self._valid_logits(hidden, allowed, rows)
        if self._config.normalise == "docid":
            return self._docid_logits(hidden, allowed)
        if same is None:
            return self._full_logits(hidden, allowed)
        leaders, of_leader = np.unique(same, return_inverse=True)
        scores, column, normaliser = self._full_logits(hidden[torch.from_numpy(leaders)], allowed)
        return scores[of_leader], column, normaliser[of_leader]

    def _full_logits(
        self, hidden: torch.Tensor, allowed: Allowed
    ) -> tuple[NDArray[np.float32], Int32, Float]:
        wanted, column = self._distinct(allowed.tokens)
        few = 2 * len(wanted) <= self._outputs
        if few and self._config.temperature == 1:
            normaliser = self._backbone.log_normaliser(hidden)
            scores = self._backbone.logits(hidden, wanted.to(hidden.device)).float()
        else:
            scores = self._scaled(self._backbone.logits(hidden))
            normaliser = torch.logsumexp(scores, dim=-1)
            if few:
                scores = scores[:, wanted.to(scores.device)]
            else:
                column = allowed.tokens
        return scores.contiguous().cpu().numpy(), column, normaliser.double().cpu().numpy()

    def _docid_logits(
        self, hidden: torch.Tensor, allowed: Allowed
    ) -> tuple[NDArray[np.float32], Int32, Float]:
        assert self._tokens is not None
        assert self._column is not None
        self._tokens = self._tokens.to(hidden.device)
        scores = self._scaled(self._backbone.logits(hidden, self._tokens))
        normaliser = torch.logsumexp(scores, dim=-1).double().cpu().numpy()
        column = self._column[allowed.tokens]
        if scores.device.type != "cpu":  # then fetch only what can be chosen
            wanted, column = self._distinct(column)
            scores = scores[:, wanted.to(scores.device)].cpu()
        return scores.numpy(), column, normaliser

    def _valid_logits(
        self, hidden: torch.Tensor, allowed: Allowed, rows: slice
    ) -> tuple[NDArray[np.float32], Int32, Float]:
        wanted, column = self._distinct(allowed.tokens)
        if 2 * len(wanted) > self._outputs:  # then gathering their vectors costs more than it saves
            scores, column = self._backbone.logits(hidden), allowed.tokens
        else:
            scores = self._backbone.logits(hidden, wanted.to(hidden.device))
        logits = self._scaled(scores).cpu().numpy()
        starts, ends = allowed.starts[rows], allowed.ends[rows]
        return logits, column, valid_normaliser(logits, starts, ends, column)

    def _scaled(self, logits: torch.Tensor) -> torch.Tensor:
        logits = logits.float().contiguous()
        return logits if self._config.temperature == 1 else logits / self._config.temperature

    def _distinct(self, tokens: Int32) -> tuple[torch.Tensor, Int32]:
        """The distinct tokens, ascending, and the index among them of each given token."""
        marks = np.zeros(self._outputs, dtype=np.bool_)
        marks[tokens] = True
        distinct = np.flatnonzero(marks)
        return torch.from_numpy(distinct), self._columns(distinct)[tokens]

    def _columns(self, tokens: NDArray[np.integer]) -> Int32:
        """[V] the index of each of these tokens; 0 for the others."""
        column = np.zeros(self._outputs, dtype=np.int32)
        column[tokens] = np.arange(len(tokens), dtype=np.int32)
        return column


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
