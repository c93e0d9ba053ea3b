"""Documents that come later get their terms from the weigher that the engine was trained with."""

from pathlib import Path

from fitted import settings, write_bert, write_foods
from tsgen.config import read_settings
from tsgen.corpus.load import load
from tsgen.records import Document
from tsgen.retrieve.build import engine_config, fit_engine
from tsgen.retrieve.engine import Engine


def test_a_trained_weigher_weighs_what_is_added(tmp_path: Path) -> None:
    data, bert = (
        load(write_foods(tmp_path / "foods", "train", "dev")),
        write_bert(tmp_path / "bert"),
    )
    learned = ["terms.weights=learned", f"weigher.model.encoder={bert}", "train.iterations=1"]
    tables = read_settings(None, [*settings(bert, epochs=1), *learned], "tiny")
    engine = tmp_path / "engine"
    fit_engine(data, engine_config(tables), engine, cache=tmp_path / "cache")
    with Engine.load(engine) as collection:
        (known,) = [one for one in collection.snapshot.documents if one.id == "d0"]
        before = collection.generator.sets.term_set(0)
        collection.remove(["d0"])
        collection.add([Document("new", known.text, known.title), Document("words", "kale chard")])
        sets = collection.generator.sets
        new, other = (sets.term_set(collection.snapshot.number(id)) for id in ("new", "words"))
        assert new.terms == before.terms  # weighed as at the start
        assert set(other.terms) == {"kale", "chard"}
        collection.compact()
        assert "words" in {hit.document_id for hit in collection.search(["kale"], 20)[0]}
