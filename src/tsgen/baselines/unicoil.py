"""UniCOIL (Lin and Ma, 2021): a learned weight for each token of a text, exact matching of tokens.

    w_i = relu(W · BERT(t)_i + b),   s(Q, D) = Σ over tokens of both of max w^Q · max w^D

Queries and documents share the model; all windows of a document are read, and a token keeps its
largest weight. Training is on BM25's negatives and the batch's other documents. Unlike the system
`weigher`, UniCOIL has tokens for terms instead of words, no prior and no selector.

Deviations: documents are not expanded by predicted queries (those of TSGen are not, either), and
weights stay float32 numbers instead of eight bits.
"""

from typing import Any, ClassVar

import torch

from tsgen.baselines._bi_encoder import BiEncoderConfig, Tokens, register_bi_encoder
from tsgen.baselines._sparse import SparseConfig, SparseEncoder, SparseRetriever


class UniCOILConfig(SparseConfig):
    """The settings of sparse encoders with UniCOIL's defaults."""

    windows: int | None = None
    """Windows of `document_tokens` that are read of a document; unset: all."""

    negatives: int = 7
    """BM25 negatives of each training pair."""

    batch_size: int = 32
    """Training pairs of a batch."""

    epochs: float = 5
    """Passes over the training pairs."""


class UniCOIL(SparseEncoder):
    """A BERT with one linear layer, which gives each token its weight."""

    settings: ClassVar[type[BiEncoderConfig]] = UniCOILConfig

    def __init__(self, config: Any, encoder: Any, tokenizer: Any) -> None:
        """Start the layer such that every token has a weight of about 1: none is dead."""
        super().__init__(config, encoder, tokenizer)
        self.head = torch.nn.Linear(encoder.config.hidden_size, 1)
        torch.nn.init.normal_(self.head.weight, std=0.01)
        torch.nn.init.ones_(self.head.bias)
        special = torch.zeros(len(tokenizer), dtype=torch.bool)
        special[tokenizer.all_special_ids] = True
        self.register_buffer("special", special, persistent=False)

    def weights(self, tokens: Tokens) -> torch.Tensor:
        """The largest weight [B, V] of each token in each text, 0 where it does not occur."""
        ids, mask = self.padded(tokens)
        states = self.encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state
        weights = torch.relu(self.head(states).squeeze(-1).float())  # [B, S]
        weights = weights * (mask & ~self.special[ids])  # type: ignore[index]
        table = weights.new_zeros(len(ids), len(self.tokenizer))
        return table.scatter_reduce(1, ids, weights, "amax")


class UniCOILRetriever(SparseRetriever):
    """UniCOIL and its weights of all documents."""

    kind = UniCOIL


register_bi_encoder("unicoil", UniCOILConfig, UniCOILRetriever, UniCOIL.pretrained)
