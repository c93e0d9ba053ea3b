"""What training makes small: the loss of some queries and the tokens that answer them."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from tsgen.constrain.constraint import Bool, Int, Int32, Ragged
from tsgen.errors import ConfigError
from tsgen.train.competitors import Competitors, valid_after
from tsgen.train.config import TrainConfig
from tsgen.train.generator import Generator, TrainableBackbone
from tsgen.train.loss import LOSSES, seq2seq_loss
from tsgen.train.mistaken import Mistaken
from tsgen.train.ranking import Ranking


class TokenObjective:
    """−log p of the tokens of a batch, over some of the model's outputs or all of them."""

    def __init__(self, backbone: TrainableBackbone, symbols: Int32 | None) -> None:
        """`symbols` are the tokens that p is normalised over; None: all."""
        self._backbone = backbone
        self._loss: Callable[..., torch.Tensor] = seq2seq_loss
        self._columns = np.arange(backbone.output_size)  # token → column of the scores
        self._symbols: Int | None = None
        if symbols is not None:
            self._symbols = self._numbered(symbols.astype(np.int64))

    def __call__(
        self,
        queries: Sequence[str],
        tokens: Int,
        mask: Bool,
        rows: Int,  # noqa: ARG002 - others look their documents up, and draw some
        rng: np.random.Generator,  # noqa: ARG002
    ) -> torch.Tensor:
        """The loss of queries and their targets: `tokens` [B, T], which are no padding where
        `mask` [B, T], those of the pairs `rows` [B]."""
        device = next(self._backbone.parameters()).device
        targets = torch.from_numpy(tokens).to(device)
        over = None if self._symbols is None else torch.from_numpy(self._symbols).to(device)
        scores = self._backbone(queries, targets, over)  # [B, T, symbols]
        columns = torch.from_numpy(self._columns[tokens]).to(device)
        return self._loss(scores, columns, torch.from_numpy(mask).to(device))

    def _numbered(self, symbols: Int) -> Int:
        """These tokens, after numbering them as columns."""
        self._columns[symbols] = np.arange(len(symbols))
        return symbols


class Objective(TokenObjective):
    """The loss of a batch of term sets, over the tokens that p is normalised over."""

    def __init__(
        self,
        generator: Generator,
        config: TrainConfig,
        documents: Int,
        hard: Mistaken | None = None,
    ) -> None:
        """`documents` [P] are those of all pairs, `hard` others that are like answers."""
        spelling = generator.constraint.spelling
        _check(config, one_token_a_term=len(spelling.tokens) == len(spelling))
        over_all = config.softmax != "docid" or config.other_documents
        super().__init__(generator.backbone, None if over_all else generator.constraint.alphabet)
        self._loss, self._documents = LOSSES[config.loss], documents
        self._hard = hard or Mistaken(np.empty((len(documents), 0), np.int64))
        self._spelling, self._valid = spelling, config.softmax == "valid"
        self._competitors: Competitors | None = None
        if config.other_documents:
            others = min(config.other_documents, len(generator.sets))
            self._competitors = Competitors(generator.sets, others, config.near_documents)
        self._ranking: Ranking | None = None
        if config.ranking:
            weights = config.ranking, config.distil, config.overlap
            self._ranking = Ranking(generator.constraint, *weights)
        self._first = config.first_tokens or None

    def __call__(
        self, queries: Sequence[str], tokens: Int, mask: Bool, rows: Int, rng: np.random.Generator
    ) -> torch.Tensor:
        """The loss of queries and their targets: `tokens` [B, T], which are no padding where
        `mask` [B, T], those of the pairs `rows` [B]."""
        others, drawn = None, None
        if self._competitors is not None:
            others = self._competitors.draw(tokens, self._hard.documents[rows], rng)
            drawn = self._competitors.terms(others)
        symbols = self._symbols if drawn is None else self._numbered(self._tokens(tokens, drawn))
        device = next(self._backbone.parameters()).device
        first = torch.from_numpy(tokens[:, : self._first]).to(device)
        over = None if symbols is None else torch.from_numpy(symbols).to(device)
        scores = self._backbone(queries, first, over)  # [B, K, symbols]
        columns = self._columns[tokens]
        ranked = self._rank(scores[:, 0], queries, rows, others)
        if self._valid and drawn is not None:
            known = Ragged(drawn.offsets, self._columns[drawn.values].astype(np.int32))
            valid = valid_after(columns, mask, known, *scores.shape[:0:-1])
            scores = scores.masked_fill(~torch.from_numpy(valid).to(device), -torch.inf)
        places = torch.from_numpy(columns).to(device)
        return ranked + self._loss(scores, places, torch.from_numpy(mask).to(device))

    def _rank(
        self, scores: torch.Tensor, queries: Sequence[str], rows: Int, others: Int | None
    ) -> torch.Tensor:
        """The loss of the documents' ranking by the scores [B, symbols] of the first step."""
        if self._ranking is None or others is None:
            return scores.new_zeros(())
        taught = None if self._hard.taught is None else self._hard.taught[rows]
        known = np.column_stack((self._documents[rows], self._hard.documents[rows]))
        return self._ranking(scores, self._columns, known, others, taught, queries)

    def _tokens(self, tokens: Int, drawn: Ragged) -> Int:
        """Those of the batch and of some other documents."""
        others = self._spelling.sequence(np.unique(drawn.values))
        return np.unique(np.concatenate((tokens.ravel(), others)))


def _check(config: TrainConfig, one_token_a_term: bool) -> None:
    """Refuse settings that do not go with the spelling."""
    by_term = {
        "train.loss = 'any_remaining'": (config.loss == "any_remaining", "train.loss=seq2seq"),
        "train.softmax = 'valid'": (config.softmax == "valid", "train.softmax=docid"),
        f"train.ranking = {config.ranking}": (config.ranking > 0, "train.ranking=0"),
    }
    for what, (wanted, instead) in by_term.items():
        if wanted and not one_token_a_term:
            raise ConfigError(
                f"{what} needs one token a term, but terms are spelled by subwords; set "
                f"model.spelling=word or {instead}."
            )
