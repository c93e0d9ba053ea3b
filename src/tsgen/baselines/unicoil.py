"""UniCOIL (Lin and Ma, 2021): a learned weight for each token of a text, exact matching of tokens.

    w_i = relu(W · BERT(t)_i + b),   s(Q, D) = Σ over tokens of both of max w^Q · max w^D

Queries and documents share the model; a document's windows are all read, and a token keeps its
largest weight. Trained on BM25's negatives and the batch's other documents. It deviates in that
documents are not expanded by predicted queries (TSGen's own are not, either), and that weights stay
float32 numbers instead of eight bits. Unlike the `weigher` it has tokens for terms instead of
words, no prior and no selector.
"""

from pathlib import Path
from typing import Any, ClassVar

import torch

from tsgen.baselines._bi_encoder import BiEncoderConfig, Tokens, finish, trained
from tsgen.baselines._sparse import SparseConfig, SparseEncoder, SparseRetriever
from tsgen.corpus.dataset import DataSet
from tsgen.retrieve.systems import SYSTEMS, System


class UniCOILConfig(SparseConfig):
    """UniCOIL's settings."""

    windows: int | None = None
    negatives: int = 7
    batch_size: int = 32
    epochs: float = 5


class UniCOIL(SparseEncoder):
    """A BERT and one linear layer."""

    settings: ClassVar[type[BiEncoderConfig]] = UniCOILConfig

    def __init__(self, config: Any, encoder: Any, tokenizer: Any) -> None:
        """The layer starts with every token's weight about 1, so that none is dead."""
        super().__init__(config, encoder, tokenizer)
        self.head = torch.nn.Linear(encoder.config.hidden_size, 1)
        torch.nn.init.normal_(self.head.weight, std=0.01)
        torch.nn.init.ones_(self.head.bias)
        special = torch.zeros(len(tokenizer), dtype=torch.bool)
        special[tokenizer.all_special_ids] = True
        self.register_buffer("special", special, persistent=False)

    def weights(self, tokens: Tokens) -> torch.Tensor:
        """[B, V] the largest weight of each token in each text, 0 where it does not occur."""
        ids, mask = self.padded(tokens)
        states = self.encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state
        weights = torch.relu(self.head(states).squeeze(-1).float())  # [B, S]
        weights = weights * (mask & ~self.special[ids])  # type: ignore[index]
        table = weights.new_zeros(len(ids), len(self.tokenizer))
        return table.scatter_reduce(1, ids, weights, "amax")


class UniCOILRetriever(SparseRetriever):
    """UniCOIL's weights of all documents."""

    kind = UniCOIL


def _fit(data: DataSet, config: UniCOILConfig, seed: int, folder: Path) -> None:
    cache = folder.parent
    kept = trained("unicoil", lambda: UniCOIL.pretrained(config), data, config, seed, cache)
    finish(UniCOILRetriever, data, [kept], folder)


SYSTEMS.register(System("unicoil", UniCOILConfig, _fit, UniCOILRetriever.load, trains=True))
