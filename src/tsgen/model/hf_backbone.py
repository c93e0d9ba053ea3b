"""What all transformers models have in common behind the `Backbone` protocol."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from tsgen.artifact import write_beside
from tsgen.constrain.constraint import Int32, Ragged
from tsgen.model.hf_cache import Reading
from tsgen.model.hf_parts import Parts, same_scores, unsupported
from tsgen.model.symbols import Symbols
from tsgen.model.vocabulary import shared, word_pieces

WORDS_FILE = "words.safetensors"


class HFBackbone(nn.Module):
    """A model of transformers, its tokenizer, and the symbols it writes terms with.

    Subclasses say how queries are read and how decoding goes on from there.
    """

    def __init__(self, model: Any, tokenizer: Any, query_tokens: int, parts: Parts) -> None:
        super().__init__()
        self.model, self.tokenizer, self.query_tokens = model.eval(), tokenizer, query_tokens
        self._parts, self._finish = parts, parts.finishes[0]
        self.symbols = Symbols(parts)

    def one_symbol_a_term(self, terms: Sequence[str]) -> None:
        """Write terms as one symbol each, instead of the tokenizer's pieces."""
        self._write(word_pieces(self.tokenizer, terms))

    def write_free_symbols(self, count: int) -> None:
        """Write so many symbols with vectors of their own, instead of the tokenizer's pieces."""
        self._write(count)

    @property
    def encoder(self) -> Any:
        """The part that reads queries; it holds the input embeddings."""
        return self._parts.encoder

    @property
    def spelling(self) -> str:
        """`word` or `subword`."""
        return "subword" if self.symbols.outputs is None else "word"

    @property
    def output_size(self) -> int:
        """The number of the tokenizer's pieces, or of terms."""
        return self.symbols.size

    def step(
        self, cache: Any, parents: Tensor, tokens: Tensor, lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Append `tokens` [R] to `parents` [R]: the new nodes [R] and hidden states [R, d]."""
        raise NotImplementedError

    def keep(self, cache: Reading, nodes: Tensor) -> Tensor:
        """Forget everything but the paths of `nodes` [R]; returns their new numbers [R]."""
        return cache.tree.keep(nodes)

    @torch.no_grad()
    def logits(self, hidden: Tensor, tokens: Tensor | None = None) -> Tensor:
        """Scores [R, V] over all output symbols, or [R, len(tokens)] over some of them."""
        return self.symbols.write(hidden, tokens)

    def with_symbols(self, kept: Int32, new: Ragged) -> Self:
        """The same model, its weights shared, with other terms as its symbols (`word` spelling):
        symbol i is this one's symbol kept[i] or, where that is −1, the next of `new` by pieces."""
        other = shared(self)
        other.symbols = self.symbols.with_symbols(kept, new)
        return other

    def save(self, folder: Path) -> None:
        """Write model and tokenizer as transformers does, and the tables of other symbols."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        if self.symbols.outputs is not None:
            with write_beside(folder / WORDS_FILE) as beside:
                save_file(self.symbols.state_dict(), beside)

    def restore_words(self, folder: Path) -> None:
        """Read back the tables that `save` wrote, if it wrote any."""
        if (folder / WORDS_FILE).is_file():
            saved = load_file(folder / WORDS_FILE)
            free = saved.get("outputs.weight")
            if free is not None:
                self._write(len(free))
            else:
                pieces = (saved[f"outputs.{name}"].numpy() for name in ("_offsets", "_values"))
                self._write(Ragged(*pieces))
            self.symbols.load_state_dict(saved)

    @property
    def _device(self) -> torch.device:
        return self._parts.output.weight.device

    def _write(self, pieces: Ragged | int) -> None:
        bias = self._parts.bias()
        if bias is not None:
            bias.requires_grad_(False)  # that of pieces: nothing would ever train it
        self.symbols = Symbols(self._parts, pieces).to(self._device).eval()

    @torch.no_grad()
    def _choose_finish(
        self, start: Callable[[], tuple[Any, Tensor, Tensor]], path: Tensor, expected: Tensor
    ) -> None:
        """Take the step before the output layer that gives the model's own scores.

        A family that is read wrongly would rank wrongly without a sign. So ragged steps along
        `path` [2] are compared with the model's own forward pass [3, V], and a model that matches
        no way, or that cannot step at all, is refused.
        """
        for finish in self._parts.finishes:
            self._finish = finish
            try:
                cache, root, first = start()
                node, second = self.step(cache, root, path[:1])
                _, both = self.step(cache, torch.cat((root, node)), path)  # of depths 1 and 2
            except (AttributeError, IndexError, RuntimeError, TypeError, ValueError):
                break  # foreign layers fail in ways of their own
            found = self.logits(torch.cat((first, second, both[1:])))
            if same_scores(found, expected) and same_scores(both[:1], second):
                return
        raise unsupported(self.model)
