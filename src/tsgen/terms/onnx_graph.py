"""Writing a BERT as an ONNX graph, from token numbers to sentence vectors.

    tokens [B, S], mask [B, S]  →  vectors [B, d] of length 1, states [B, S, d] of the tokens

The graph has one operator for each part of the encoder, as ONNX Runtime has them compiled: a layer
is two matrix products, attention over all heads, and a product, two normalisations and an
activation with their biases inside. Pooling and scaling are part of the graph:
v = h / |h| with h = Σ_s mask_s · state_s, whose direction is that of the mean.

Weights are kept in one of three formats:

- `float32`: as they are;
- `blocks`: 8-bit integers with a scale for every `BLOCK` inputs of an output. ONNX Runtime rounds
  the activations in the same way, token by token and block by block, while it multiplies, so that
  a text's vector does not depend on the texts that are read with it;
- `int8`: 8-bit integers with a scale for each output; activations have one scale for all tokens of
  all texts that are read together. It is the fastest for many texts, and the coarsest.

The table of the tokens' embeddings, half of a small encoder, is kept in half precision with the
last two.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Format = Literal["float32", "blocks", "int8"]
FORMATS: tuple[Format, ...] = ("float32", "blocks", "int8")
BLOCK = 32  # inputs that share a scale in the format `blocks`
MIDDLE = 128  # what stands for 0 in it
OPSET, IR_VERSION = 17, 8  # of ONNX: known to every runtime that has the operators
CONTRIBUTED = "com.microsoft"  # the domain of the operators that only ONNX Runtime has
INT8_COMPUTE = 4  # the `accuracy_level` at which ONNX Runtime multiplies integers
ACTIVATIONS = {"gelu": "BiasGelu", "gelu_new": "FastGelu", "gelu_pytorch_tanh": "FastGelu"}

Array = NDArray[Any]


def can_be_written(encoder: Any) -> bool:
    """Whether a model of transformers is a BERT whose every part the graph has."""
    config = encoder.config
    return (
        config.model_type == "bert"
        and getattr(config, "position_embedding_type", "absolute") == "absolute"
        and not config.is_decoder
        and config.hidden_act in ACTIVATIONS
        and hasattr(encoder, "embeddings")
    )


def bert_graph(encoder: Any, form: Format) -> bytes:
    """The graph of an encoder that `can_be_written`, as the bytes of an ONNX file."""
    state = {name: value.detach().cpu().float().numpy() for name, value in _weights(encoder)}
    writer = _Writer(state, form)
    config = encoder.config
    hidden = _embeddings(writer, config)
    for layer in range(config.num_hidden_layers):
        hidden = _layer(writer, f"encoder.layer.{layer}.", hidden, config)
    hidden = writer.add("Identity", [hidden], named="states")
    _pooling(writer, hidden)
    return writer.model()


def _weights(encoder: Any) -> Any:
    return encoder.state_dict().items()


def _embeddings(writer: "_Writer", config: Any) -> str:
    """The normalised sum of what token, place and segment 0 are embedded as: [B, S, d]."""
    table = writer.state["embeddings.word_embeddings.weight"]
    if writer.form == "float32":
        words = writer.add("Gather", [writer.constant("words", table), "tokens"])
    else:
        half = writer.constant("words", table.astype(np.float16))
        words = writer.add("Cast", [writer.add("Gather", [half, "tokens"])], to=1)
    places = writer.state["embeddings.position_embeddings.weight"]
    places = places + writer.state["embeddings.token_type_embeddings.weight"][:1]
    first, last, axis = (
        writer.constant(name, np.array([number], np.int64))
        for name, number in (("zero", 0), ("two", 2), ("one", 1))
    )
    length = writer.add("Slice", [writer.add("Shape", ["tokens"]), axis, last])
    own = writer.add("Slice", [writer.constant("places", places), first, length, first])
    total = writer.add("Add", [words, own])
    norm = [writer.weight(f"embeddings.LayerNorm.{part}") for part in ("weight", "bias")]
    return str(writer.add("LayerNormalization", [total, *norm], epsilon=config.layer_norm_eps))


def _layer(writer: "_Writer", prefix: str, hidden: str, config: Any) -> str:
    """One layer: attention and feed-forward, each added to its input and normalised."""
    width, heads = config.hidden_size, config.num_attention_heads
    names = [f"{prefix}attention.self.{part}." for part in ("query", "key", "value")]
    weights = np.concatenate([writer.state[f"{name}weight"] for name in names])  # [3d, d]
    biases = np.concatenate([writer.state[f"{name}bias"] for name in names])
    projected = writer.product(f"{prefix}attention.self", hidden, weights)
    sizes = writer.constant("thirds", np.array([width] * 3, np.int64))
    parts = writer.add("Split", [projected, sizes], outputs=3, axis=2)
    bias = writer.constant(f"{prefix}attention.self.bias", biases)
    context = writer.add(
        "MultiHeadAttention", [*parts, bias, "mask"], domain=CONTRIBUTED, num_heads=heads
    )
    eps = config.layer_norm_eps
    hidden = _sublayer(writer, f"{prefix}attention.output.", context, hidden, eps)
    wide = writer.product(
        f"{prefix}intermediate.dense",
        hidden,
        writer.state[f"{prefix}intermediate.dense.weight"],
    )
    bias = writer.weight(f"{prefix}intermediate.dense.bias")
    wide = writer.add(ACTIVATIONS[config.hidden_act], [wide, bias], domain=CONTRIBUTED)
    return _sublayer(writer, f"{prefix}output.", wide, hidden, eps)


def _sublayer(writer: "_Writer", prefix: str, inner: str, hidden: str, eps: float) -> str:
    """The end of a part of a layer: LayerNorm(hidden + dense(inner))."""
    product = writer.product(f"{prefix}dense", inner, writer.state[f"{prefix}dense.weight"])
    names = ("LayerNorm.weight", "LayerNorm.bias", "dense.bias")
    rest = [writer.weight(prefix + name) for name in names]
    inputs = [product, hidden, *rest]
    return str(writer.add("SkipLayerNormalization", inputs, domain=CONTRIBUTED, epsilon=eps))


def _pooling(writer: "_Writer", hidden: str) -> None:
    """The sum of the states of a text's tokens, scaled to length 1."""
    axis = writer.constant("one", np.array([1], np.int64))
    mask = writer.add("Cast", ["mask"], to=1)
    row = writer.add("Unsqueeze", [mask, axis])  # [B, 1, S]
    total = writer.add("Squeeze", [writer.add("MatMul", [row, hidden]), axis])
    writer.add("LpNormalization", [total], named="vectors", axis=-1, p=2)


