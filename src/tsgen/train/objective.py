"""The loss of a batch: that of the targets' tokens, and that of the order of documents."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tsgen.constrain.constraint import Bool, Int, Int32, Ragged, spans
from tsgen.constrain.term_sets import PostingsConstraint
from tsgen.decode.ranking import lexical_scores, scores_to_train
from tsgen.docids.term_set import TermSets
from tsgen.errors import ConfigError
from tsgen.model.backbone import Backbone
from tsgen.model.generator import Generator
from tsgen.settings import TrainConfig
from tsgen.train.examples import HardNegatives

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


# Negatives: documents that compete with those of a batch, and what is valid after each prefix.
#
# In a search p is normalised over what is valid: the terms of all documents that have the terms so
# far. A training step takes a sample of a large corpus in place of it: random negatives compete for
# the first term, similar negatives, which share a target's first terms, compete for the next ones,
# and hard negatives are what a retriever ranks high for the query.


@dataclass(frozen=True, slots=True)
class Negatives:
    """Draws documents of a corpus: `random` ones for a batch, `similar` ones for each target."""

    sets: TermSets
    random: int
    similar: int

    def draw(self, targets: Int, hard: Int, rng: np.random.Generator) -> Int:
        """[D] the negatives of a batch, ascending.

        Args:
            targets: [B, T] the terms of each target.
            hard: [B, H] hard negatives, which are among the documents drawn.
            rng: random numbers.
        """
        documents = [rng.integers(len(self.sets), size=self.random), hard.ravel()]
        documents += [self._similar(target, rng) for target in targets] if self.similar else []
        return np.unique(np.concatenate(documents))

    def terms(self, documents: Int) -> Ragged:
        """The term sets of some documents."""
        every = Ragged(self.sets.doc_offsets.astype(np.int64), self.sets.doc_terms)
        return every.take(documents)

    def _similar(self, target: Int, rng: np.random.Generator) -> Int:
        """Documents with the target's first term; half of them have its second, if any have."""
        first = self.sets.postings(int(target[0]))
        both = np.intersect1d(first, self.sets.postings(int(target[:2][-1])), assume_unique=True)
        half = self.similar // 2
        drawn = (
            rng.choice(first, self.similar - half),
            rng.choice(both if len(both) else first, half),
        )
        return np.concatenate(drawn).astype(np.int64)


def valid_after(columns: Int, mask: Bool, negatives: Ragged, symbols: int, first: int) -> Bool:
    """[B, K, S] which of S symbols are valid after the first k terms of each target, k < K.

    Valid are the terms of each target or negative that has those k terms, without these terms.

    Args:
        columns: [B, T] the terms of the targets as columns 0..S−1 of the scores; all terms of a
            target are in it.
        mask: [B, T] where `columns` is not padding.
        negatives: the terms of each negative, as columns.
        symbols: S.
        first: K ≤ T.
    """
    has = _incidence(columns, mask, negatives, symbols)  # [P, S]
    alive = np.ones((len(columns), first, len(has)), dtype=np.float32)  # [B, K, P]
    for k in range(1, first):
        alive[:, k] = alive[:, k - 1] * has.T[columns[:, k - 1]]
    counts = torch.from_numpy(alive.reshape(-1, len(has))) @ torch.from_numpy(has)
    valid = counts.view(len(columns), first, symbols).numpy() > 0
    valid[:, 0] = True
    for k in range(1, first):
        np.put_along_axis(valid[:, k:], columns[:, None, k - 1 : k], False, axis=2)
    return valid


def _incidence(columns: Int, mask: Bool, negatives: Ragged, symbols: int) -> NDArray[np.float32]:
    """[P, S] which document has which symbol: the documents of the targets, then the negatives."""
    own = len(columns)
    has = np.zeros((own + len(negatives.offsets) - 1, symbols), dtype=np.float32)
    rows, _ = np.nonzero(mask)
    has[rows, columns[mask]] = 1
    lengths = np.diff(negatives.offsets)
    has[own + np.repeat(np.arange(len(lengths)), lengths), negatives.values] = 1
    return has


# The ranking loss, which orders documents, beside the loss of their terms.
#
# A search orders documents by the score of `tsgen.decode.ranking`, whose parts beside log p(D | Q)
# need the first decoder step alone. The loss is the cross-entropy of a softmax over them,
#
#     L = −Σ_D τ(D) log (exp s(Q, D) / Σ_{D'} exp s(Q, D')),   s = `scores_to_train`,
#
# where D' are the documents of the batch and its negatives. τ(D) is 1 for the document that answers
# the query; with a teacher, τ is in part what the teacher says of it and of the hard negatives.


