"""What training and searching cost, estimated from shapes before any of it is done.

A multiplication with an addition counts as two operations, and a backward pass as two forward
ones: a step over x tokens of a model with P weights takes 6 · P · x, a forward pass 2 · P · x.
Attention between tokens is left out, for short texts it is a few per cent. So are the embeddings
that are only looked up; the output layer is not:

    training pair      6 · (E · q + (D + w · V) · t)
    search of a query  2 · E · q + 2 · B · t · (D + w · V)

with E and D the weights of encoder and decoder, w the width, V the output symbols, q and t the
tokens of query and identifier, and B the beam.

The memory of a training is 16 bytes a weight (weights, gradients and AdamW's two moments in
float32), the activations, and the scores over all output symbols; that of a search has the keys and
values of all beams. Such figures are right to a factor of two: enough to choose a machine.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tsgen.errors import ConfigError
from tsgen.terms.encoder import DATA_ONLY

QUERY_TOKENS = 12  # of a query, on average
TERM_TOKENS = 2.2  # of a term that is spelled by pieces, its comma included
TRAINED_BYTES = 16  # of memory for each weight that is trained
KEPT = 34  # bytes of activations for each token, layer and unit of width, in bfloat16
SEARCH_SHARE = 0.2  # of the speed of training, that a search reaches: its matrices are small


@dataclass(frozen=True, slots=True)
class Shape:
    """The size of a language model: weights without embeddings, and what memory depends on."""

    encoder: float  # weights
    decoder: float = 0.0
    width: int = 768
    layers: int = 12  # of the encoder, and again of the decoder
    vocabulary: int = 32128

    @property
    def weights(self) -> float:
        """All weights, the embeddings once."""
        return self.encoder + self.decoder + self.width * self.vocabulary

    @property
    def next_token(self) -> float:
        """The weights that predict one token: those of the decoder and of the output layer."""
        return self.decoder + self.width * self.vocabulary


_T5 = {
    "small": Shape(18.9e6, 25.2e6, 512, 6),
    "base": Shape(84.9e6, 113.3e6, 768, 12),
    "large": Shape(302.0e6, 402.7e6, 1024, 24),
}
_BERT = Shape(85.1e6, 0, 768, 12, 30522)
SHAPES: dict[str, Shape] = {
    **{f"google-t5/t5-{size}": shape for size, shape in _T5.items()},
    **{f"t5-{size}": shape for size, shape in _T5.items()},
    "flan-t5-small": Shape(18.9e6, 25.2e6, 512, 8),
    "castorini/doc2query-t5-base-msmarco": _T5["base"],
    "sentence-transformers/gtr-t5-base": Shape(84.9e6, 0, 768, 12),
    "bert-base-uncased": _BERT,
    "roberta-base": Shape(85.1e6, 0, 768, 12, 50265),
    "distilbert-base-uncased": Shape(42.5e6, 0, 768, 6, 30522),
    "minilm": Shape(10.6e6, 0, 384, 6, 30522),
    "mini": Shape(5.3e6, 4.7e6, 384, 3, 30522),
    "mini-flat": Shape(5.3e6, 4.7e6, 384, 3, 30522),
    "term-vectors": Shape(10.6e6, 0, 384, 6, 30522),
    "smollm2": Shape(0, 106.2e6, 576, 30, 49152),
}
"""The models that presets name."""


def shape_of(name: str) -> Shape | None:
    """The shape of a model by its name, or of the folder of one; None where it is not known
    without a download."""
    if name in SHAPES:
        return SHAPES[name]
    folder = Path(name)
    return shape_in(folder) if (folder / "config.json").is_file() else None


def shape_in(folder: Path) -> Shape:
    """The shape of the model whose configuration is in a folder; no weights are read."""
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(folder, **DATA_ONLY)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{folder / 'config.json'}: {str(error).splitlines()[0]}; expected the configuration "
            "of a model of transformers"
        ) from None
    return configured(config)


def configured(config: Any) -> Shape:
    """The shape of the model that a configuration describes, counted without any memory."""
    import torch
    import transformers

    if config.is_encoder_decoder:
        kind: Any = transformers.AutoModelForSeq2SeqLM
    else:
        kind = transformers.AutoModel
    with torch.device("meta"):
        model = kind.from_config(config, **DATA_ONLY)
    embeddings = {id(weight) for weight in model.get_input_embeddings().parameters()}
    if model.get_output_embeddings() is not None:
        embeddings |= {id(weight) for weight in model.get_output_embeddings().parameters()}

    def weights(part: Any) -> float:
        return float(sum(p.numel() for p in part.parameters() if id(p) not in embeddings))

    decoder = weights(model.get_decoder()) if config.is_encoder_decoder else 0.0
    encoder = weights(model.get_encoder()) if config.is_encoder_decoder else weights(model)
    layers = int(getattr(config, "num_hidden_layers", 0) or getattr(config, "num_layers", 12))
    return Shape(encoder, decoder, int(config.hidden_size), layers, int(config.vocab_size))


@dataclass(frozen=True, slots=True)
class Spent:
    """What a piece of work takes: operations, bytes of the GPU's memory, bytes on the disk."""

    flops: float = 0.0
    memory: float = 0.0
    disk: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        """Both, one after the other: operations and files add up, memory is used again."""
        memory = max(self.memory, other.memory)
        return Spent(self.flops + other.flops, memory, self.disk + other.disk)

    def hours(self, tflops: float) -> float:
        """GPU hours at so many TFLOP/s."""
        return self.flops / (tflops * 1e12) / 3600


def training(shape: Shape, pairs: float, tokens: float, batch: int) -> Spent:
    """Seq2seq training on so many pairs, each with a target of so many tokens."""
    flops = 6 * pairs * (shape.encoder * QUERY_TOKENS + shape.next_token * tokens)
    activations = batch * (QUERY_TOKENS + tokens) * shape.layers * shape.width * KEPT
    scores = 3 * 4 * batch * tokens * shape.vocabulary
    memory = TRAINED_BYTES * shape.weights + activations + scores
    return Spent(flops, memory, 4 * shape.weights)


def searching(shape: Shape, queries: float, tokens: float, beam: int, batch: int = 8) -> Spent:
    """Beam search for so many queries; operations count as those of a training at its speed."""
    flops = 2 * queries * (shape.encoder * QUERY_TOKENS + beam * tokens * shape.next_token)
    states = 2 * 4 * batch * beam * tokens * shape.layers * shape.width
    memory = 4 * shape.weights + states + 4 * batch * beam * shape.vocabulary
    return Spent(flops / SEARCH_SHARE, memory)


def encoding(shape: Shape, texts: float, tokens: float, batch: int = 32) -> Spent:
    """What an encoder spends on reading each of some texts once."""
    memory = 4 * shape.weights + 4 * batch * tokens * shape.width * 8
    return Spent(2 * texts * tokens * shape.encoder, memory)


def encoder_training(shape: Shape, texts: float, tokens: float, batch: int) -> Spent:
    """Training of an encoder on so many texts, `batch` of them together."""
    activations = batch * tokens * shape.layers * shape.width * KEPT
    memory = TRAINED_BYTES * shape.weights + activations
    return Spent(6 * texts * tokens * shape.encoder, memory, 4 * shape.weights)
