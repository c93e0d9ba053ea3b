"""A collection: what is put is found, what is removed is gone, whoever asks."""

import shutil
from pathlib import Path

import pytest

from living import DOCUMENTS, rounded
from tsgen.artifact import reseal
from tsgen.errors import ArtifactError, DataError
from tsgen.records import Document
from tsgen.retrieve.collection import Changed
from tsgen.retrieve.database import Database
from tsgen.retrieve.engine import Engine
from tsgen.retrieve.store import FILE, FORMAT, Store, write_mark


def found(collection: Engine, query: str = "moss", **options: str) -> set[str]:
    (hits,) = collection.search([query], k=50, **options)
    return {hit.document_id for hit in hits}


ALL = {document.id for document in DOCUMENTS}


def test_put_remove_compact(folder: Path) -> None:
    with Engine.load(folder) as collection:
        assert len(collection) == 8
        assert found(collection) == ALL
        new = Document("new", "quartz and zinnia on the moor", "Wyvern", {"year": 2020})
        assert collection.add([new]) == Changed(1, 0)
        assert found(collection) == ALL | {"new"}
        assert collection.document("new") == new
        assert collection.document("new").metadata == {"year": 2020}
        assert collection.remove(["d0", "d3"]) == 2
        assert found(collection) == ALL - {"d0", "d3"} | {"new"}
        with pytest.raises(DataError, match="'d0': no such document"):
            collection.document("d0")
        before = collection.search(["moss", "zinnia"])
        collection.compact()
        assert rounded(collection.search(["moss", "zinnia"])) == rounded(before)
        assert collection.document("new") == new
    assert sorted(path.name for path in folder.iterdir()) == [
        "base-2",
        "collection.mark",
        "collection.sqlite",
        "manifest.json",
        "model",
        "settings.json",
        "weights",
    ]
    assert rounded(Engine.load(folder).search(["moss", "zinnia"])) == rounded(before)


def test_other_collections_see_a_change_at_once(folder: Path) -> None:
    with Engine.load(folder) as one, Engine.load(folder) as other:
        one.add([Document("new", "a fern")])
        assert found(other) == ALL | {"new"}
        before = other.snapshot
        one.remove(["new"])
        assert "new" not in other
        assert before.document("new").text == "a fern"  # a snapshot stays what it was
        one.add([Document("d1", "another text")])
        newer = other.snapshot
        one.compact()
        assert newer.document("d1").text == "another text"
        assert other.document("d1").text == "another text"
        assert found(other) == ALL
        assert before.document("d1").text == DOCUMENTS[1].text


def test_nothing_to_do(folder: Path) -> None:
    with Engine.load(folder) as collection:
        assert collection.add([]) == Changed(0, 0)
        assert collection.remove([]) == 0
        collection.compact()
        assert not (folder / "collection.sqlite").exists()


def test_put_replaces(folder: Path) -> None:
    with Engine.load(folder) as collection:
        assert collection.add([Document("d1", "fern"), Document("x", "yew")]) == Changed(1, 1)
        assert collection.add([Document("d1", "elm"), Document("x", "elm")]) == Changed(0, 2)
        assert len(collection) == 9
        assert collection.document("d1").text == "elm"
        assert collection.snapshot.generator.sets.term_set(7).terms == ("elm",)  # with the spelling
        (hits,) = collection.search(["elm"], k=20)
        assert {hit.document_id for hit in hits} == ALL | {"x"}  # two with the same words


def test_a_known_term_keeps_its_spelling(folder: Path) -> None:
    with Engine.load(folder) as collection:
        collection.add([Document("x", "hills, walking"), Document("y", "walks")])
        collection.add([Document("z", "walked moors")])
        sets = collection.snapshot.generator.sets
        terms = {sets.document_id(n): set(sets.term_set(n).terms) for n in range(len(sets))}
        assert terms["x"] == {"hill", "walking"}
        assert terms["y"] == {"walking"}
        assert terms["z"] == {"walking", "moor"}


