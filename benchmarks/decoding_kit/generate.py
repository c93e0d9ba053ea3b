"""`generate` of transformers with `prefix_allowed_tokens_fn`, on the same constraint as ours."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import LogitsProcessor, LogitsProcessorList, PrefixConstrainedLogitsProcessor

from decoding_kit.batched_mini import MiniForGeneration
from tsgen.constrain.constraint import Allowed, Constraint, Cursor
from tsgen.model.mini import Mini


@dataclass
class Prefix:
    """Where a prefix has led: one row of a frontier, its cursor, what may follow."""

    frontier: Any
    cursor: Cursor
    allowed: Allowed
    documents: list[int]  # complete here


class Constrained(LogitsProcessor):
    """The library's own processor, with its time taken, and an end that costs nothing."""

    def __init__(self, constraint: Constraint, beams: int, start: int, end: int) -> None:
        self._constraint, self._start, self._end = constraint, start, end
        self._masking = PrefixConstrainedLogitsProcessor(self.allowed_tokens, beams)
        self._known: dict[tuple[int, ...], Prefix] = {}
        self.seconds = 0.0

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Mask what may not follow; a complete identifier ends with probability one."""
        began = perf_counter()
        scores = self._masking(input_ids, scores)
        for row, tokens in enumerate(input_ids.tolist()):
            if self._end in tokens or self.prefix(tokens).documents:
                scores[row, self._end] = 0
        self.seconds += perf_counter() - began
        return scores

    def allowed_tokens(self, _: int, tokens: Tensor) -> list[int]:
        """`prefix_allowed_tokens_fn`."""
        generated = tokens.tolist()
        if self._end in generated:
            return [self._end]
        prefix = self.prefix(generated)
        return [*prefix.allowed.tokens.tolist(), self._end]

    def prefix(self, tokens: list[int]) -> Prefix:
        """The state after these tokens: its parent's, one token further; each computed once."""
        key = tuple(tokens)
        if key not in self._known:
            self._known[key] = self._root() if len(key) == 1 else self._after(key)
        return self._known[key]

    def forget(self) -> None:
        """Start with a new query."""
        self._known.clear()

    def _root(self) -> Prefix:
        return self._at(self._constraint.start(1, exact=True))

    def _after(self, key: tuple[int, ...]) -> Prefix:
        parent = self._known[key[:-1]]
        entry = np.searchsorted(parent.allowed.tokens, key[-1])
        if entry == len(parent.allowed.tokens) or parent.allowed.tokens[entry] != key[-1]:
            return parent  # a beam of probability zero, which `generate` keeps to fill its places
        one, entries = np.zeros(1, np.int64), np.array([entry])
        cursor = parent.allowed.follow(parent.cursor, one, entries)
        if parent.allowed.closes[entry]:
            return self._at(self._constraint.close(parent.frontier, cursor))
        allowed = self._constraint.allowed(parent.frontier, cursor)
        return Prefix(parent.frontier, cursor, allowed, [])

    def _at(self, frontier: Any) -> Prefix:
        """A prefix that stands between two terms."""
        cursor = self._constraint.cursor(frontier, np.zeros(1, np.int64))
        allowed = self._constraint.allowed(frontier, cursor)
        return Prefix(
            frontier, cursor, allowed, self._constraint.completed(frontier).values.tolist()
        )


class GenerateSearch:
    """Beam search by `generate`."""

    def __init__(self, backbone: Mini, constraint: Constraint, beams: int, longest: int) -> None:
        self._model, self._beams, self._longest = MiniForGeneration(backbone).eval(), beams, longest
        self._processor = Constrained(constraint, beams, self._model.start, self._model.end)

    @property
    def constraint_seconds(self) -> float:
        """All time spent on what may come next."""
        return self._processor.seconds

    @torch.no_grad()
    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """The k best documents with their log-likelihoods, each by its best hypothesis."""
        inputs = self._model.backbone.tokenizer([query], return_tensors="pt")
        self._processor.forget()
        out = self._model.generate(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            num_beams=self._beams,
            num_return_sequences=self._beams,
            max_new_tokens=self._longest + 1,
            length_penalty=0.0,
            early_stopping=False,
            do_sample=False,
            logits_processor=LogitsProcessorList([self._processor]),
            return_dict_in_generate=True,
            output_scores=True,
        )
        found: dict[int, float] = {}
        rows = zip(out.sequences.tolist(), out.sequences_scores.tolist(), strict=True)
        for tokens, score in rows:
            generated = tokens[: tokens.index(self._model.end)] if self._model.end in tokens else []
            documents = self._processor.prefix(generated).documents if generated else []
            for document in documents:
                found[document] = max(score, found.get(document, -np.inf))
        return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:k]
