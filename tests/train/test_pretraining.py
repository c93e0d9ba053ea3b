"""Pre-training on texts alone: it learns, resumes exactly, and then takes other terms."""

from pathlib import Path

import pytest
import torch

from fitted import settings, write_bert, write_foods
from tsgen.config import read_settings
from tsgen.corpus.dataset import DataSetWithout
from tsgen.corpus.load import load
from tsgen.docids.term_set import TermSets
from tsgen.errors import DataError
from tsgen.model.generator import Generator
from tsgen.model.mini import Mini
from tsgen.records import TermSet
from tsgen.settings import PretrainConfig, PseudoQueryConfig
from tsgen.synthetic.pseudo_query import PseudoJudged
from tsgen.train import pretraining
from tsgen.train.pretraining import pretrain_config, pretrain_generator


def config(folder: Path) -> PretrainConfig:
    more = [
        "model.encoder_layers=1",
        "model.layers=1",
        "train.first_tokens=3",
        "train.batch_size=10",
    ]
    write_bert(folder / "bert")
    over = [*settings(folder / "bert", 100), *more]
    return pretrain_config(read_settings(None, over, "pretrain"))


def test_learns_from_texts_alone(tmp_path: Path) -> None:
    write_foods(tmp_path / "set")
    made = config(tmp_path)
    texts = load(tmp_path / "set" / "corpus.jsonl")
    best = pretrain_generator(texts, made, tmp_path / "out", cache=tmp_path / "cache")
    assert best > 0.5
    other = TermSets.of([TermSet("x", ("bread", "unheard"), (2.0, 1.0))])
    adapted = Generator.load_with_terms(tmp_path / "out" / "model", other, made.model)
    assert adapted.backbone.output_size == 2


def test_goes_on_where_it_was_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_foods(tmp_path / "set", "dev")
    made, data = config(tmp_path), load(tmp_path / "set")
    pretrain_generator(data, made, tmp_path / "whole", cache=tmp_path / "cache")

    def interrupting(what: str):
        def report(step: int, *_: object) -> None:
            if step == 25:
                raise KeyboardInterrupt

        return report

    with monkeypatch.context() as patched:
        patched.setattr(pretraining, "shown", interrupting)
        with pytest.raises(KeyboardInterrupt):
            pretrain_generator(data, made, tmp_path / "cut", cache=tmp_path / "cache")
    assert not (tmp_path / "cut").exists()
    pretrain_generator(data, made, tmp_path / "cut", cache=tmp_path / "cache")
    whole, cut = (Mini.load(tmp_path / name / "model").state_dict() for name in ("whole", "cut"))
    assert all(torch.equal(whole[name], cut[name]) for name in whole)


def test_without_the_documents_of_others(tmp_path: Path) -> None:
    write_foods(tmp_path / "set", "dev")
    data = load(tmp_path / "set")
    first, second, *_ = data.documents()
    (tmp_path / "other.jsonl").write_text(
        f'{{"id": "{first.id}", "text": "…"}}\n{{"id": "z", "title": "A title", "text": "…"}}\n'
    )
    left = DataSetWithout(data, [load(tmp_path / "other.jsonl")])
    assert [d.id for d in left.documents()] == [d.id for d in data.documents()][1:]
    assert left.fingerprint != data.fingerprint
    judged = {id for grades in left.judgments("dev").values() for id in grades}
    assert first.id not in judged
    assert second.id in judged
    nothing = DataSetWithout(data, [data])
    with pytest.raises(DataError, match="no judgment of its split 'dev' remains"):
        nothing.judgments("dev")


def test_a_weigher_learns_from_texts_alone_too(tmp_path: Path) -> None:
    write_foods(tmp_path / "set", "train", "dev")
    data = PseudoJudged(load(tmp_path / "set"), PseudoQueryConfig(), 30, seed=1)
    judged, queries = data.judgments("train"), data.queries()
    assert data.splits == ["train"]
    assert len(judged) == len(queries) == 20  # one for each document, and no more
    assert {id for grades in judged.values() for id in grades} == {d.id for d in data.documents()}
    with pytest.raises(DataError, match="no split 'dev'; it has 'train' only"):
        data.judgments("dev")
