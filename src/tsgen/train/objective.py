"""What training makes small: the loss of some queries and the tokens that answer them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tsgen.constrain.constraint import Bool, Int, Int32, Ragged, spans
from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.decode.ranking import FLATTENED, overlaps
from tsgen.docids.term_set import TermSets
from tsgen.errors import ConfigError
from tsgen.model.generator import Generator, TrainableBackbone
from tsgen.settings import TrainConfig
from tsgen.train.hard_negatives import Mistaken

# The two losses, over scores that predict every token of a target from the tokens before it.
#
# Scores [B, K, V] may be of the first K of a target's T tokens only.

IGNORED = -100  # no column: a place of padding


def seq2seq_loss(scores: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """−log p of the targets [B, T], as columns of the scores [B, K, V]: the mean over all tokens
    where `mask` [B, T]."""
    # Rows of scores, one after the other: a softmax across a transposed axis is five times slower.
    right = targets.masked_fill(~mask, IGNORED)[:, : scores.shape[1]].flatten()  # [B · K]
    return torch.nn.functional.cross_entropy(scores.flatten(0, 1), right, ignore_index=IGNORED)


def any_remaining_loss(scores: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """−log Σ_{r ∈ T(D) \\ X} p(r | X; Q): every term of the set that is not yet written is right.

    One token is one term: the terms that remain at a target's place t are those at t and after it.
    """
    first, length = scores.shape[1], targets.shape[1]
    right = scores.gather(2, targets[:, None, :].expand(-1, first, -1))  # [B, K, T]
    remains = torch.ones(first, length, dtype=torch.bool, device=scores.device).triu()
    right = right.masked_fill(~(remains & mask[:, None, :]), -torch.inf)
    mask = mask[:, :first]
    losses = torch.logsumexp(scores, -1)[mask] - torch.logsumexp(right[mask], -1)
    return losses.mean()


LOSSES = {"seq2seq": seq2seq_loss, "any_remaining": any_remaining_loss}


# Documents that compete with those of a batch, and what is valid after each prefix among them.
#
# In a search p is normalised over what is valid, the terms of all documents that have the terms so
# far. Of a large corpus a training step knows a sample: some documents at random, which compete for
# the first term, some that share a target's first terms, which compete for the next, and some that
# BM25 mistakes for the answer, which share the query's words.


@dataclass(frozen=True, slots=True)
class Competitors:
    """Draws documents of a corpus: so many at random, and so many near each target."""

    sets: TermSets
    others: int
    near: int

    def draw(self, targets: Int, hard: Int, rng: np.random.Generator) -> Int:
        """Documents for a batch with `targets` [B, T], ascending; `hard` [B, H] are among them."""
        documents = [rng.integers(len(self.sets), size=self.others), hard.ravel()]
        documents += [self._near(target, rng) for target in targets] if self.near else []
        return np.unique(np.concatenate(documents))

    def terms(self, documents: Int) -> Ragged:
        """The term sets of some documents."""
        every = Ragged(self.sets.doc_offsets.astype(np.int64), self.sets.doc_terms)
        return every.take(documents)

    def _near(self, target: Int, rng: np.random.Generator) -> Int:
        """Documents with the target's first term, half of them with its second, too, if any are."""
        first = self.sets.postings(int(target[0]))
        both = np.intersect1d(first, self.sets.postings(int(target[:2][-1])), assume_unique=True)
        half = self.near // 2
        drawn = rng.choice(first, self.near - half), rng.choice(both if len(both) else first, half)
        return np.concatenate(drawn).astype(np.int64)


def valid_after(columns: Int, mask: Bool, competitors: Ragged, symbols: int, first: int) -> Bool:
    """[B, K, S] which of the symbols are valid after the first k terms of each target: the terms of
    a target or competitor that has those k, without them.

    `columns` [B, T], where `mask`, are the targets' terms as columns 0..S−1 of the scores; the
    values of `competitors` are columns, too. All terms of a target are in it, K ≤ T count.
    """
    has = _incidence(columns, mask, competitors, symbols)  # [P, S]
    alive = np.ones((len(columns), first, len(has)), dtype=np.float32)  # [B, K, P]
    for k in range(1, first):
        alive[:, k] = alive[:, k - 1] * has.T[columns[:, k - 1]]
    counts = torch.from_numpy(alive.reshape(-1, len(has))) @ torch.from_numpy(has)
    valid = counts.view(len(columns), first, symbols).numpy() > 0
    valid[:, 0] = True
    for k in range(1, first):
        np.put_along_axis(valid[:, k:], columns[:, None, k - 1 : k], False, axis=2)
    return valid


