"""The usual way, re-implemented as the peer to measure against.

One Python object a beam; for each of them at each token the valid terms as a set difference with
numpy, the documents as an intersection; a mask over the whole vocabulary; token-synchronous, so
hypotheses of different numbers of finished terms compete; equal sets reached in different orders
are kept apart and computed again. Unlike public code, which ends a beam with its partial score when
one document is left, a beam ends when no term remains, so that its scores are comparable with ours.
"""

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
import torch
from numpy.typing import NDArray

from decoding_kit.batched_mini import MiniForGeneration, empty_cache
from tsgen.constrain.term_sets import TermSetArrays
from tsgen.docids.spelling import Spelling
from tsgen.model.mini import Mini

Int = NDArray[np.integer]
NONE = -1  # pads rows of terms and of tokens


@dataclass(frozen=True)
class Beam:
    """One hypothesis: its score, terms X, documents Y, and what is spelled of its next term."""

    score: float
    terms: Int
    documents: Int | None = None  # None: all of them
    prefix: tuple[int, ...] = ()


class PlainSearch:
    """Beam search over term sets with a Python loop over the beams at each token."""

    def __init__(self, backbone: Mini, sets: TermSetArrays, spelling: Spelling, beams: int) -> None:
        self._model, self._beams = MiniForGeneration(backbone), beams
        self._terms_of = _padded(sets.doc_offsets, sets.doc_terms)  # [D, N]
        spelled = _padded(spelling.offsets, spelling.tokens)
        self._tokens_of = spelled[spelling.rank_of]  # [T, longest spelling]
        self._postings = sets.post_offsets, sets.post_docs
        self._next, self._term = _trie(self._tokens_of)
        self.constraint_seconds = 0.0

    @torch.no_grad()
    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """The k best documents with their log-likelihoods, each by its best hypothesis."""
        model = self._model
        inputs = model.backbone.tokenizer([query], return_tensors="pt")
        encoded = model.get_encoder()(inputs["input_ids"], inputs["attention_mask"])
        mask, cache = inputs["attention_mask"], empty_cache()
        beams, found = [Beam(0.0, np.zeros(0, np.int32))], {}
        tokens = torch.tensor([[model.start]])
        while beams:
            scores = (
                model(
                    encoder_outputs=encoded,
                    attention_mask=mask,
                    decoder_input_ids=tokens,
                    past_key_values=cache,
                )
                .logits[:, 0]
                .log_softmax(-1)
            )
            scores = scores + torch.tensor([beam.score for beam in beams])[:, None]
            scores = scores + self._mask(beams, scores.shape[1])
            best, places = scores.flatten().topk(min(self._beams, scores.numel()))
            places, best = places[best > -torch.inf], best[best > -torch.inf]
            rows, chosen = places // scores.shape[1], places % scores.shape[1]
            after = [
                self._advance(beams[row], token, score)
                for row, token, score in zip(
                    rows.tolist(), chosen.tolist(), best.tolist(), strict=True
                )
            ]
            going = [i for i, beam in enumerate(after) if not self._ended(beam, found)]
            beams = [after[i] for i in going]
            order = rows[going]
            cache.reorder_cache(order)
            mask, tokens = mask[order], chosen[going][:, None]
            encoded.last_hidden_state = encoded.last_hidden_state[order]
        return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:k]

    def _mask(self, beams: list[Beam], size: int) -> torch.Tensor:
        """−∞ everywhere but at the tokens that each beam may take."""
        began = perf_counter()
        mask = torch.full((len(beams), size), -torch.inf)
        for row, beam in enumerate(beams):
            mask[row, self._next_tokens(beam)] = 0
        self.constraint_seconds += perf_counter() - began
        return mask

    def _next_tokens(self, beam: Beam) -> torch.Tensor:
        """The tokens at the next place of all valid terms that begin with the prefix."""
        if beam.documents is None:
            return self._next[beam.prefix]
        spelled = self._tokens_of[self._valid_terms(beam)]
        place = len(beam.prefix)
        fits = (spelled[:, :place] == beam.prefix).all(axis=1)
        return torch.from_numpy(spelled[fits, place]).long()

    def _valid_terms(self, beam: Beam) -> Int:
        """Algorithm 1: V ← ∪ T(D) \\ X."""
        held = self._terms_of[beam.documents]
        return np.setdiff1d(np.unique(held[held != NONE]), beam.terms, assume_unique=True)

    def _advance(self, beam: Beam, token: int, score: float) -> Beam:
        began = perf_counter()
        prefix = (*beam.prefix, token)
        after = replace(beam, score=score, prefix=prefix)
        if prefix in self._term:
            after = self._close(after, self._term[prefix])
        self.constraint_seconds += perf_counter() - began
        return after

    def _close(self, beam: Beam, term: int) -> Beam:
        """Algorithm 1: Y ← Y ∩ Φ(t)."""
        offsets, documents = self._postings
        holding = np.asarray(documents[offsets[term] : offsets[term + 1]])
        if beam.documents is not None:
            holding = np.intersect1d(beam.documents, holding, assume_unique=True)
        return Beam(beam.score, np.append(beam.terms, np.int32(term)), holding)

    def _ended(self, beam: Beam, found: dict[int, float]) -> bool:
        """Whether no term remains; then its documents are found."""
        if beam.prefix or beam.documents is None or len(self._valid_terms(beam)):
            return False
        for document in beam.documents.tolist():
            found[document] = max(beam.score, found.get(document, -np.inf))
        return True


def _padded(offsets: Int, values: Int) -> Int:
    """Rows of different lengths as a table, padded at the end."""
    lengths = np.diff(offsets)
    table = np.full((len(lengths), lengths.max()), NONE, np.int32)
    table[np.arange(table.shape[1]) < lengths[:, None]] = values
    return table


def _trie(spelled: Int) -> tuple[dict[tuple[int, ...], torch.Tensor], dict[tuple[int, ...], int]]:
    """All terms: the tokens after each prefix, and the term of each whole spelling."""
    after: dict[tuple[int, ...], set[int]] = {}
    term_of: dict[tuple[int, ...], int] = {}
    for term, row in enumerate(spelled.tolist()):
        tokens = tuple(token for token in row if token != NONE)
        for place, token in enumerate(tokens):
            after.setdefault(tokens[:place], set()).add(token)
        term_of[tokens] = term
    return {prefix: torch.tensor(sorted(found)) for prefix, found in after.items()}, term_of
