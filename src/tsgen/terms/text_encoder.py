"""Turning texts into sentence vectors without torch: ONNX Runtime and a tokenizer of Rust.

An `OnnxEncoder` reads a graph that `onnx_graph` wrote, with the encoder's tokenizer beside it. It
takes a twentieth of a second to open and a fraction of the time that torch takes to read a text;
what torch computes (`sentence_vectors`) is its oracle. Neither torch nor transformers is imported
to use it.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from tsgen.artifact import write_beside
from tsgen.errors import ArtifactError
from tsgen.terms.sentences import TextVectors, joined, sentence_vectors_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from tsgen.terms.onnx_graph import Format

GRAPH, TOKENIZER = "encoder.onnx", "tokenizer.json"
TOGETHER = 4096  # tokens, padding among them, that are read in one batch
MOST = 64  # texts in one batch

Float32 = NDArray[np.float32]
Watch = Callable[[int], None]
Places = Sequence[tuple[int, int]]


class OnnxEncoder:
    """Texts → their vectors, by a graph of ONNX Runtime; for any number of threads."""

    def __init__(self, graph: bytes | Path, tokenizer: str, source: str = "encoder") -> None:
        """Wrap a graph, in memory or in a file, and a tokenizer as JSON; both are opened when the
        first text is read."""
        self._graph, self._tokenizer, self._source = graph, tokenizer, source
        self._tokenizers: dict[int, Tokenizer] = {}
        self._opened: Any = None  # the session
        self._opening = Lock()

    @classmethod
    def open(cls, folder: Path) -> Self | None:
        """What `save` wrote into a folder; None if nothing was written there."""
        if not (folder / GRAPH).is_file():
            return None
        try:
            tokenizer = (folder / TOKENIZER).read_text(encoding="utf-8")
        except OSError as error:
            raise ArtifactError(
                f"{folder / TOKENIZER}: {error.strerror}; expected the tokenizer of the encoder "
                f"beside {GRAPH}. Make the engine again."
            ) from None
        return cls(folder / GRAPH, tokenizer, f"{folder}")

    @classmethod
    def of(cls, encoder: Any, tokenizer: Any, form: "Format") -> Self | None:
        """The same encoder as a BERT of transformers with its fast tokenizer; None if it is not one
        that can be written as a graph."""
        from tsgen.terms.onnx_graph import bert_graph, can_be_written

        if not can_be_written(encoder) or not tokenizer.is_fast:
            return None
        return cls(bert_graph(encoder, form), tokenizer.backend_tokenizer.to_str())

    def save(self, folder: Path) -> None:
        """Write graph and tokenizer into an existing folder."""
        graph = self._graph if isinstance(self._graph, bytes) else self._graph.read_bytes()
        with write_beside(folder / GRAPH) as beside:
            beside.write_bytes(graph)
        with write_beside(folder / TOKENIZER) as beside:
            beside.write_text(self._tokenizer, encoding="utf-8")

    @cached_property
    def width(self) -> int:
        """d, the length of a vector."""
        return int(self._session.get_outputs()[0].shape[1])

    @cached_property
    def whole_words(self) -> frozenset[str]:
        """The words that the tokenizer has as single pieces."""
        pieces = (piece.strip("▁Ġ") for piece in self._tokenizer_for(0).get_vocab())
        return frozenset(piece for piece in pieces if piece.isalpha())

    def vectors(self, texts: Sequence[str], window: int, watch: Watch = lambda _: None) -> Float32:
        """The vectors [T, d] of texts, read in batches of about one length.

        Args:
            texts: T texts.
            window: The number of tokens of each text that are read; the rest of it is not.
            watch: Called with the number of texts read so far.
        """
        vectors = np.zeros((len(texts), self.width), np.float32)
        for batch, tokens, _ in self._in_batches(texts, window, watch):
            vectors[batch] = self._read(tokens, "vectors")[0]
        return vectors

    def text_vectors(
        self, texts: Sequence[str], window: int, watch: Watch = lambda _: None
    ) -> TextVectors:
        """The vectors of texts and of their sentences; the arguments are those of `vectors`."""
        vectors = np.zeros((len(texts), self.width), np.float32)
        sentences = [vectors[:0]] * len(texts)
        for batch, tokens, places in self._in_batches(texts, window, watch):
            vectors[batch], states = self._read(tokens, "vectors", "states")
            for i, own, read in zip(batch, places, states, strict=True):
                spans = np.asarray(own, np.int64).reshape(-1, 2)
                sentences[i] = sentence_vectors_of(texts[i], spans, read[: len(own)])
        return joined(vectors, sentences)

    def _in_batches(
        self, texts: Sequence[str], window: int, watch: Watch
    ) -> Iterator[tuple[list[int], list[list[int]], list[Places]]]:
        """Texts of about one length together: their numbers, tokens, and the tokens' characters."""
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for start in range(0, len(order), MOST):
            watch(start)
            rows = order[start : start + MOST]
            read = self._tokenizer_for(window).encode_batch([texts[i] for i in rows])
            found = dict(zip(rows, read, strict=True))
            lengths = {i: len(one.ids) for i, one in found.items()}
            for batch in _batches(sorted(rows, key=lengths.__getitem__), lengths):
                own = [found[i] for i in batch]
                yield batch, [one.ids for one in own], [one.offsets for one in own]

    def longer_than(self, texts: Sequence[str], window: int) -> NDArray[np.bool_]:
        """Whether each text [T] has more tokens than a window."""
        found = self._tokenizer_for(window + 1).encode_batch(list(texts))
        return np.array([len(one.ids) > window for one in found], np.bool_)

    def _read(self, tokens: Sequence[Sequence[int]], *outputs: str) -> list[Float32]:
        """What the graph makes of texts that are read together."""
        lengths = np.array([len(row) for row in tokens])
        mask = (np.arange(lengths.max(initial=1)) < lengths[:, None]).astype(np.int32)
        numbers = np.zeros_like(mask)
        numbers[mask > 0] = [token for row in tokens for token in row]
        found: list[Float32] = self._session.run(outputs, {"tokens": numbers, "mask": mask})
        return found

    def _tokenizer_for(self, window: int) -> "Tokenizer":
        """The tokenizer that cuts texts at a window; 0: that cuts none. Each is set up once, since
        a tokenizer must not be changed while another thread uses it."""
        with self._opening:
            if window not in self._tokenizers:
                from tokenizers import Tokenizer

                found = Tokenizer.from_str(self._tokenizer)
                found.no_padding()
                found.no_truncation()
                if window:
                    found.enable_truncation(window)
                self._tokenizers[window] = found
            return self._tokenizers[window]

    @property
    def _session(self) -> Any:
        if self._opened is None:
            with self._opening:
                if self._opened is None:
                    self._opened = _session(self._graph, self._source)
        return self._opened


def _batches(rows: Sequence[int], lengths: Mapping[int, int]) -> list[list[int]]:
    """Rows of ascending length in batches of at most `TOGETHER` tokens."""
    batches: list[list[int]] = []
    for row in rows:
        if not batches or (len(batches[-1]) + 1) * lengths[row] > TOGETHER:
            batches.append([])
        batches[-1].append(row)
    return batches


def threads() -> int:
    """How many cores to compute on: OMP_NUM_THREADS, or all that this process may use."""
    named = os.environ.get("OMP_NUM_THREADS", "")
    return int(named) if named.isdecimal() and int(named) else len(os.sched_getaffinity(0))


def _session(graph: bytes | Path, source: str) -> Any:
    """Open a graph for this machine's cores; threads that wait for work sleep."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads(), 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    given = graph if isinstance(graph, bytes) else str(graph)
    try:
        return onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the classes of its errors are not public
        raise ArtifactError(
            f"{source}: ONNX Runtime cannot open the encoder ({error}). Make the engine again, or "
            "install the version of onnxruntime that it was made with."
        ) from None
