"""Sentence vectors: what a text means, as one vector of length 1.

    v = h / |h|,   h = (1/S) Σ_s Encoder(x_1 … x_S)[s],

the mean of the encoder's states of the text's S tokens, as sentence-transformers compute it for
all-MiniLM-L6-v2. The cosine of two texts is the product of their vectors.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tsgen.terms.sentences import TextVectors, joined, sentence_vectors_of

BATCH = 64  # texts that are read together


def read_texts(encoder: Any, tokenizer: Any, texts: Sequence[str], window: int) -> Tensor:
    """The vectors [B, d] of a batch of texts that are read together, with gradients.

    Args:
        encoder: A BERT-like model of transformers.
        tokenizer: The encoder's fast tokenizer.
        texts: B texts.
        window: The number of tokens of each text that are read.
    """
    inputs = _tokens(encoder, tokenizer, texts, window)
    return _pooled(encoder(**inputs).last_hidden_state, inputs["attention_mask"])


def _tokens(encoder: Any, tokenizer: Any, texts: Sequence[str], window: int, **options: Any) -> Any:
    options |= {"padding": True, "truncation": True, "max_length": window, "return_tensors": "pt"}
    return tokenizer(list(texts), **options).to(next(encoder.parameters()).device)


def _pooled(states: Tensor, mask: Tensor) -> Tensor:
    """The mean of the states [B, S, d] over the tokens of each text, scaled to length 1."""
    mask = mask.unsqueeze(-1)
    return torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=-1)


@torch.inference_mode()
def text_vectors(
    encoder: Any,
    tokenizer: Any,
    texts: Sequence[str],
    window: int,
    watch: Callable[[int], None] = lambda _: None,
) -> TextVectors:
    """The vectors of texts and of their sentences, read in batches of about one length.

    Args:
        encoder: A BERT-like model of transformers.
        tokenizer: The encoder's fast tokenizer.
        texts: T texts.
        window: The number of tokens of each text that are read; the rest of it is not.
        watch: Called with the number of texts read so far.
    """
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    vectors = np.zeros((len(texts), encoder.config.hidden_size), np.float32)
    sentences = [vectors[:0]] * len(texts)
    for start in range(0, len(order), BATCH):
        watch(start)
        rows = order[start : start + BATCH]
        own = [texts[i] for i in rows]
        inputs = _tokens(encoder, tokenizer, own, window, return_offsets_mapping=True)
        places = inputs.pop("offset_mapping").cpu().numpy()
        states, mask = encoder(**inputs).last_hidden_state.float(), inputs["attention_mask"]
        vectors[rows] = _pooled(states, mask).cpu().numpy()
        for i, spans, read in zip(rows, places, states.cpu().numpy(), strict=True):
            sentences[i] = sentence_vectors_of(texts[i], spans, read)
    return joined(vectors, sentences)


def sentence_vectors(
    encoder: Any,
    tokenizer: Any,
    texts: Sequence[str],
    window: int,
    watch: Callable[[int], None] = lambda _: None,
) -> NDArray[np.float32]:
    """The vectors [T, d] of texts, without those of their sentences."""
    return text_vectors(encoder, tokenizer, texts, window, watch).whole


def longer_than(tokenizer: Any, texts: Sequence[str], window: int) -> NDArray[np.bool_]:
    """Whether each text [T] has more tokens than a window."""
    longer = np.zeros(len(texts), np.bool_)
    for start in range(0, len(texts), BATCH):
        some = list(texts[start : start + BATCH])
        rows = tokenizer(some, truncation=True, max_length=window + 1)["input_ids"]
        longer[start : start + len(rows)] = [len(row) > window for row in rows]
    return longer