class RankingLoss:
    """The loss of the order of a batch's documents."""

    def __init__(
        self,
        constraint: PostingsConstraint,
        prior_weight: float,
        distil: float = 0.0,
        lexical_weight: float = 0.0,
    ) -> None:
        """`prior_weight` is λ, `lexical_weight` is μ, `distil` the share of the teacher in τ."""
        self._constraint, self._prior_weight = constraint, prior_weight
        self._distil, self._lexical_weight = distil, lexical_weight

    def __call__(
        self,
        scores: Tensor,
        columns: Int,
        known: Int,
        others: Int,
        teacher_probs: NDArray[np.float32] | None = None,
        queries: Sequence[str] = (),
    ) -> Tensor:
        """The mean loss of the queries of a batch.

        Args:
            scores: [B, S] logits of S symbols in the first decoder step.
            columns: [V] the column of each token in `scores`.
            known: [B, 1 + H] the answer of each query, then its hard negatives.
            others: [D] the other documents of the softmax.
            teacher_probs: [B, 1 + H] what the teacher says of `known`.
            queries: [B] texts; needed where the lexical part counts.
        """
        documents = np.unique(np.concatenate((known.ravel(), others)))
        shares = torch.from_numpy(self._shares(documents, columns, scores.shape[1]))
        lexical = None
        if self._lexical_weight:
            every = lexical_scores(self._constraint, queries)
            lexical = torch.from_numpy(every[:, documents]).to(scores.device)
        ranked = scores_to_train(
            torch.log_softmax(scores, dim=-1),
            shares.to(scores.device),
            lexical,
            self._prior_weight,
            self._lexical_weight,
        )
        right = self._right(np.searchsorted(documents, known), len(documents), teacher_probs)
        return functional.cross_entropy(ranked, right.to(scores.device))

    def _right(
        self, places: Int, documents: int, teacher_probs: NDArray[np.float32] | None
    ) -> Tensor:
        """τ [B, D] of all documents, of which the known ones stand at `places` [B, 1 + H]; without
        a teacher the places of the answers [B]."""
        if teacher_probs is None:
            return torch.from_numpy(places[:, 0])
        shares = self._distil * teacher_probs  # [B, 1 + H]
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


class AnyObjective(Protocol):
    """The loss of a batch of queries and targets."""

    def __call__(
        self, queries: Sequence[str], tokens: Int, mask: Bool, rows: Int, rng: np.random.Generator
    ) -> torch.Tensor:
        """The loss of queries and their targets, as `TokenObjective` describes the arguments."""
        ...


class TokenObjective:
    """−log p of the tokens of a batch, over some of the model's outputs or all of them."""

    def __init__(self, backbone: Backbone, symbols: Int32 | None) -> None:
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
        hard: HardNegatives | None = None,
    ) -> None:
        """`documents` [P] are the documents of all pairs, `hard` their hard negatives."""
        spelling = generator.constraint.spelling
        _check(config, one_token_a_term=len(spelling.tokens) == len(spelling))
        over_all = config.normalise != "docid" or config.random_negatives
        super().__init__(generator.backbone, None if over_all else generator.constraint.alphabet)
        self._loss, self._documents = LOSSES[config.loss], documents
        self._hard = hard or HardNegatives(np.empty((len(documents), 0), np.int64))
        self._spelling, self._valid = spelling, config.normalise == "valid"
        self._negatives: Negatives | None = None
        if config.random_negatives:
            count = min(config.random_negatives, len(generator.sets))
            self._negatives = Negatives(generator.sets, count, config.similar_negatives)
        self._ranking: RankingLoss | None = None
        if config.prior_weight:
            weights = config.prior_weight, config.distil, config.lexical_weight
            self._ranking = RankingLoss(generator.constraint, *weights)
        self._first = config.first_tokens or None

    def __call__(
        self, queries: Sequence[str], tokens: Int, mask: Bool, rows: Int, rng: np.random.Generator
    ) -> torch.Tensor:
        """The loss of queries and their targets: `tokens` [B, T], which are no padding where
        `mask` [B, T], those of the pairs `rows` [B]."""
        others, drawn = None, None
        if self._negatives is not None:
            others = self._negatives.draw(tokens, self._hard.documents[rows], rng)
            drawn = self._negatives.terms(others)
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
        probs = self._hard.teacher_probs
        probs = None if probs is None else probs[rows]
        known = np.column_stack((self._documents[rows], self._hard.documents[rows]))
        return self._ranking(scores, self._columns, known, others, probs, queries)

    def _tokens(self, tokens: Int, drawn: Ragged) -> Int:
        """The distinct tokens of the targets and of the negatives' terms."""
        others = self._spelling.sequence(np.unique(drawn.values))
        return np.unique(np.concatenate((tokens.ravel(), others)))