def test_the_longer_document_makes_room(folder: Path) -> None:
    """Its three heaviest terms are all the words that a new document has."""
    with Engine.load(folder) as collection:
        collection.add([Document("long", "zebra zebra yak yak xerus xerus moss")])
        collection.add([Document("short", "zebra yak xerus")])
        sets = collection.snapshot.generator.sets
        terms = {sets.document_id(n): set(sets.term_set(n).terms) for n in range(len(sets))}
        assert terms["short"] == {"zebra", "yak", "xerus"}
        assert len(terms["long"]) == 3
        assert "moss" in terms["long"]


def test_all_documents_may_go(folder: Path) -> None:
    with Engine.load(folder) as collection:
        collection.remove(sorted(ALL))
        assert (len(collection), collection.search(["fern"])) == (0, [[]])
        collection.compact()
        assert collection.search(["fern"]) == [[]]
        collection.add([Document("x", "moss")])
        assert found(collection) == {"x"}


def test_what_cannot_be_put(folder: Path) -> None:
    with Engine.load(folder) as collection:
        with pytest.raises(DataError, match="empty id"):
            collection.add([Document("x", "moss"), Document("", "moss")])
        with pytest.raises(DataError, match="'x' is the id of several documents"):
            collection.add([Document("x", "moss"), Document("x", "fern")])
        with pytest.raises(DataError, match="'x' cannot be written as JSON"):
            collection.add([Document("x", "\ud800")])
        with pytest.raises(DataError, match="'x' cannot be written as JSON"):
            collection.add([Document("y", "moss"), Document("x", "", "", {"n": 2**70})])
        with pytest.raises(DataError, match=r"not in the collection: 'a', 'b'\. Nothing"):
            collection.remove(["d1", "a", "b"])
        assert found(collection) == ALL


def test_an_engine_without_its_weights(folder: Path) -> None:
    shutil.rmtree(folder / "weights")
    reseal(folder)
    with Engine.load(folder) as collection:
        assert found(collection) == ALL
        with pytest.raises(ArtifactError, match=r"cannot take new ones\. Make another"):
            collection.add([Document("x", "moss")])
        assert collection.remove(["d1"]) == 1
        assert found(collection) == ALL - {"d1"}


def test_filters(folder: Path) -> None:
    with Engine.load(folder) as collection:
        assert found(collection, where="year exists") == set()
        new = [Document(f"n{i}", f"moss {i}", "", {"year": 2000 + i}) for i in range(9)]
        collection.add(new)
        assert found(collection, where="year >= 2003 and year != 2005") == {
            "n3",
            "n4",
            "n6",
            "n7",
            "n8",
        }
        assert found(collection, where="not year exists") == ALL
        for beam in (1, 2, 20):
            (hits,) = collection.search(["moss"], 4, beam=beam, where="year exists")
            assert len(hits) == 4
            assert all(hit.document_id.startswith("n") for hit in hits)
        three = collection.search(["moss", "fern", "oak"], 3, where="year < 2005")
        alone = [collection.search([query], 3, where="year < 2005")[0] for query in QUERIES]
        assert rounded(three) == rounded(alone)
        collection.remove(["n8"])
        collection.compact()
        assert found(collection, where="year > 2006") == {"n7"}


QUERIES = ["moss", "fern", "oak"]


def test_changes_of_another_format_are_refused(tmp_path: Path) -> None:
    write_mark(tmp_path, 0)
    Store.create(tmp_path).close()
    for version, remedy in ((FORMAT - 1, "under another name"), (FORMAT + 1, "pip install -U")):
        store = Database(tmp_path / FILE)
        store.run(f"PRAGMA user_version = {version}")
        store.close()
        with pytest.raises(ArtifactError, match=f"format {version}.*{remedy}"):
            Store.open(tmp_path)
