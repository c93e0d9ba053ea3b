"""tsgen-mini, the generator that comes with the package."""

from pathlib import Path

import pytest
import torch

from toy import copy_damaged
from tsgen.docids.term_set import TermSets
from tsgen.errors import ArtifactError, ConfigError
from tsgen.model.generator import Generator
from tsgen.model.mini import WEIGHTS_FILE
from tsgen.model.shipped import FOLDER, ship, tsgen_mini
from tsgen.records import TermSet
from tsgen.settings import ModelConfig

SETS = TermSets.of(
    [
        TermSet("bread", ("bread", "rye", "oven"), (3.0, 2.0, 1.0)),
        TermSet("tea", ("tea", "water", "leaves"), (3.0, 2.0, 1.0)),
    ]
)


def test_it_is_small_and_knows_its_sizes() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 50e6
    config = ModelConfig()
    assert (config.backbone, config.spelling, config.decoder) == ("mini", "word", "set")


def test_it_writes_the_terms_of_any_text() -> None:
    generator = Generator.new(ModelConfig(), SETS, 0)
    _, _, hidden = generator.backbone.encode(["how to bake rye bread", "tea leaves"])
    best = generator.backbone.logits(hidden).argmax(dim=1)
    assert SETS.term(int(best[0])) in ("bread", "rye")
    assert SETS.term(int(best[1])) in ("tea", "leaves")


def test_its_hash_is_checked(tmp_path: Path) -> None:
    copy_damaged(FOLDER, tmp_path / "mini", WEIGHTS_FILE)
    with pytest.raises(ArtifactError, match=WEIGHTS_FILE):
        tsgen_mini(tmp_path / "mini")


def test_other_sizes_need_a_flat_start() -> None:
    with pytest.raises(ConfigError, match=r"layers = 7, but tsgen-mini.*mini-flat"):
        ModelConfig.from_mapping({"layers": 7})
    assert ModelConfig.from_mapping({"layers": 7, "backbone": "mini-flat"}).layers == 7
    assert ModelConfig.from_mapping({"query_tokens": 32}).query_tokens == 32


def test_what_is_shipped_again_is_the_same(tmp_path: Path) -> None:
    generator = Generator.new(ModelConfig(), SETS, 0)
    generator.backbone.save(tmp_path / "model")
    ship(tmp_path / "model", {}, tmp_path / "shipped")
    again = Generator.load_with_terms(tsgen_mini(tmp_path / "shipped"), SETS, ModelConfig())
    both = generator.backbone.state_dict(), again.backbone.state_dict()
    assert all(torch.equal(both[0][name], both[1][name]) for name in both[0])
