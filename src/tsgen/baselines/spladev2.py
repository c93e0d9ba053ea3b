"""SPLADEv2 (Formal et al., 2021), its SPLADE-max: a masked LM weighs terms and adds new ones.

    w_j = max_i log(1 + relu(e_j · h_i + b_j)),   s(Q, D) = w^Q · w^D
    L = contrast + λ_Q · FLOPS(Q) + λ_D · FLOPS(D),   FLOPS = Σ_j (mean over the batch of w_j)²

Here i runs over the tokens of the text, h_i is the state of token i, e_j and b_j are the output
vector and bias of token j of the vocabulary; w_j > 0 also for tokens that the text does not have.
FLOPS makes weights sparse and evenly spread; both λ grow with the square of the step, to keep terms
alive at first. Negatives are BM25's and the batch's.

A checkpoint with a masked LM's head keeps it. For one without (MiniLM), h is a linear map of the
encoder's state, at first the identity, and e_j the embedding table: the states of MiniLM are still
nearest to their own tokens' embeddings, so training starts from exact matching. The scale and the
bias are such that a text has its own tokens and few others (`begin`).

Deviation: the paper's best model is distilled from a cross-encoder, this one is not.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from pydantic import Field

from tsgen.baselines._bi_encoder import BiEncoderConfig, Tokens, register_bi_encoder
from tsgen.baselines._sparse import SparseConfig, SparseEncoder, SparseRetriever
from tsgen.errors import ConfigError
from tsgen.terms.encoder import DATA_ONLY, empty_encoder, encoder_path

BLOCK = 1024  # tokens of the vocabulary whose logits are held at once
HEADED = "ForMaskedLM"  # how the names of masked LMs end
SAMPLE = 32  # texts that a new head is fitted to
OWN = 2.0  # mean logit of a token where it stands, with a new head
TERMS = 5  # terms for each token of a text with a new head: itself and its nearest neighbours


def largest_logits(
    states: torch.Tensor, lengths: torch.Tensor, table: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """The largest logits m_j = max_i (e_j · h_i) + b_j [B, V], without all logits in memory.

    A text of S tokens has S · V logits, of which only V are wanted. Their gradient needs only the
    place of each maximum, and is zero for most: after a relu, where the maximum is negative. So the
    logits of one text and `BLOCK` tokens at a time, which fit into a cache, are computed and
    forgotten.

    Args:
        states: The states h of each text's tokens [B, S, d].
        lengths: How many tokens each text has [B].
        table: The vector e of each token of the vocabulary [V, d].
        bias: The bias b of each token of the vocabulary [V].
    """
    found: torch.Tensor = _LargestLogits.apply(states.float(), lengths, table)  # type: ignore[no-untyped-call]
    return found + bias


class _LargestLogits(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, states: torch.Tensor, lengths: torch.Tensor, table: torch.Tensor
    ) -> torch.Tensor:
        with torch.autocast(states.device.type, enabled=False):
            texts = [text[:n] for text, n in zip(states, lengths.tolist(), strict=True)]
            if not any(ctx.needs_input_grad):
                return torch.stack([_largest(text, table) for text in texts])
            both = [_largest_with_places(text, table) for text in texts]
        ctx.save_for_backward(states, table, torch.stack([places for _, places in both]))
        return torch.stack([values for values, _ in both])

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (gradient,) = gradients
        states, table, places = ctx.saved_tensors
        to_states = torch.zeros_like(states)
        to_table = torch.zeros_like(table) if ctx.needs_input_grad[2] else None
        for row, values in enumerate(gradient):
            (tokens,) = values.nonzero(as_tuple=True)
            at, weights = places[row, tokens], values[tokens].unsqueeze(-1)
            to_states[row].index_add_(0, at, weights * table[tokens])
            if to_table is not None:
                to_table.index_add_(0, tokens, weights * states[row, at])
        return to_states, None, to_table


def _largest(text: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """The largest e_j · h_i of every token j [V], over one text's states [S, d]."""
    return torch.cat([(block @ text.T).amax(dim=1) for block in torch.split(table, BLOCK)])


