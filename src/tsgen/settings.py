"""Every option of an engine on one page: how term sets are chosen, how the model is trained, how a
query is searched. Nothing here needs torch.

`tsgen settings` prints this page with the values of a preset.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import Stemmer
from pydantic import BeforeValidator, Field, field_validator, model_validator

from tsgen.artifact import open_artifact
from tsgen.config import Option, StageConfig, options, preset, presets
from tsgen.errors import nearest

MINI, MINI_FLAT, TERM_VECTORS = "mini", "mini-flat", "term-vectors"
SHIPPED = Path(__file__).parent / "shipped"

MINILM = "minilm"
"""The setting that means the MiniLM which pip brings."""
AUTO, QUERIES = "auto", "queries"  # N
DOCT5QUERY = "castorini/doc2query-t5-base-msmarco"
FREE = {"dropout", "query_tokens"}  # what may be set as one likes


class WordsConfig(StageConfig):
    """How a text becomes words. The paper has `split = "spaces"`, no stop words and no stemmer."""

    split: Literal["words", "spaces"] = "words"
    """Where a word ends: at any sign that is no letter or digit, a hyphen among them (`words`), or
    at a space, without the punctuation around the word (`spaces`, the paper)."""

    stop_words: Literal["english", "none"] = "english"
    """Which words are left out: the frequent ones of English, or none."""

    stem: str = "english"
    """The language of the Snowball stemmer, such as `german`; `none`: words stay as they are."""

    ngrams: int = Field(default=1, ge=1, le=5)
    """The longest term in words: 2 makes pairs of neighbouring words terms as well."""

    @field_validator("stem")
    @classmethod
    def _known_language(cls, value: str) -> str:
        languages = ["none", *Stemmer.algorithms()]
        if value not in languages:
            raise ValueError(f"unknown stemmer {value!r}; {nearest(value, languages)}")
        return value


def _number_of_terms(n: Any) -> Any:
    if n not in (AUTO, QUERIES) and (not isinstance(n, int) or n < 1):
        raise ValueError("expected a whole number of at least 1, auto or queries")
    return n


class TermsConfig(StageConfig):
    """How T(D), the set of terms that identifies a document, is chosen."""

    weights: str = "learned"
    """What says how much each word tells about its document: `learned`, a weigher trained on the
    judgments (the paper); `pretrained`, the weigher that comes with the package; `tfidf`, `title`,
    `random`, `control`; or the weights of an installed package, by name."""

    n: Annotated[int | Literal["auto", "queries"], BeforeValidator(_number_of_terms)] = 12
    """N, the terms of each document: a number; `auto`, the smallest N with which no two documents
    have the same set; `queries`, the N that training queries need."""

    words: WordsConfig = WordsConfig()
    """The table [terms.words]."""

    options: dict[str, Any] = Field(default_factory=dict)
    """The settings of the chosen weights; in a file they are the table named after the weights."""


class TfidfConfig(StageConfig):
    """The shape of the tf-idf formula. Its figures on development queries are in
    docs/guides/terms.md."""

    title_weight: float = Field(default=4.0, ge=1)
    """How many occurrences in the text one occurrence in the title counts as."""

    k1: float = Field(default=3.0, ge=0)
    """How slowly a word's repetition stops to count; 0: its first occurrence counts, no other."""

    b: float = Field(default=0.0, ge=0, le=1)
    """How much less an occurrence counts in a document that is longer than the mean; 0: no less."""

    lead: float = Field(default=0.0, ge=0)
    """How much a late first occurrence costs; 0: nothing."""


class WeigherConfig(StageConfig):
    """The weigher's shape. The defaults are the paper's; presets trade them for time."""

    encoder: str = MINILM
    """The encoder to start from: `minilm`, or a BERT-like model by hub name or folder."""

    layers: int | None = Field(default=None, ge=1)
    """How many of the encoder's first layers are kept; unset: all."""

    window: int = Field(default=512, ge=8)
    """Tokens that are read at once; a longer document is read in several windows."""

    overlap: int = Field(default=64, ge=0)
    """Tokens that neighbouring windows share."""

    dropout: float = Field(default=0.1, ge=0, lt=1)
    """The probability with which the head's inputs are dropped in training."""

    prior: Literal["none", "bm25"] = "none"
    """What a weight is learned as a correction of: nothing (the paper), or BM25's weight."""

    selector: bool = False
    """Choose T(D) by a second head that learns which words queries ask for; the paper chooses by
    the weights."""