class _Writer:
    """Collects the nodes and weights of a graph."""

    def __init__(self, state: Mapping[str, Array], form: Format) -> None:
        import onnx

        self.state, self.form, self._onnx = state, form, onnx
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}

    def add(
        self,
        operator: str,
        inputs: list[str],
        *,
        outputs: int = 1,
        named: str = "",
        domain: str = "",
        **attributes: Any,
    ) -> Any:
        """Append a node; the name of its output, or a list of these if it has several."""
        names = [named or f"{operator}-{len(self._nodes)}-{i}" for i in range(outputs)]
        node = self._onnx.helper.make_node(operator, inputs, names, domain=domain, **attributes)
        self._nodes.append(node)
        return names if outputs > 1 else names[0]

    def constant(self, name: str, values: Array) -> str:
        """An array of the graph; the same name stands for the same array."""
        if name not in self._constants:
            array = self._onnx.numpy_helper.from_array(np.ascontiguousarray(values), name)
            self._constants[name] = array
        return name

    def weight(self, name: str) -> str:
        """One of the encoder's weights, as it is."""
        return self.constant(name, self.state[name])

    def product(self, name: str, inner: str, weight: Array) -> str:
        """The product [B, S, n] of states [B, S, k] with a weight [n, k], in the graph's format."""
        if self.form == "float32":
            return str(self.add("MatMul", [inner, self.constant(f"{name}.weight", weight.T)]))
        if self.form == "blocks":
            return self._product_of_blocks(name, inner, weight)
        scales = np.maximum(np.abs(weight).max(axis=1), 1e-12) / 127
        values = np.rint(weight / scales[:, None]).astype(np.int8)
        parts = self.constant(f"{name}.weight", values.T), self.constant(f"{name}.scales", scales)
        return str(self.add("DynamicQuantizeMatMul", [inner, *parts], domain=CONTRIBUTED))

    def _product_of_blocks(self, name: str, inner: str, weight: Array) -> str:
        values, scales = blocks_of(weight)
        parts = self.constant(f"{name}.weight", values), self.constant(f"{name}.scales", scales)
        made = self.add(
            "MatMulNBits",
            [inner, *parts],
            domain=CONTRIBUTED,
            N=weight.shape[0],
            K=weight.shape[1],
            bits=8,
            block_size=BLOCK,
            accuracy_level=INT8_COMPUTE,
        )
        return str(made)

    def model(self) -> bytes:
        """The finished graph, as the bytes of an ONNX file."""
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        inputs = [
            helper.make_tensor_value_info(name, kinds.INT32, ["texts", "tokens"])
            for name in ("tokens", "mask")
        ]
        outputs = [
            helper.make_tensor_value_info("vectors", kinds.FLOAT, ["texts", "width"]),
            helper.make_tensor_value_info("states", kinds.FLOAT, ["texts", "tokens", "width"]),
        ]
        constants = list(self._constants.values())
        graph = helper.make_graph(self._nodes, "encoder", inputs, outputs, constants)
        domains = helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIBUTED, 1)
        made = helper.make_model(graph, opset_imports=domains, ir_version=IR_VERSION)
        return bytes(made.SerializeToString())


def blocks_of(weight: Array) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """A weight [n, k] in the format `blocks`: integers [n, blocks, BLOCK] around `MIDDLE`, and
    their scales [n, blocks]; the last block of a row is filled up with zeros."""
    rows, inputs = weight.shape
    blocks = -(-inputs // BLOCK)
    padded = np.zeros((rows, blocks * BLOCK), np.float32)
    padded[:, :inputs] = weight
    parts = padded.reshape(rows, blocks, BLOCK)
    scales = np.maximum(np.abs(parts).max(axis=2), 1e-12) / (MIDDLE - 1)
    values = np.rint(parts / scales[:, :, None]) + MIDDLE
    return values.astype(np.uint8), scales.astype(np.float32)