def _largest_with_places(
    text: torch.Tensor, table: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """As `_largest`, with the number i of the state at which each maximum was found [V]."""
    found = [(block @ text.T).max(dim=1) for block in torch.split(table, BLOCK)]
    return torch.cat([one.values for one in found]), torch.cat([one.indices for one in found])


class SPLADEv2Config(SparseConfig):
    """The settings of sparse encoders, and the weights of the FLOPS regulariser."""

    query_flops: float = Field(3e-4, ge=0)
    """The weight λ_Q of the queries' FLOPS."""

    document_flops: float = Field(1e-4, ge=0)
    """The weight λ_D of the documents' FLOPS."""

    flops_steps: int = Field(50_000, ge=1)
    """Steps until both weights have grown to their full size."""


class _OutputWeights(torch.nn.Module):
    """Holds the weights of an output layer but returns states as they are."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.weight: torch.nn.Parameter = layer.weight
        self.bias: torch.nn.Parameter = layer.bias

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return states


class SPLADE(SparseEncoder):
    """A masked LM, or an encoder with a head made from its embedding table."""

    settings: ClassVar[type[BiEncoderConfig]] = SPLADEv2Config

    def __init__(self, config: Any, encoder: Any, tokenizer: Any) -> None:
        """Replace a masked LM's output layer, which would compute all logits, by its weights."""
        super().__init__(config, encoder, tokenizer)
        encoder.config.architectures = [type(encoder).__name__]
        self.headed = type(encoder).__name__.endswith(HEADED)
        width = encoder.config.hidden_size
        if self.headed:
            self.decoder = _OutputWeights(encoder.get_output_embeddings())
            encoder.set_output_embeddings(self.decoder)
        else:
            self.transform = torch.nn.Linear(width, width, bias=False)
            torch.nn.init.eye_(self.transform.weight)
            self.decoder = _OutputWeights(torch.nn.Linear(width, encoder.config.vocab_size))
            self.decoder.weight = encoder.get_input_embeddings().weight

    @classmethod
    def pretrained(cls, config: Any) -> Self:
        """Load a masked LM where the checkpoint is one, else an encoder with a new head."""
        path = encoder_path(config.encoder)
        try:
            kinds = _hf().AutoConfig.from_pretrained(path, **DATA_ONLY).architectures or [""]
        except (OSError, ValueError):
            kinds = [""]  # loading it as an encoder explains what is wrong
        if not kinds[0].endswith(HEADED):
            return super().pretrained(config)
        if config.layers is not None:
            raise ConfigError(
                f"spladev2.layers = {config.layers} with {config.encoder!r}, a masked LM, whose "
                "head fits its last layer only. Leave spladev2.layers out, or name an encoder."
            )
        tokenizer = _hf().AutoTokenizer.from_pretrained(path, use_fast=True, **DATA_ONLY)
        model = _hf().AutoModelForMaskedLM.from_pretrained(path, **DATA_ONLY)
        return cls(config, model, tokenizer)

    @staticmethod
    def empty(folder: Path) -> tuple[Any, Any]:
        """Make a masked LM or an encoder of the saved shape without its weights."""
        config = _hf().AutoConfig.from_pretrained(folder, **DATA_ONLY)
        if not config.architectures[0].endswith(HEADED):
            return empty_encoder(folder)
        model = _hf().AutoModelForMaskedLM.from_config(config, **DATA_ONLY)
        return model, _hf().AutoTokenizer.from_pretrained(folder, use_fast=True, **DATA_ONLY)

    @torch.no_grad()
    def begin(self, texts: Sequence[str], queries: Sequence[str]) -> None:  # noqa: ARG002
        """Fit the scale and the bias of a new head such that, in the mean over a text's tokens, a
        token's own logit is `OWN` and the last of the `TERMS` largest logits is 0."""
        if self.headed or not texts:
            return
        ids, mask = self.padded(self.tokens(texts[:SAMPLE], self.config.query_tokens))
        logits = self.states(ids, mask)[mask] @ self.decoder.weight.T  # [N, V]
        zero = logits.topk(TERMS).values[:, -1].mean()
        own = logits.gather(1, ids[mask].unsqueeze(1)).mean()
        scale = OWN / torch.maximum(own - zero, logits.std())
        self.transform.weight.mul_(scale)
        self.decoder.bias.fill_(float(-zero * scale))

    def states(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The state h [B, S, d] of each token."""
        output = self.encoder(input_ids=ids, attention_mask=mask.long())
        if self.headed:
            return output.logits  # type: ignore[no-any-return]
        return self.transform(output.last_hidden_state)  # type: ignore[no-any-return]

    def weights(self, tokens: Tokens) -> torch.Tensor:
        """The weights w [B, V]: log(1 + relu) of the largest logits, for it keeps their order."""
        ids, mask = self.padded(tokens)
        states, decoder = self.states(ids, mask), self.decoder
        logits = largest_logits(states, mask.sum(1), decoder.weight, decoder.bias)
        return logits.relu().log1p()

    def penalty(self, queries: torch.Tensor, documents: torch.Tensor, step: int) -> torch.Tensor:
        """λ_Q · FLOPS(Q) + λ_D · FLOPS(D), with both λ as large as they are at this step."""
        grown = min(1.0, (step + 1) / self.config.flops_steps) ** 2
        query_weight: float = self.config.query_flops * grown
        document_weight: float = self.config.document_flops * grown
        return query_weight * flops(queries) + document_weight * flops(documents)


def flops(weights: torch.Tensor) -> torch.Tensor:
    """Σ_j (mean over the texts of w_j)², of weights [B, V]."""
    return weights.mean(0).square().sum()


def _hf() -> Any:
    return import_module("transformers")


class SPLADERetriever(SparseRetriever):
    """SPLADE and its weights of all documents."""

    kind = SPLADE


register_bi_encoder("spladev2", SPLADEv2Config, SPLADERetriever, SPLADE.pretrained)