class WeigherTraining(StageConfig):
    """How the weigher is trained. The defaults are the paper's; presets trade them for time."""

    negatives: int = Field(default=7, ge=1)
    """M, the documents for each pair that BM25 ranks high though they do not answer the query."""

    in_batch: bool = False
    """Use the other pairs' documents of a batch as negatives, too."""

    batch_size: int = Field(default=16, ge=1)
    """Pairs of a query and a document a step."""

    window: int = Field(default=512, ge=8)
    """The first tokens of a document that are read in training."""

    epochs: float = Field(default=3, ge=0)
    """How many times each pair is met, at the most."""

    learning_rate: float = Field(default=5e-5, gt=0)
    """The learning rate of the encoder."""

    head_learning_rate: float = Field(default=1e-3, gt=0)
    """The learning rate of the head, which was not trained before."""

    temperature: float = Field(default=1.0, gt=0)
    """What scores are divided by before the softmax of the loss."""

    freeze_embeddings: bool = False
    """Leave the encoder's token embeddings as they are: faster, and less to store."""

    validate_every: int = Field(default=200, ge=1)
    """Steps between two validations."""

    validation_queries: int = Field(default=200, ge=1)
    """How many queries validate, at the most."""

    candidates: int = Field(default=16, ge=1)
    """How many of BM25's best documents each validation query puts in order."""

    patience: int = Field(default=4, ge=1)
    """Training ends after this many validations without a better figure."""


class LearnedConfig(StageConfig):
    """A weigher's shape and its training."""

    model: WeigherConfig = WeigherConfig()
    """The weigher's shape."""

    training: WeigherTraining = WeigherTraining()
    """The weigher's training."""

    share: float = Field(default=1.0, gt=0, le=1)
    """The share of a selector in the weights that T(D) is chosen by; the rest is that of tf-idf."""


def weigher_hash() -> str:
    """The sha256 of the shipped weights: what is made with them depends on it."""
    shipped = open_artifact(SHIPPED / "weigher", "pre-trained-weigher")
    return shipped.files["weigher.safetensors"].sha256


class PretrainedConfig(StageConfig):
    """Terms by the weigher that comes with the package, mixed with tf-idf."""

    share: float = Field(default=0.25, gt=0, le=1)
    """a, the share of the weigher in the weights; the rest is that of tf-idf."""

    tfidf: TfidfConfig = TfidfConfig()
    """The table [pretrained.tfidf]."""

    sha256: str = Field(default_factory=weigher_hash)
    """The hash of the weigher's weights, so that another release is not taken for this one."""


class WritingConfig(StageConfig):
    """Which writer of synthetic queries, and how many it writes for a document."""

    writer: str = "extractive"
    """`extractive`, `local`, `doct5query`, `smollm2`, `released` (docs/guides/queries.md), or
    `none`."""

    n: int = Field(10, ge=1)
    """Queries a document, at the most."""

    options: dict[str, Any] = Field(default_factory=dict)
    """The settings of the chosen writer; in a file they are the table [queries.WRITER]."""


class QueriesConfig(WritingConfig):
    """Which synthetic queries are written, and which of them are kept."""

    keep_top: int | None = Field(None, ge=1)
    """The round trip: a query stays if a retriever finds its document among this many first ones;
    unset: all queries stay."""

    finder: Literal["bm25", "minilm"] = "bm25"
    """The retriever of the round trip."""

    released: bool = False
    """Where the data set comes with synthetic queries, its split `synthetic`, take the first `n` of
    each document in place of writing."""


class ExtractiveConfig(StageConfig):
    """How long the queries are that are cut out of documents."""

    words: int = Field(16, ge=1)
    """Words of a sentence, at the most: a longer one is cut to the words with the most weight."""

    keywords: int = Field(5, ge=1)
    """Words of a bag of heavy words, at the most."""


class DocT5QueryConfig(StageConfig):
    """Which model writes, and how its words are drawn; the defaults are those of docT5query."""

    model: str = DOCT5QUERY
    """An encoder-decoder of transformers by hub name or folder."""

    document_tokens: int = Field(512, ge=1)
    """The first tokens of a document that are read."""

    query_tokens: int = Field(64, ge=1)
    """Tokens of a query, at the most."""

    top_k: int = Field(10, ge=0)
    """Each token is drawn from this many most likely ones; 0: from all."""

    temperature: float = Field(1.0, gt=0)
    """Tokens are drawn by softmax(logits / temperature)."""

    batch_size: int = Field(8, ge=1)
    """Documents that are written for together, or pairs of a training step."""

    tune: bool = False
    """Fine-tune the model on the data set's own training pairs before it writes, as the paper
    does."""

    epochs: int = Field(3, ge=0)
    """How many times each pair is met in the fine-tuning, at the most."""

    learning_rate: float = Field(1e-4, gt=0)
    """The highest learning rate of the fine-tuning."""

    validate_every: int = Field(1000, ge=1)
    """Steps between two validations of the fine-tuning."""

    patience: int = Field(3, ge=1)
    """The fine-tuning ends after this many validations without a better figure."""


