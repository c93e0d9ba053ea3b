"""The settings of the generator and of its training."""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from tsgen.config import StageConfig, unset
from tsgen.decode.config import DecodeConfig
from tsgen.decode.favourite import FavouriteConfig
from tsgen.model.mini import MiniConfig
from tsgen.model.shipped import sizes_with

MINI, MINI_FLAT = "mini", "mini-flat"
BM25, ITSELF = "bm25", "itself"  # who mistakes documents for answers


class ModelConfig(MiniConfig):
    """Which language model generates. All settings but `spelling` and `query_tokens` are those of
    `mini-flat`; `mini` has its own."""

    backbone: str = MINI
    """`mini`, which is tsgen-mini, pre-trained; `mini-flat`, the same with a fresh decoder, in any
    size; `minilm`, `flan-t5-small` or `smollm2`, which pip brings; or a model of transformers by
    hub name or folder: an encoder-decoder, a BERT (BERT2BERT), a causal language model."""

    @model_validator(mode="before")
    @classmethod
    def _sizes_of_tsgen_mini(cls, values: Any) -> Any:
        """Those of `mini` are what they are."""
        if values.get("backbone", MINI) != MINI:
            return values
        return sizes_with(values)

    def own_sizes(self) -> MiniConfig:
        """The settings of `mini-flat`."""
        return MiniConfig(**self.model_dump(exclude={"backbone"}))


class PairsConfig(StageConfig):
    """Which queries the generator learns from, beside the training judgments."""

    queries: str | None = None
    """A JSONL file of more pairs, {"query": text, "document": id}, such as synthetic queries."""

    titles: bool = False
    """Each document's title as a query."""

    pieces: int = Field(0, ge=0)
    """So many pieces of each document's text as queries (indexing)."""

    piece_words: int = Field(16, ge=1)


class TrainingConfig(StageConfig):
    """What all trainings of generators have in common, whatever their identifiers are."""

    pairs: PairsConfig = PairsConfig()

    validation: DecodeConfig = DecodeConfig(beam=10, normalise="docid")
    """How validation queries are searched."""

    batch_size: int = Field(64, ge=1)
    epochs: int = Field(10, ge=0)

    minutes: float | None = Field(None, gt=0, exclude_if=unset)
    """Train for so long, validations included, whatever the epochs and the patience; the learning
    rate follows the time. Of several iterations each has its share."""

    learning_rate: float = Field(5e-4, gt=0)
    encoder_learning_rate: float | None = Field(None, gt=0)  # None: the same
    warm_up: float = Field(0.05, ge=0, le=1)  # share of all steps
    weight_decay: float = Field(0.01, ge=0)
    freeze_embeddings: bool = False

    validate_every: int = Field(500, ge=1)  # steps
    validation_queries: int = Field(200, ge=1)
    patience: int = Field(4, ge=1)  # validations without a better M@10

    def part(self, parts: int) -> Self:
        """With the minutes of one of so many equal parts of the training."""
        return self.model_copy(update={"minutes": self.minutes and self.minutes / parts})


class SequenceTrainConfig(TrainingConfig):
    """How a generator of sequences is trained."""

    softmax: Literal["docid", "full"] = "docid"
    """What p is normalised over: tokens of identifiers, or all outputs."""


class TrainConfig(TrainingConfig):
    """How the generator is trained: Section 3.3 of the paper."""

    iterations: int = Field(2, ge=1)
    """T: the first learns `order`, each later one the favourite permutations under the last."""

    order: Literal["weight", "random", "query", "likelihood"] = "weight"
    """Of the first iteration's targets: by weight (the paper's choice), another random order each
    time a pair is met, such a one after the terms that the query has, or the favourite permutation
    under the untrained model."""

    permutations: int = Field(1, ge=1)
    """In how many orders each pair is learned: where favourites are the targets, the likeliest so
    many of their search; with `order = "random"` or "query" so many an epoch. By weight there is
    but one."""

    loss: Literal["seq2seq", "any_remaining"] = "seq2seq"
    """`any_remaining` counts each term of the document that is not yet written as right; it needs
    the `word` spelling."""

    softmax: Literal["valid", "docid", "full"] = "docid"
    """What p is normalised over, here and in decoding: what is valid after the terms so far, tokens
    of identifiers, or all outputs. `valid` needs the `word` spelling and `other_documents`."""

    other_documents: int = Field(0, ge=0)
    """Instead of all tokens of identifiers, p is normalised over those of the batch's documents and
    of so many others, drawn anew for each batch; 0: over all. Pays where there are many terms."""

    near_documents: int = Field(0, ge=0)
    """Beside them, so many for each pair that share its target's first terms: what is still valid
    after these comes from them."""

    hard_documents: int = Field(0, ge=0, exclude_if=unset)
    """And so many for each pair that `hard_from` ranks high for its query though they do not answer
    it (see `mistaken`)."""

    hard_from: str = Field(BM25, exclude_if=lambda source: source == BM25)
    """`bm25`; `itself`, the model that training starts from; or a run file for training queries."""

    distil: float = Field(0.0, ge=0, le=1, exclude_if=unset)
    """How much the scores of that run say about which documents are right (see `ranking`); 0: the
    judgments alone do."""

    ranking: float = Field(0.0, ge=0, exclude_if=unset)
    """λ: beside its terms, the document itself is to be likelier than the batch's and those drawn,
    by λ times what `decode.rescore` counts (see `ranking`); 0: that is not trained, as in the
    paper. Needs the `word` spelling and `other_documents`."""

    overlap: float = Field(0.0, ge=0, exclude_if=unset)
    """μ: how much the query's own words count in that ranking, as in `decode.overlap`, so that the
    model learns what these do not say."""

    first_tokens: int = Field(0, ge=0)
    """Only so many tokens of each target are learned; 0: all. A search over valid terms asks for no
    more once one document is left, which takes few terms."""

    favourite: FavouriteConfig = FavouriteConfig()

    @model_validator(mode="after")
    def _agree(self) -> Self:
        """Refuse settings that contradict one another."""
        if self.other_documents and self.softmax == "full":
            raise ValueError(
                f"train.other_documents = {self.other_documents} with train.softmax = 'full', "
                "which is over all outputs; set train.softmax=docid or train.other_documents=0"
            )
        drawn = self.near_documents or self.hard_documents or self.ranking
        if (drawn or self.softmax == "valid") and not self.other_documents:
            raise ValueError(
                "train.softmax = 'valid', train.near_documents, train.hard_documents and "
                "train.ranking are about documents drawn for a batch, but train.other_documents = "
                "0; set train.other_documents=256"
            )
        if self.overlap and not self.ranking:
            raise ValueError(
                f"train.overlap = {self.overlap} has a part in the ranking of documents, but "
                "train.ranking = 0; set train.ranking=8 or train.overlap=0"
            )
        if self.distil and not (self.run and self.hard_documents and self.ranking):
            raise ValueError(
                f"train.distil = {self.distil} needs a run file to learn from, some of its "
                "documents, and a loss that ranks them; set train.hard_from=RUN.trec, "
                "train.hard_documents=4 and train.ranking=8"
            )
        return self

    @property
    def run(self) -> Path | None:
        """The run file that `hard_from` names, if it does."""
        return None if self.hard_from in (BM25, ITSELF) else Path(self.hard_from)

    @property
    def favourite_search(self) -> FavouriteConfig:
        """`favourite`, with p normalised as in training: inside one set, over more than is valid
        there."""
        over = "full" if self.softmax == "full" else "docid"
        return self.favourite.model_copy(update={"normalise": over})