def _incidence(columns: Int, mask: Bool, competitors: Ragged, symbols: int) -> NDArray[np.float32]:
    """[P, S] which document, first the targets' own, has which symbol."""
    own = len(columns)
    has = np.zeros((own + len(competitors.offsets) - 1, symbols), dtype=np.float32)
    rows, _ = np.nonzero(mask)
    has[rows, columns[mask]] = 1
    lengths = np.diff(competitors.offsets)
    has[own + np.repeat(np.arange(len(lengths)), lengths), competitors.values] = 1
    return has


# A loss that orders documents, beside that of their terms.
#
# What is found is put in order by how much a document means what the query is after (see
# `decode.rescore`). That can be learned as such: among the documents D' of a batch and some others
#
#     L = −Σ_D τ(D) log ( m(Q, D)^λ / Σ_{D'} m(Q, D')^λ ),
#
#     m(Q, D) = Σ_{t ∈ T(D)} ŵ_D(t) p(t | Q)^{1/u},
#
# each m^λ times e^{μ o(Q, D)} where the query's own words count, too (see `decode.overlap`). τ is 1
# for the document that answers the query; or, in part, what a teacher says of it and of some others
# (see `mistaken`). It takes no more than the first step's scores, which the loss of the terms needs
# anyway.


class Ranking:
    """The loss of a batch."""

    def __init__(
        self,
        constraint: PostingsConstraint,
        weight: float,
        distil: float = 0.0,
        overlap: float = 0.0,
    ) -> None:
        """`weight` is λ, `distil` the teacher's part in τ, `overlap` is μ."""
        self._constraint, self._weight = constraint, weight
        self._distil, self._overlap = distil, overlap

    def __call__(
        self,
        scores: Tensor,
        columns: Int,
        known: Int,
        others: Int,
        taught: NDArray[np.float32] | None = None,
        queries: Sequence[str] = (),
    ) -> Tensor:
        """The loss of queries with `scores` [B, S] in the first step, to be answered by the first
        of the documents `known` [B, 1 + H] rather than by `others`, or as `taught` [B, 1 + H] by
        all that are known; `columns` [V] are those of the scores. The words of `queries` [B] count
        where they are to."""
        documents = np.unique(np.concatenate((known.ravel(), others)))
        shares = torch.from_numpy(self._shares(documents, columns, scores.shape[1]))
        flat = torch.exp(torch.log_softmax(scores, dim=-1) / FLATTENED)
        meant = torch.log(flat @ shares.to(scores.device).T)  # [B, D]
        ranked = self._weight * meant
        if self._overlap:
            same = torch.from_numpy(overlaps(self._constraint, queries)[:, documents])
            ranked = ranked + self._overlap * same.to(scores.device)
        right = self._right(np.searchsorted(documents, known), len(documents), taught)
        return functional.cross_entropy(ranked, right.to(scores.device))

    def _right(self, places: Int, documents: int, taught: NDArray[np.float32] | None) -> Tensor:
        """τ [B, D] of all documents, those that are known at their places [B, 1 + H]; or just the
        places of the answers [B]."""
        if taught is None:
            return torch.from_numpy(places[:, 0])
        shares = self._distil * taught  # [B, 1 + H]
        shares[:, 0] += 1 - self._distil
        right = torch.zeros(len(places), documents)
        return right.scatter_add_(1, torch.from_numpy(places), torch.from_numpy(shares))

    def _shares(self, documents: Int, columns: Int, symbols: int) -> NDArray[np.float32]:
        """[D, S] ŵ_D(t) of each document, at the columns of its terms."""
        sets = self._constraint.term_sets
        starts, lengths = sets.offsets[documents], np.diff(sets.offsets)[documents]
        entries = spans(np.arange(len(sets.values), dtype=np.int32), starts, lengths).values
        owner = np.repeat(np.arange(len(documents)), lengths)
        tokens = self._constraint.spelling.sequence(sets.values[entries])
        shares = np.zeros((len(documents), symbols), dtype=np.float32)
        shares[owner, columns[tokens]] = self._constraint.shares[entries]
        return shares


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
