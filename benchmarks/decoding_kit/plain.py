"""The usual way, re-implemented as the peer to measure against.

One Python object a beam; set difference and intersection with numpy for each of them at each step;
a mask over the whole vocabulary; token-synchronous, so hypotheses of different numbers of finished
terms compete; equal sets reached in different orders are kept apart and computed again. A beam ends
when no term remains.
"""

from dataclasses import dataclass
from time import perf_counter

import numpy as np
import torch
from numpy.typing import NDArray

from decoding_kit.batched_mini import MiniForGeneration, empty_cache
from tsgen.constrain.postings import TermSetArrays
from tsgen.docids.spelling import Spelling
from tsgen.model.mini import Mini

Int = NDArray[np.integer]


@dataclass
class Beam:
    """One hypothesis: its score, terms X, documents Y, and how far its next term is spelled."""

    score: float
    terms: tuple[int, ...]
    documents: Int | None  # None: all of them
    ranks: Int  # the valid terms that begin with what is spelled of the next one
    depth: int = 0


class PlainSearch:
    """Beam search over term sets with one Python loop over the beams at each token."""

    def __init__(self, backbone: Mini, sets: TermSetArrays, spelling: Spelling, beams: int) -> None:
        self._model, self._sets, self._spelling = MiniForGeneration(backbone), sets, spelling
        self._beams = beams
        self._all = np.arange(len(spelling), dtype=np.int32)
        first = spelling.tokens[spelling.offsets[:-1]]
        self._first_tokens = np.unique(first)
        self.constraint_seconds = 0.0

    @torch.no_grad()
    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """The k best documents with their log-likelihoods, each by its best hypothesis."""
        model = self._model
        inputs = model.backbone.tokenizer([query], return_tensors="pt")
        encoded = model.get_encoder()(inputs["input_ids"], inputs["attention_mask"])
        mask, cache = inputs["attention_mask"], empty_cache()
        beams, found = [Beam(0.0, (), None, self._all)], {}
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
            mask[row, torch.from_numpy(self._next_tokens(beam)).long()] = 0
        self.constraint_seconds += perf_counter() - began
        return mask

    def _next_tokens(self, beam: Beam) -> Int:
        if beam.depth == 0 and not beam.terms:
            return self._first_tokens
        spelling = self._spelling
        return np.unique(spelling.tokens[spelling.offsets[beam.ranks] + beam.depth])

    def _advance(self, beam: Beam, token: int, score: float) -> Beam:
        began = perf_counter()
        spelling = self._spelling
        at = spelling.tokens[spelling.offsets[beam.ranks] + beam.depth]
        ranks = beam.ranks[at == token]
        after = Beam(score, beam.terms, beam.documents, ranks, beam.depth + 1)
        if (
            len(ranks) == 1
            and spelling.offsets[ranks[0]] + after.depth == (spelling.offsets[ranks[0] + 1])
        ):
            after = self._close(after, int(spelling.term_of[ranks[0]]))
        self.constraint_seconds += perf_counter() - began
        return after

    def _close(self, beam: Beam, term: int) -> Beam:
        """Algorithm 1: Y ← Y ∩ Φ(t), V ← ∪ T(D) \\ X."""
        sets, terms = self._sets, (*beam.terms, term)
        documents = np.asarray(
            sets.post_docs[sets.post_offsets[term] : sets.post_offsets[term + 1]]
        )
        if beam.documents is not None:
            documents = np.intersect1d(beam.documents, documents)
        rows = [
            np.asarray(sets.doc_terms[sets.doc_offsets[d] : sets.doc_offsets[d + 1]])
            for d in documents
        ]
        valid = np.setdiff1d(np.unique(np.concatenate(rows)), terms)
        return Beam(beam.score, terms, documents, np.sort(self._spelling.rank_of[valid]))

    def _ended(self, beam: Beam, found: dict[int, float]) -> bool:
        """Whether no term remains; then its documents are found."""
        if beam.depth or len(beam.ranks):
            return False
        for document in beam.documents.tolist():
            found[document] = max(beam.score, found.get(document, -np.inf))
        return True
