"""GTR (Ni et al., 2022): a T5's encoder as one bi-encoder for queries and documents.

    v = W h / |W h|,   h = mean of the encoder's states,   s(Q, D) = v(Q) · v(D)

The loss is over the batch's documents and a hard negative at a low temperature. With a hub,
`gtr.encoder = "sentence-transformers/gtr-t5-base"` starts from the published weights (with
`gtr.epochs=0` it searches with them as they are); any other T5 can be named or given as a folder.
Without a hub training starts from flan-t5-small, which pip brings. The vectors of a T5 that was
never trained for search all point one way; so that the first steps are not spent on that, the
projection W starts as the map that spreads them (see `spreading_map`; BERT-whitening, Su et al.,
2021).

Deviation: the paper trains on two billion pairs of web questions first, which no user has; here
training is on the data set's own pairs, with BM25's negatives.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import torch

from tsgen.baselines._bi_encoder import in_chunks, register_bi_encoder
from tsgen.baselines._dense_encoder import DenseConfig, DenseEncoder, DenseRetriever
from tsgen.errors import ConfigError, MissingExtraError
from tsgen.model.backbone import FLAN_T5
from tsgen.model.packaged import flan_t5_small


class GTRConfig(DenseConfig):
    """The settings of dense encoders with GTR's defaults."""

    encoder: str = FLAN_T5
    """The T5 that training starts from: `flan-t5-small`, a hub name or a folder."""

    pooling: Any = "mean"
    """The vector is the state of the first token (`cls`) or the mean of all states (`mean`)."""

    normalise: bool = True
    """Whether vectors are scaled to length 1, so that the product is the cosine."""

    projection: bool = True
    """Whether a linear map turns pooled states into vectors."""

    temperature: float = 0.01
    """The τ by which scores are divided in the loss."""

    learning_rate: float = 1e-3
    """The peak learning rate of pre-trained weights; T5 learns at high rates."""


SAMPLE = 2000  # documents, and queries, that the projection is fitted to before training
STRENGTH, RIDGE = 0.25, 0.1


class FreshT5(DenseEncoder):
    """A T5 that was never trained to make vectors."""

    @torch.inference_mode()
    def begin(self, texts: Sequence[str], queries: Sequence[str]) -> None:
        """Set the projection to the spreading map of some documents' and queries' vectors."""
        if self.projection is None:
            return
        self.eval()
        chosen = np.random.default_rng(0).permutation
        some = [texts[i] for i in chosen(len(texts))[:SAMPLE]]
        some_queries = [queries[i] for i in chosen(len(queries))[:SAMPLE]]
        length = self.config.training_tokens or self.config.document_tokens
        encoded = in_chunks(self.documents, self.tokens(some, length), "sampling documents")
        tokens = self.tokens(some_queries, self.config.query_tokens)
        vectors = torch.cat((encoded, in_chunks(self.queries, tokens)))
        self.projection.weight.copy_(spreading_map(torch.nn.functional.normalize(vectors, dim=-1)))


def spreading_map(vectors: torch.Tensor) -> torch.Tensor:
    """The map M^{−1/4} [d, d], with M = E[v vᵀ] + ridge, of vectors v [B, d].

    Under it directions that all vectors share weigh less and rare ones more; M^{−1/2} would make
    all directions equal, noise as well. Its norm is that of the identity.
    """
    moments = (vectors.T @ vectors).double() / len(vectors)
    values, directions = torch.linalg.eigh(moments)
    scales = (values.clamp(min=0) + RIDGE * values.mean()) ** -STRENGTH
    scales = scales / scales.square().mean().sqrt()
    spread: torch.Tensor = (directions * scales) @ directions.T
    return spread.float()


def t5_encoder(config: GTRConfig) -> DenseEncoder:
    """Load the encoder that the settings name, from which training starts."""
    encoder, tokenizer, projection = _parts(config.encoder)
    encoder.config.tie_word_embeddings = True  # with no output layer: the stack's with the model's
    encoder.set_input_embeddings(encoder.get_input_embeddings())
    if config.layers is not None:
        encoder.encoder.block = encoder.encoder.block[: config.layers]
        encoder.config.num_layers = encoder.encoder.config.num_layers = len(encoder.encoder.block)
    if projection is None:
        return FreshT5(config, encoder, tokenizer)
    model = DenseEncoder(config, encoder, tokenizer)
    if model.projection is not None:
        model.projection.load_state_dict(projection.state_dict())
    return model


def _parts(name: str) -> tuple[Any, Any, Any]:
    """A T5's encoder, its tokenizer and, of a published bi-encoder, its projection (else None)."""
    hf: Any = import_module("transformers")
    if name == FLAN_T5:
        model, tokenizer = flan_t5_small()
        encoder = hf.T5EncoderModel(model.config)
        encoder.load_state_dict(model.state_dict(), strict=False)
        return encoder, tokenizer, None
    modules = list(_sentence_transformer(name))
    encoder = modules[0].auto_model
    if encoder.config.model_type not in ("t5", "mt5"):
        raise ConfigError(
            f"gtr.encoder = {name!r} is of the kind {encoder.config.model_type!r}; expected a T5. "
            "Other bi-encoders: --systems dpr --set dpr.encoder=NAME."
        )
    return encoder, modules[0].tokenizer, _projection(modules, name, encoder.config.hidden_size)


def _projection(modules: Sequence[Any], name: str, width: int) -> Any:
    """The linear map of a published bi-encoder; None where it has none."""
    for module in modules:
        if (linear := getattr(module, "linear", None)) is None:
            continue
        plain = isinstance(module.activation_function, torch.nn.Identity) and linear.bias is None
        if not plain or linear.weight.shape != (width, width):
            raise ConfigError(
                f"gtr.encoder = {name!r} projects its {width} numbers by {module}, which is no "
                "plain linear map; expected a GTR such as sentence-transformers/gtr-t5-base."
            )
        return linear
    return None


def _sentence_transformer(name: str) -> Any:
    try:
        library: Any = import_module("sentence_transformers")
    except ImportError:
        raise MissingExtraError(f"gtr.encoder = {name!r}", "baselines") from None
    try:
        return library.SentenceTransformer(name, device="cpu").float()
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ConfigError(
            f"cannot load gtr.encoder = {name!r}: {reason} Expected a T5 by hub name with "
            f"network, or a local folder. Without a hub: --set gtr.encoder={FLAN_T5} "
            "(pip install 'tsgen-ir[flan-t5]')."
        ) from None


register_bi_encoder("gtr", GTRConfig, DenseRetriever, t5_encoder)