class LocalConfig(StageConfig):
    """The local writer's model, its training, and how its words are drawn."""

    backbone: str = MINI_FLAT
    """Any backbone that `model.backbone` takes."""

    encoder: str = MINILM
    """The encoder of the backbone `mini-flat`."""

    encoder_layers: int | None = 3
    """How many of the encoder's first layers are kept; unset: all."""

    layers: int = Field(2, ge=1)
    """Layers of the decoder of `mini-flat`."""

    heads: int = Field(12, ge=1)
    """Attention heads of each of these layers."""

    document_tokens: int = Field(128, ge=1)
    """The first tokens of a document that are read."""

    query_tokens: int = Field(24, ge=2)
    """Tokens of a query, at the most."""

    batch_size: int = Field(32, ge=1)
    """Pairs of a query and a document a step."""

    epochs: int = Field(3, ge=0)
    """How many times each pair is met, at the most."""

    learning_rate: float = Field(5e-4, gt=0)
    """The learning rate of the decoder."""

    encoder_learning_rate: float = Field(1e-4, gt=0)
    """The learning rate of the encoder."""

    validate_every: int = Field(100, ge=1)
    """Steps between two validations."""

    patience: int = Field(3, ge=1)
    """Training ends after this many validations without a better figure."""

    top_k: int = Field(10, ge=1)
    """Each token is drawn from this many most likely ones."""

    temperature: float = Field(1.0, gt=0)
    """Tokens are drawn by softmax(logits / temperature)."""


class NoiseConfig(StageConfig):
    """How often people's carelessness is put on a finished query; each is a probability."""

    everyday: float = Field(0.6, ge=0, le=1)
    """A word of books becomes the one people type: film → movie."""

    inflect: float = Field(0.15, ge=0, le=1)
    """A content word loses its ending, or gets -s, -ed or -ing."""

    misspell: float = Field(0.1, ge=0, le=1)
    """A content word is typed with one wrong, missing, doubled or transposed letter."""

    drop: float = Field(0.05, ge=0, le=1)
    """A word is left out, whichever."""

    add: float = Field(0.4, ge=0, le=1)
    """A word is added that says little: name, year, best."""

    lower: float = Field(0.85, ge=0, le=1)
    """Everything is in lower case."""


class PseudoQueryConfig(StageConfig):
    """What people type, by kind. `title` to `keywords` are shares: they need not sum to one."""

    title: float = Field(0.1, ge=0)
    """The title, at times with one or two telling words of the first sentence."""

    sentence: float = Field(0.15, ge=0)
    """A sentence, cut at the end of a clause."""

    question: float = Field(0.35, ge=0)
    """A question that a sentence answers, its answer left out."""

    aspect: float = Field(0.25, ge=0)
    """What is usually asked about such a thing: how old a person is, where a town lies."""

    keywords: float = Field(0.15, ge=0)
    """A bag of telling words."""

    question_mark: float = Field(0.3, ge=0, le=1)
    """How probably a question ends in a question mark."""

    judged: float = Field(0.0, ge=0, lt=1)
    """The share of a stream's pairs that are people's queries, training judgments of the data, if
    it has any."""

    noise: NoiseConfig = NoiseConfig()
    """How often people's carelessness is put on a query."""

    @model_validator(mode="after")
    def _some_kind(self) -> Self:
        if not any(self.shares().values()):
            raise ValueError(
                f"all of {', '.join(self.shares())} are 0; expected a share above 0 for one kind"
            )
        return self

    def shares(self) -> dict[str, float]:
        """Kind → its share."""
        return {name: getattr(self, name) for name in KINDS}


KINDS = ("title", "sentence", "question", "aspect", "keywords")


class MiniConfig(StageConfig):
    """The sizes of the small backbone: a pre-trained encoder and a fresh decoder."""

    encoder: str = MINILM
    """The encoder of queries: `minilm`, or a BERT-like model by hub name or folder."""

    encoder_layers: int | None = 3
    """How many of the encoder's first layers are kept; unset: all."""

    layers: int = 2
    """Layers of the decoder."""

    heads: int = 12
    """Attention heads of each layer; they divide the encoder's width."""

    inner: int = 1536
    """The width of the feed-forward part of each layer."""

    dropout: float = 0.1
    """The probability with which the decoder's states are dropped in training."""

    spelling: Literal["subword", "word"] = "word"
    """How a term is written: as one symbol of its own (`word`), or as the tokenizer's pieces and a
    comma (`subword`, the paper)."""

    query_tokens: int = 64
    """The first tokens of a query that are read."""

    positions: int = 256
    """Symbols of an identifier, at the most."""

    copying: bool = False
    """Let the decoder point at the words of the query."""

    decoder: Literal["sequence", "set"] = "sequence"
    """What p(next | X) knows of X: the sequence, or the set only. With `set`, equal sets that were
    reached in different orders are equal hypotheses, and to merge them is exact; it needs the
    `word` spelling."""

    free_symbols: int | None = Field(None, ge=1)
    """The number of symbols with vectors of their own in place of the tokenizer's pieces; systems
    whose identifiers are codes set it themselves."""

    adaptive: int | None = Field(None, ge=1)
    """The rank in which output vectors are adapted to the symbols so far, as NCI has it;
    unset: they are not."""


