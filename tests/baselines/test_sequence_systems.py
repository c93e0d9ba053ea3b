"""Systems of sequences: each learns thirty documents, is saved, loaded, and finds real ids only."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from thirty import NAMES, fitted, recall, same_after_saving, tables, write_thirty

from tsgen.baselines._identifiers import unique_texts
from tsgen.baselines.ultron import stages, url_text
from tsgen.docids.sequence_ids import SequenceIds
from tsgen.errors import ConfigError
from tsgen.records import Document
from tsgen.retrieve.sequence_systems import SequenceFit
from tsgen.retrieve.systems import SYSTEMS


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("dsi", {}),
        ("dsi", {"ids": "atomic"}),
        ("dsi", {"ids": "naive"}),
        ("genre", {}),
        ("ultron", {"train": {"epochs": 20}}),  # of each stage
        ("ultron", {"ids": "pq", "groups": 3, "train": {"epochs": 20}}),
        ("se-dsi", {}),
        ("nci", {"adaptive": 8, "clusters": 4, "leaf": 4}),
        ("genret", {"epochs": 20}),
        ("pag", {}),
    ],
)
def test_learns_thirty_documents(name: str, own: dict[str, Any], tmp_path: Path) -> None:
    data = write_thirty(tmp_path / "thirty")
    retriever = fitted(name, data, tmp_path, **own)
    assert recall(retriever, data) >= 0.95
    assert same_after_saving(retriever, data, tmp_path / "saved")
    known = {f"d{i}" for i in range(len(NAMES))}
    hits = retriever.search(["the green river"], 100)[0]
    assert {hit.document_id for hit in hits} <= known
    assert len(hits) >= 10
    assert all(hit.reason is not None and len(hit.reason.terms) for hit in hits)


def test_documents_that_share_a_title_come_back_by_bm25(tmp_path: Path) -> None:
    data = write_thirty(tmp_path / "thirty", title="red fox")
    retriever = fitted("genre", data, tmp_path, epochs=2)
    for k in (3, 30):
        hits = retriever.search(["is the green owl at the mountain"], k)[0]
        assert len(hits) == k
        assert len({hit.score for hit in hits}) == 1
        assert NAMES[8] == "green owl"
        assert hits[0].document_id == "d8"


def test_first_words_stand_for_a_title(tmp_path: Path) -> None:
    data = write_thirty(tmp_path / "thirty", title="")
    retriever: Any = fitted("genre", data, tmp_path, epochs=0, words=3)
    hit = retriever.search(["the red fox"], 30)[0][0]
    assert hit.reason is not None
    assert hit.reason.terms[0] == "the"
    assert len(hit.reason.terms) == 3


def test_position_aware_symbols(tmp_path: Path) -> None:
    data = write_thirty(tmp_path / "thirty")
    reasons = {}
    for name in ("dsi", "nci"):
        retriever = fitted(name, data, tmp_path, epochs=0, clusters=4, leaf=4)
        reasons[name] = [hit.reason.terms for hit in retriever.search(["a"], 5)[0] if hit.reason]
    assert all(":" not in code for terms in reasons["dsi"] for code in terms)
    levels = [[int(code.split(":")[0]) for code in terms] for terms in reasons["nci"]]
    assert all(row == list(range(len(row))) for row in levels)
    assert max(map(len, levels)) >= 2


def test_adaptive_decoder_is_part_of_nci(tmp_path: Path) -> None:
    data = write_thirty(tmp_path / "thirty")
    retriever: Any = fitted("nci", data, tmp_path, epochs=0, adaptive=8)
    assert retriever.generator.backbone.adaptive is not None
    again = type(retriever).load(tmp_path / "cache" / "nci")
    assert again.generator.backbone.config.adaptive == 8


def test_prior_counts_in_the_search_and_in_the_score(tmp_path: Path) -> None:
    data = write_thirty(tmp_path / "thirty")
    planned: Any = fitted("pag", data, tmp_path, epochs=0, decode={"beam": 2})
    right = NAMES.index("blue cow")
    prior = np.zeros((1, len(NAMES)), np.float32)
    prior[0, right] = 100.0
    planned._priors = lambda queries: prior
    assert planned.search(["a"], 1)[0][0].document_id == f"d{right}"
    first = planned.search(["a"], 2)[0]
    planned._weight = 0.5
    assert first[0].score - planned.search(["a"], 1)[0][0].score == pytest.approx(50.0, abs=1e-3)
    planned._weight = 0.0
    assert planned.search(["a"], 1)[0][0].document_id != f"d{right}"


def test_urls_become_texts() -> None:
    def text(url: object, title: str = "White Bread!") -> str:
        return url_text(Document("d", "some text", title, {"url": url}), 8)

    assert text("https://en.wiki.org/wiki/White_bread") == "White bread/wiki/en.wiki.org"
    assert text("shop.com/a%20b?id=7") == "id=7/a b/shop.com"
    assert text(None) == "white-bread"
    assert text("", title="") == "some-text"
    assert unique_texts(["a", "b", "a", "a"]) == ["a", "b", "a 2", "a 3"]


def test_stages_of_training_are_pieces_then_synthetic_then_real(tmp_path: Path) -> None:
    data = write_thirty(tmp_path / "thirty")
    fitted("ultron", data, tmp_path, epochs=1)
    folder = tmp_path / "cache" / "ultron"
    assert sorted(path.name for path in folder.glob("stage-*")) == ["stage-1", "stage-2", "stage-3"]
    bert = tmp_path / "bert"
    config: Any = SYSTEMS.get("ultron").settings(
        tables(bert) | {"ultron": {"train": {"pairs": {"pieces": 2}}}}
    )
    fit = SequenceFit(data, config, 0, folder)
    synthetic = fit.synthetic()
    pairs, _ = fit.examples(SequenceIds.load(folder / "ids"), synthetic)
    pieces, written, real = stages(fit, pairs, synthetic)
    assert (len(pieces), len(real)) == (60, 30)
    assert {pair.query for pair in real} == {query.text for query in data.queries().values()}
    assert len(written) > 0


def test_queries_are_needed_as_identifiers(tmp_path: Path) -> None:
    data = write_thirty(tmp_path / "thirty")
    with pytest.raises(ConfigError, match=r"se-dsi: identifiers are synthetic queries, but there"):
        fitted("se-dsi", data, tmp_path, queries={"writer": "none"})


def test_settings_are_those_of_the_stages_and_its_own(tmp_path: Path) -> None:
    stages = tables(tmp_path)
    own = {"dsi": {"clusters": 4, "train": {"epochs": 7}, "decode": {"beam": 3}}}
    config: Any = SYSTEMS.get("dsi").settings(stages | own)
    assert (config.clusters, config.train.epochs, config.train.batch_size) == (4, 7, 30)
    assert (config.decode.beam, config.decode.normalise, config.decode.prior_weight) == (
        3,
        "docid",
        0,
    )
    assert config.queries.n == 2
    assert config.train.validation.normalise == "docid"
    with pytest.raises(ConfigError, match=r"\[dsi\]: unknown setting 'clutsers'"):
        SYSTEMS.get("dsi").settings(stages | {"dsi": {"clutsers": 4}})
    with pytest.raises(ConfigError, match=r"unknown setting 'train.epohcs'"):
        SYSTEMS.get("dsi").settings(stages | {"dsi": {"train": {"epohcs": 4}}})
    with pytest.raises(ConfigError, match=r"\[dsi\]: .*lexical_weight.* are about term sets"):
        SYSTEMS.get("dsi").settings(stages | {"dsi": {"decode": {"lexical_weight": 3}}})