def _check(config: TrainConfig, one_token_a_term: bool) -> None:
    """Raise an error for settings that need a spelling of one token a term where it has several."""
    by_term = {
        "train.loss = 'any_remaining'": (config.loss == "any_remaining", "train.loss=seq2seq"),
        "train.normalise = 'valid'": (config.normalise == "valid", "train.normalise=docid"),
        f"train.prior_weight = {config.prior_weight}": (
            config.prior_weight > 0,
            "train.prior_weight=0",
        ),
    }
    for what, (wanted, instead) in by_term.items():
        if wanted and not one_token_a_term:
            raise ConfigError(
                f"{what} needs one token a term, but terms are spelled by subwords; set "
                f"model.spelling=word or {instead}."
            )


# The loss of a model that keeps a vector of each document: the order of all documents at once.
#
#     L = −log (exp s(Q, D) / Σ_{D'} exp s(Q, D')),   s(Q, D) = λ v(D) · v(Q) + μ o(Q, D),
#
# where D' are all documents but others that answer the same query. The documents' vectors stay as
# they are: the model learns to read queries, and what the query's own words say already, it need
# not learn. Of a long document v(D) · v(Q) is that of its nearest passage, as in a search, and only
# this one has a gradient: a query asks about one place of a document, and the mean of all passages
# would pull the query's vector away from that place.


class DocumentObjective:
    """The loss of the order of all documents, for a model with document vectors."""

    def __init__(
        self, generator: Generator, config: TrainConfig, queries: Sequence[str], documents: Int
    ) -> None:
        """Prepare the loss of pairs of a query and a document.

        Args:
            generator: The model, whose sets hold the documents' vectors.
            config: λ and μ.
            queries: [P] the query of each pair.
            documents: [P] the number of its document.
        """
        self._backbone, self._constraint = generator.backbone, generator.constraint
        self._config, self._documents = config, documents
        vectors = generator.constraint.document_vectors
        self._vectors = torch.from_numpy(generator.constraint.vector_values)  # [R, d]
        self._owner = torch.from_numpy(vectors.owners())  # [R]
        self._passage = torch.from_numpy(vectors.of_passages())  # [R]
        self._share = config.validation.sentence_share
        self._answers: dict[str, set[int]] = defaultdict(set)
        for query, document in zip(queries, documents.tolist(), strict=True):
            self._answers[query].add(document)

    def __call__(
        self,
        queries: Sequence[str],
        tokens: Int,  # noqa: ARG002 - all terms of a document are right at once
        mask: Bool,  # noqa: ARG002
        rows: Int,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> torch.Tensor:
        """The mean loss of the queries of the pairs `rows` [B]."""
        read = self._backbone.query_vectors(queries)  # [B, d]
        scores = self._config.prior_weight * self._similarity(read)
        if self._config.lexical_weight:
            how = self._config.validation.lexical
            lexical = lexical_scores(self._constraint, queries, how)
            lexical = self._config.lexical_weight * lexical
            scores = scores + torch.from_numpy(lexical).to(read.device)
        right = self._documents[rows]
        others = np.zeros(scores.shape, np.bool_)
        for row, (query, document) in enumerate(zip(queries, right.tolist(), strict=True)):
            others[row, [one for one in self._answers[query] if one != document]] = True
        scores = scores.masked_fill(torch.from_numpy(others).to(read.device), -torch.inf)
        return functional.cross_entropy(scores, torch.from_numpy(right).to(read.device))

    def _similarity(self, read: torch.Tensor) -> torch.Tensor:
        """[B, D] r(Q, D) for the queries' vectors [B, d], with gradients."""
        device = read.device
        products = read @ self._vectors.to(device).T  # [B, R]
        owner = self._owner.to(device).expand_as(products)
        none = products.new_full((len(products), self._constraint.documents), -torch.inf)
        of_passage = self._passage.to(device)

        def largest(kind: torch.Tensor) -> torch.Tensor:
            own = products.masked_fill(~kind, -torch.inf)
            return none.scatter_reduce(1, owner, own, "amax")

        passage = largest(of_passage)
        if not self._share:
            return passage
        sentence = largest(~of_passage)
        sentence = torch.where(sentence.isinf(), passage, sentence)
        return (1 - self._share) * passage + self._share * sentence