def sizes_with(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a model completed by the sizes of tsgen-mini, which they may not contradict."""
    path = SHIPPED / "mini" / "mini.json"
    sizes: dict[str, Any] = {}
    if path.is_file():  # else `tsgen_mini` will complain
        sizes = json.loads(path.read_text())
    for name in settings.keys() & sizes.keys() - FREE:
        if settings[name] != sizes[name]:
            raise ValueError(
                f"{name} = {settings[name]!r}, but tsgen-mini, the backbone 'mini', has "
                f"{sizes[name]!r}. Leave it out, or set backbone = 'mini-flat', which is trained "
                "from a flat start in any size"
            )
    return sizes | dict(settings)


BM25, ITSELF = "bm25", "itself"  # sources of hard negatives beside run files


class ModelConfig(MiniConfig):
    """Which language model generates. All settings but `spelling` and `query_tokens` are those of
    `mini-flat`; `mini` has its own."""

    backbone: str = MINI
    """`term-vectors`, which learns the collection while it is indexed (see `tsgen.model`); `mini`,
    which is tsgen-mini, pre-trained; `mini-flat`, the same with a fresh decoder, in any size;
    `minilm`, `flan-t5-small` or `smollm2`, which pip brings; or a model of transformers by hub name
    or folder: an encoder-decoder, a BERT (BERT2BERT), a causal language model."""

    document_tokens: int = Field(256, ge=8)
    """The tokens of a document, or of each of its passages, that `term-vectors` reads into a
    vector."""

    passages: bool = True
    """Whether `term-vectors` reads a document with more tokens than that passage by passage, or
    its beginning alone."""

    @model_validator(mode="before")
    @classmethod
    def _sizes_of_tsgen_mini(cls, values: Any) -> Any:
        """Those of `mini` are what they are."""
        if values.get("backbone", MINI) != MINI:
            return values
        return sizes_with(values)

    def own_sizes(self) -> MiniConfig:
        """The settings of `mini-flat`."""
        return MiniConfig(**self.model_dump(exclude={"backbone", "document_tokens", "passages"}))


COMPARED = 2


class DecodeConfig(StageConfig):
    """How hypotheses are scored, merged and pruned."""

    beam: int = Field(100, ge=1)
    """B, the number of hypotheses that a query keeps after each term."""

    normalise: Literal["full", "docid", "valid"] = "full"
    """What log p is normalised over: all outputs of the model (the paper), the tokens that occur in
    identifiers, or the tokens that are valid after those generated so far."""

    merge: Literal["max", "sum", "none"] = "max"
    """What happens to hypotheses with equal sets: the best one stays, their probabilities are added
    (the best one's prefix stays), or they are kept apart (the paper's text)."""

    temperature: float = Field(1.0, gt=0)
    """u: probabilities are softmax(logits / u)."""

    per_document: int = Field(0, ge=0)
    """The most hypotheses whose only possible document is the same; 0: no limit. There are many
    subsets of one set: without a limit those of a few documents may fill the beam, and no others
    are found."""

    decided: Literal["continue", "apart", "stop"] = "continue"
    """What becomes of a hypothesis that one document is left for. `continue`: it stays in the beam
    until all terms are generated, as in the paper's text. `apart`: it goes on in a second beam, in
    which each document has one place, and leaves its own to hypotheses with several documents, so
    that B documents are found. `stop`: its document is found there and then, with the score so far
    (the paper's authors)."""

    orders: int = Field(1, ge=1)
    """In how many orders of its terms a document is found, each with its own score; more than one
    needs `merge = "none"`."""

    early_stop: bool = True
    """Drop what can no longer reach the best k. Never changes the answer; a switch for tests."""

    batch: int = Field(8, ge=1)
    """How many queries are decoded together."""

    pool: int = Field(0, ge=0)
    """Search only among the best so many documents of the set prior; 0: among all."""

    fill: int = Field(0, ge=0)
    """How many of the set prior's best documents are added to those that were generated."""

    look_ahead: float = Field(0.0, ge=0)
    """How much the prior of the best document that a hypothesis can still lead to counts when
    hypotheses are chosen."""

    compared: int = Field(COMPARED, ge=1)
    """With a look-ahead, B hypotheses are chosen from this many times B, the best by score."""

    generated_weight: float = Field(1.0, ge=0)
    """κ in the score of `tsgen.decode.ranking`: how much the probability of the generated terms
    counts in the order of what was found; the paper's score is nothing else."""

    prior_weight: float = Field(0.0, ge=0)
    """λ in the score of `tsgen.decode.ranking`: how much the weights of a document's terms count in
    the order of what was found; 0: not at all, as in the paper. Needs term sets."""

    sentence_share: float = Field(0.0, ge=0, le=1)
    """σ, with `prior = "vectors"`: how much of a document's similarity is that of its nearest
    sentence; the rest is that of its nearest passage."""

    lexical: Literal["relative", "product"] = "relative"
    """How a word that the query and a document have in common counts: by idf and the term's weight
    beside the document's other terms, or as the product of the word's weights in both, √idf in the
    query and the kept weight in the document, which is BM25 for the weights `tfidf`."""

    candidates: int = Field(1000, ge=1)
    """With `prior = "vectors"`: how many documents of a search's first stage the second puts in
    order; at least as many as are asked for."""

    stages: Literal["both", "first", "second"] = "both"
    """With `prior = "vectors"`: the first stage of a search finds documents by words and the second
    puts them in order by the whole score; or the first alone decides, which is faster and worse; or
    the second scores all documents, which is slow in a large collection."""

    lexical_weight: float = Field(0.0, ge=0)
    """μ in the score of `tsgen.decode.ranking`: how much the query's own words among a document's
    terms count in that order; 0: not at all, as in the paper. Needs term sets."""

    prior: Literal["mean", "sum", "matched", "weighted", "vectors"] = "matched"
    """How the set prior adds up a document's terms (see `tsgen.decode.ranking`); `vectors` needs
    `model.backbone = "term-vectors"`."""

    in_order: bool = False
    """Of all orders of a document's terms only that by weight is valid: an ablation that shows what
    the set is worth beside a sequence. Needs term sets; without `pool`, `fill` and `look_ahead`."""

    @property
    def uses_prior(self) -> bool:
        """Whether the set prior has a part in the search itself."""
        return bool(self.pool or self.fill or self.look_ahead)

    @property
    def needs_no_beam(self) -> bool:
        """Whether the set prior alone decides the order, since it has all that counts in it."""
        decided = self.prior == "vectors" and self.fill and self.prior_weight
        return bool(decided) and self.generated_weight == 0

    @property
    def by_first_stage(self) -> bool:
        """Whether a search finds a pool in bounded time and ranks that alone."""
        pooled = self.prior == "vectors" and self.fill and self.lexical == "product"
        return bool(pooled and self.reranks) and self.generated_weight == 0

    @property
    def reranks(self) -> bool:
        """Whether the documents found are put in another order than that of log p."""
        return bool(self.prior_weight or self.lexical_weight)

    def with_beam(self, beam: int | None) -> Self:
        """The same settings with another beam, if one is given."""
        return self if beam is None else self.from_mapping(self.model_dump() | {"beam": beam})


class FavouriteConfig(StageConfig):
    """The search for the favourite permutation."""

    beam: int = Field(4, ge=1)
    """B', the number of hypotheses that are kept after each term."""

    temperature: float = Field(3.0, gt=0)
    """u, only for the search: reported likelihoods are those at temperature 1."""

    normalise: Literal["full", "docid"] = "full"
    """As in `DecodeConfig`."""

    merge: Literal["max", "none"] = "max"
    """As in `DecodeConfig`; `none` is the paper's text, `max` keeps a narrow beam diverse."""

    batch: int = Field(64, ge=1)
    """How many pairs are searched together."""

    first: int | None = Field(None, ge=1)
    """Search the order of the first so many terms only; None: of all. Needs one token a term."""

    or_weight_order: bool = False
    """Take the order by weight where the model, at temperature 1, finds it likelier than the first
    beam; the paper takes the first beam."""


class PairsConfig(StageConfig):
    """Which queries the generator learns from, beside the training judgments."""

    queries: str | None = None
    """A JSONL file of more pairs, {"query": text, "document": id}, such as synthetic queries."""

    judged: bool = True
    """Learn from the training judgments; off, from the other pairs alone."""

    titles: bool = False
    """Use each document's title as a query."""

    pieces: int = Field(0, ge=0)
    """How many pieces of each document's text, of 16 words each, are queries (indexing)."""


class TrainingConfig(StageConfig):
    """What all trainings of generators have in common, whatever their identifiers are."""

    pairs: PairsConfig = PairsConfig()
    """Which pairs are learned beside the training judgments."""

    validation: DecodeConfig = DecodeConfig(beam=10, normalise="docid")
    """How validation queries are searched."""

    batch_size: int = Field(64, ge=1)
    """Pairs of a query and a document a step."""

    micro_batch: int = Field(0, ge=0)
    """Pairs that a process computes at once, to save memory: the gradients of such parts of its
    batch are added up before a step, which changes nothing else. 0: its whole batch."""

    epochs: int = Field(10, ge=0)
    """How many times each pair is met in an iteration, at the most."""

    minutes: float | None = Field(None, gt=0)
    """Train for so many minutes, validations included, in place of `epochs` and `patience`; several
    iterations share them. The learning rate follows the time."""

    learning_rate: float = Field(5e-4, gt=0)
    """The highest learning rate; it rises over the warm-up and falls to 0."""

    encoder_learning_rate: float | None = Field(None, gt=0)
    """The learning rate of what encodes the query; unset: the same."""

    warm_up: float = Field(0.05, ge=0, le=1)
    """The share of the steps in which the learning rate rises."""

    weight_decay: float = Field(0.01, ge=0)
    """The weight decay of AdamW."""

    freeze_embeddings: bool = False
    """Leave the encoder's token embeddings as they are: faster, and less to store."""

    validate_every: int = Field(500, ge=1)
    """Steps between two validations."""

    validation_queries: int = Field(200, ge=1)
    """How many queries validate, at the most."""

    patience: int = Field(4, ge=1)
    """Training ends after this many validations without a better M@10."""

    def part(self, parts: int) -> Self:
        """With the minutes of one of so many equal parts of the training."""
        return self.model_copy(update={"minutes": self.minutes and self.minutes / parts})


class SequenceTrainConfig(TrainingConfig):
    """How a generator of sequences is trained."""

    normalise: Literal["docid", "full"] = "docid"
    """What p is normalised over: the tokens that occur in identifiers, or all outputs."""


class TrainConfig(TrainingConfig):
    """How the generator is trained: Section 3.3 of the paper."""

    iterations: int = Field(2, ge=1)
    """T: the first learns `order`, each later one the favourite permutations under the last."""

    order: Literal["weight", "random", "likelihood", "shuffled", "query"] = "weight"
    """The order of the terms in the first iteration's targets: `weight`, heaviest first (the
    paper's choice); `random`, one random order of each document's terms for good; `likelihood`, the
    favourite permutation under the untrained model (both are in the paper's Table 6); `shuffled`, a
    new random order each time a pair is met; `query`, the terms that occur in the query before
    those that do not, each part newly shuffled."""

    permutations: int = Field(1, ge=1)
    """In how many orders each pair is learned: the first orders found where favourite permutations
    are the targets; random orders of a document where `order` is `random`; new orders an epoch
    where it is `shuffled` or `query`."""

    loss: Literal["seq2seq", "any_remaining", "documents"] = "seq2seq"
    """`seq2seq` (the paper): the next term of the target is right. `any_remaining`: each term of
    the document that is not yet written is right; it needs the `word` spelling. `documents`: the
    document itself is right among all documents, by `prior_weight` and `lexical_weight`; it needs
    `model.backbone = "term-vectors"`."""

    normalise: Literal["valid", "docid", "full"] = "docid"
    """What p is normalised over, in training and in decoding: the tokens that are valid after those
    so far, the tokens that occur in identifiers, or all outputs of the model. `valid` needs the
    `word` spelling and `random_negatives`."""

    random_negatives: int = Field(0, ge=0)
    """Random documents drawn anew for each batch: p is normalised over their terms and those of the
    batch's documents in place of all tokens of identifiers, which is faster where there are many
    terms. 0: over all tokens of identifiers."""

    similar_negatives: int = Field(0, ge=0)
    """Documents drawn for each pair that share its target's first terms."""

    hard_negatives: int = Field(0, ge=0)
    """Documents for each pair that `hard_negatives_from` ranks high for its query though they do
    not answer it."""

    hard_negatives_from: str = BM25
    """What ranks them: `bm25`; `itself`, the model that training starts from; or the path of a run
    file for the training queries."""

    distil: float = Field(0.0, ge=0, le=1)
    """The share of the run's scores in what is right for the ranking loss; 0: the judgments alone
    say what is right."""

    prior_weight: float = Field(0.0, ge=0)
    """λ in the score of `tsgen.decode.ranking` by which a second loss ranks the batch's documents
    and negatives; 0: without that loss, as in the paper. Needs the `word` spelling and
    `random_negatives`."""

    lexical_weight: float = Field(0.0, ge=0)
    """μ in that score, as in `[decode]`: the model learns what the query's own words do not say."""

    choose_lexical_weight: bool = False
    """After training, choose `decode.lexical_weight` by M@10 on the validation queries, from a
    third of the setting up to three times of it."""

    first_tokens: int = Field(0, ge=0)
    """How many tokens of each target are learned; 0: all. A search over valid terms needs few,
    since it ends where one document is left."""

    favourite: FavouriteConfig = FavouriteConfig()
    """The search for favourite permutations."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        """Refuse settings that contradict one another."""
        if self.random_negatives and self.normalise == "full":
            raise ValueError(
                f"train.random_negatives = {self.random_negatives} with train.normalise = 'full', "
                "which is over all outputs; set train.normalise=docid or train.random_negatives=0"
            )
        if self.loss == "documents":
            return self._agrees_on_documents()
        drawn = self.similar_negatives or self.hard_negatives or self.prior_weight
        if (drawn or self.normalise == "valid") and not self.random_negatives:
            raise ValueError(
                "train.normalise = 'valid', train.similar_negatives, train.hard_negatives and "
                "train.prior_weight are about documents drawn for a batch, but "
                "train.random_negatives = 0; set train.random_negatives=256"
            )
        if self.lexical_weight and not self.prior_weight:
            raise ValueError(
                f"train.lexical_weight = {self.lexical_weight} has a part in the ranking of "
                "documents, but train.prior_weight = 0; set train.prior_weight=8 or "
                "train.lexical_weight=0"
            )
        if self.distil and not (self.run and self.hard_negatives and self.prior_weight):
            raise ValueError(
                f"train.distil = {self.distil} needs a run file to learn from, some of its "
                "documents, and a loss that ranks them; set train.hard_negatives_from=RUN.trec, "
                "train.hard_negatives=4 and train.prior_weight=8"
            )
        return self

    def _agrees_on_documents(self) -> Self:
        """Refuse settings that have no part in the loss of documents."""
        drawn = self.random_negatives or self.similar_negatives or self.hard_negatives
        if drawn or self.iterations > 1 or not self.prior_weight:
            raise ValueError(
                "train.loss = 'documents' ranks all documents at once by train.prior_weight, "
                "without negatives and favourite permutations; set train.prior_weight=20, "
                "train.iterations=1 and all negatives to 0"
            )
        return self

    @property
    def run(self) -> Path | None:
        """The run file that `hard_negatives_from` names, if it does."""
        source = self.hard_negatives_from
        return None if source in (BM25, ITSELF) else Path(source)

    @property
    def favourite_search(self) -> FavouriteConfig:
        """`favourite`, with p normalised as in training: inside one set, over more than is valid
        there."""
        over = "full" if self.normalise == "full" else "docid"
        return self.favourite.model_copy(update={"normalise": over})


class GeneratorConfig(StageConfig):
    """A model and its training; as a stage's settings, `train.iterations` is the one it makes."""

    model: ModelConfig = ModelConfig()
    """The generator."""

    train: TrainConfig = TrainConfig()
    """Its training."""


class PretrainConfig(StageConfig):
    """The settings of all that pre-training does."""

    terms: TermsConfig = TermsConfig(weights="tfidf")
    """How T(D) is chosen."""

    pseudo: PseudoQueryConfig = PseudoQueryConfig()
    """What the pseudo-queries are like."""

    model: ModelConfig = ModelConfig()
    """The generator."""

    train: TrainConfig = TrainConfig()
    """Its training."""


class SearchConfig(StageConfig):
    """What an engine does with a query before it generates."""

    correct: bool = False
    """Read a word that is in no dictionary as one of a document that is one edit away."""


def _require_vectors(model: ModelConfig, decode: DecodeConfig) -> None:
    """Refuse a search by document vectors with a generator that keeps none."""
    if decode.prior == "vectors" and model.backbone != TERM_VECTORS:
        raise ValueError(
            f"decode.prior = 'vectors' needs model.backbone = {TERM_VECTORS!r}, found "
            f"{model.backbone!r}; set one of them, or use --preset mini for a generator of your own"
        )


class EngineConfig(GeneratorConfig):
    """The settings of all stages."""

    terms: TermsConfig = TermsConfig()
    """How T(D) is chosen."""

    queries: QueriesConfig | None = None
    """Synthetic queries to train on beside the judged ones; unset: none."""

    decode: DecodeConfig = DecodeConfig(normalise="docid")
    """How a query is searched."""

    search: SearchConfig = SearchConfig()
    """What is done with a query before that."""

    @model_validator(mode="after")
    def _with_vectors(self) -> Self:
        """Refuse settings of search and generator that contradict one another."""
        _require_vectors(self.model, self.decode)
        if self.train.loss == "documents" and self.model.backbone != TERM_VECTORS:
            raise ValueError(
                f"train.loss = 'documents' needs model.backbone = {TERM_VECTORS!r}, found "
                f"{self.model.backbone!r}; set one of them"
            )
        return self


class IndexConfig(StageConfig):
    """The settings of an engine that is not trained."""

    terms: TermsConfig
    """How T(D) is chosen."""

    model: ModelConfig = ModelConfig()
    """The generator that is given the terms."""

    decode: DecodeConfig
    """How a query is searched."""

    search: SearchConfig = SearchConfig()
    """What is done with a query before that."""

    @model_validator(mode="after")
    def _with_vectors(self) -> Self:
        """Refuse settings of search and generator that contradict one another."""
        _require_vectors(self.model, self.decode)
        return self


# The page as data: what `tsgen settings` prints.

WEIGHTS_TABLES: Mapping[str, tuple[str, type[StageConfig]]] = {
    "learned": ("weigher", LearnedConfig),
    "pretrained": ("pretrained", PretrainedConfig),
    "tfidf": ("tfidf", TfidfConfig),
}
"""The table of a settings file for each kind of term weights that has settings."""

WRITERS_CONFIGS: Mapping[str, type[StageConfig]] = {
    "extractive": ExtractiveConfig,
    "local": LocalConfig,
    "doct5query": DocT5QueryConfig,
}
"""The settings of the query writers, each in the table [queries.WRITER]."""

PRETRAIN = "pretrain"


def engine_options() -> list[Option]:
    """Every option of an engine with its default, in the order of the stages.

    Examples:
        >>> [option.value for option in engine_options() if option.name == "keep_top"]
        [None]
    """
    terms = options(TermsConfig(), "terms")
    weights = [one for table, kind in WEIGHTS_TABLES.values() for one in options(kind(), table)]
    queries = options(QueriesConfig(), "queries")
    written = [
        one for name, kind in WRITERS_CONFIGS.items() for one in options(kind(), f"queries.{name}")
    ]
    rest = options(GeneratorConfig(), "") + options(PseudoQueryConfig(), "pseudo")
    found = [*terms, *weights, *queries, *written, *_below(rest)]
    engine = EngineConfig()
    return [*found, *options(engine.decode, "decode"), *options(engine.search, "search")]


def _below(found: Sequence[Option]) -> list[Option]:
    """Options of tables inside a table without a name."""
    return [replace(option, table=option.table.removeprefix(".")) for option in found]


def preset_options(name: str) -> list[Option]:
    """Every option of a preset, those that it does not set as well, with the preset's value.

    Tables of other systems come last, with what the preset sets in them.
    """
    tables = preset(name)
    found = [*_terms_options(tables), *_queries_options(tables)]
    train = TrainConfig.from_mapping(tables.pop("train", {}))
    found += options(ModelConfig.from_mapping(tables.pop("model", {})), "model")
    found += options(train, "train")
    if name == PRETRAIN:
        found = [one for one in found if not one.table.startswith("queries")]
        return found + options(PseudoQueryConfig.from_mapping(tables.get("pseudo", {})), "pseudo")
    decode = {"normalise": train.normalise} | tables.pop("decode", {})
    found += options(DecodeConfig.from_mapping(decode), "decode")
    found += options(SearchConfig.from_mapping(tables.pop("search", {})), "search")
    return found + [one for system, table in tables.items() for one in _as_set(system, table)]


def _terms_options(tables: dict[str, Any]) -> list[Option]:
    """[terms] and the table of the weights that it chooses; both are taken out of `tables`."""
    terms = TermsConfig.from_mapping(tables.pop("terms", {}))
    found = options(terms, "terms")
    if terms.weights in WEIGHTS_TABLES:
        table, kind = WEIGHTS_TABLES[terms.weights]
        found += options(kind.from_mapping(tables.pop(table, {})), table)
    return found


def _queries_options(tables: dict[str, Any]) -> list[Option]:
    """[queries] and the table of its writer, which is `none` where the preset names none."""
    table = {"writer": "none"} | tables.pop("queries", {})
    own = {name: table.pop(name, {}) for name in WRITERS_CONFIGS}
    queries = QueriesConfig.from_mapping(table)
    found = options(queries, "queries")
    if queries.writer in WRITERS_CONFIGS:
        kind = WRITERS_CONFIGS[queries.writer].from_mapping(own[queries.writer])
        found += options(kind, f"queries.{queries.writer}")
    return found


def _as_set(table: str, values: Mapping[str, Any]) -> list[Option]:
    """The options that a table sets, without saying what they do."""
    found, inner = [], []
    for name, value in values.items():
        if isinstance(value, dict):
            inner += _as_set(f"{table}.{name}", value)
        else:
            found.append(Option(table, name, value, ""))
    return found + inner


def where_presets_differ(found: Iterable[Option]) -> list[dict[str, Any]]:
    """For each option the presets that set it to something else than its value here."""
    tables = {name: preset(name) for name in presets()}
    return [
        {
            name: value
            for name, table in tables.items()
            if (value := _value_in(table, option)) != option.value
        }
        for option in found
    ]


def _value_in(tables: Mapping[str, Any], option: Option) -> Any:
    """The value that a preset's tables give an option; its own where they do not set it."""
    for part in option.table.split("."):
        tables = tables.get(part, {})
    return tables.get(option.name, option.value)
