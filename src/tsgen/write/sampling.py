"""Drawing queries from a local writer: top-k sampling, the same for a document in any company."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import torch
from torch import Tensor

from tsgen.records import Document
from tsgen.write.copying import CopyingWriter


@dataclass(frozen=True, slots=True)
class Sampler:
    """Writes n queries a document, all documents of a call at once."""

    writer: CopyingWriter
    tokens: int  # of a query, the most
    top_k: int
    temperature: float

    @torch.inference_mode()
    def write(self, documents: Sequence[Document], n: int, seed: int) -> list[list[str]]:
        """Each document has random numbers of its own, from the seed and its id."""
        texts = [document.contents for document in documents]
        draws = np.stack([_draws(document.id, seed, n, self.tokens) for document in documents])
        rows = self._rows(texts, n, torch.from_numpy(draws).flatten(0, 1))  # D·n rows
        decoded = self.writer.backbone.tokenizer.batch_decode(rows, skip_special_tokens=True)
        queries = [" ".join(text.split()) for text in decoded]
        return [
            [query for query in queries[start : start + n] if query]
            for start in range(0, len(queries), n)
        ]

    def _rows(self, texts: Sequence[str], n: int, draws: Tensor) -> list[list[int]]:
        """The tokens of n queries for each text; draws [D·n, T] are uniform in [0, 1)."""
        writer, choices = self.writer.eval(), self.writer.choices(texts)
        owners = torch.arange(len(texts), device=writer.device).repeat_interleave(n)
        cache, nodes, hidden = writer.backbone.encode(texts)
        nodes, hidden = nodes[owners], hidden[owners]  # [D·n], [D·n, d]
        written: list[list[int]] = [[] for _ in owners]
        open_rows = torch.arange(len(owners), device=writer.device)
        for at in range(self.tokens):
            scores = writer.scores(hidden, choices, owners[open_rows])
            tokens = choices.symbols[self._draw(scores, draws[open_rows.cpu(), at])]
            going_on = tokens != writer.end
            open_rows, tokens, nodes = open_rows[going_on], tokens[going_on], nodes[going_on]
            for row, token in zip(open_rows.tolist(), tokens.tolist(), strict=True):
                written[row].append(token)
            if not len(open_rows) or at == self.tokens - 1:
                break
            nodes, hidden = writer.backbone.step(cache, nodes, tokens)
        return written

    def _draw(self, scores: Tensor, draws: Tensor) -> Tensor:
        """[R] the column where the summed probability of the k best passes the draw."""
        best, columns = scores.topk(min(self.top_k, scores.shape[1]), dim=1)
        passed = (best / self.temperature).softmax(dim=1).cumsum(dim=1)
        place = (passed <= draws.to(passed)[:, None]).sum(dim=1).clamp(max=best.shape[1] - 1)
        return columns.gather(1, place[:, None])[:, 0]


def _draws(
    name: str, seed: int, n: int, tokens: int
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    number = int.from_bytes(blake2b(name.encode(), digest_size=8).digest())
    return np.random.default_rng((seed, number)).random((n, tokens))
