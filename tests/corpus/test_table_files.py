import gzip
from pathlib import Path

import pytest

from tsgen.corpus.load import load
from tsgen.corpus.table_files import Columns
from tsgen.errors import ConfigError, DataError
from tsgen.records import Document


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(path: Path, columns: Columns | None = None) -> list[Document]:
    return list(load(path, columns=columns).documents())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("docs.jsonl", '{"id": 7, "title": "Tea", "contents": "green tea", "url": "u"}\n'),
        ("docs.csv", 'docid,title,text,url\n7,Tea,"green tea",u\n'),
        ("docs.tsv", "doc_id\turl\tbody\ttitle\n7\tu\tgreen tea\tTea\n"),
    ],
)
def test_usual_column_names(tmp_path: Path, name: str, content: str) -> None:
    (document,) = read(write(tmp_path / name, content))
    assert document == Document("7", "green tea", "Tea")
    assert document.metadata == {"url": "u"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("d.jsonl", '{"key": "a", "head": "H", "one": "x", "two": "y", "k": 1, "no": 2}'),
        ("d.csv", "key,head,one,two,k,no\na,H,x,y,1,2"),
        ("d.tsv", "key\thead\tone\ttwo\tk\tno\na\tH\tx\ty\t1\t2"),
    ],
)
def test_columns_by_name_and_several_texts(tmp_path: Path, name: str, content: str) -> None:
    columns = Columns(id="key", title="head", text=("one", "two"), metadata=("k",))
    (document,) = read(write(tmp_path / name, content), columns)
    assert document == Document("a", "x y", "H")
    assert {key: str(value) for key, value in document.metadata.items()} == {"k": "1"}


def test_columns_by_number_in_a_file_without_a_header(tmp_path: Path) -> None:
    path = write(tmp_path / "d.csv", "u1,a,one\nu2,b,two\n")
    documents = read(path, Columns(id="2", text="3"))
    assert documents == [Document("a", "one"), Document("b", "two")]
    assert documents[1].metadata == {"1": "u2"}


def test_csv_quotes_go_over_lines_and_long_fields_are_read(tmp_path: Path) -> None:
    long = "word " * 40_000
    content = f'id,text\n1,"first, ""one""\nsecond line"\n\n2,"{long}"\n3\n'
    data = load(write(tmp_path / "d.csv.gz", gzip.compress(content.encode())), skip_bad=True)
    documents = list(data.documents())
    assert documents[0].text == 'first, "one"\nsecond line'
    assert documents[1].text == long
    assert [(p.kind, p.line) for p in data.problems] == [("wrong columns", 6)]


def test_tsv_takes_quotes_as_they_are(tmp_path: Path) -> None:
    (document,) = read(write(tmp_path / "d.tsv", 'id\ttext\n1\t"half open\n'))
    assert document.text == '"half open'


@pytest.mark.parametrize("name", ["d.csv", "d.tsv"])
def test_bad_bytes_are_reported_with_their_line(tmp_path: Path, name: str) -> None:
    tab = b"," if name.endswith("csv") else b"\t"
    content = tab.join([b"id", b"text"]) + b"\n" + tab.join([b"1", b"caf\xe9 au lait"]) + b"\n"
    with pytest.raises(DataError, match=rf"{name}:2: after 'caf' comes 0xe9"):
        read(write(tmp_path / name, content))


def test_a_row_of_another_length_is_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "d.tsv", "id\ttext\n1\tone\n2\ttwo\textra\n")
    with pytest.raises(DataError, match=r"d\.tsv:3: found 3 columns; expected 2 \(id, text\)"):
        read(path)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (None, r"d\.csv:1: the columns are a, b; expected an id \(_id or id.*Name them: "),
        (Columns(id="a", text="c"), r"expected an id \(a\), a text \(c\) and a, c"),
        (Columns(id="a", text="b", title="t"), r"and a, t, b"),
        (Columns(id="1", text="3"), r"the columns are a, b"),
    ],
)
def test_columns_that_are_not_there(tmp_path: Path, columns: Columns | None, message: str) -> None:
    path = write(tmp_path / "d.csv", "a,b\n1,one\n")
    with pytest.raises(DataError, match=message):
        load(path, columns=columns)


def test_columns_change_the_fingerprint(tmp_path: Path) -> None:
    path = write(tmp_path / "d.csv", "id,text,body\n1,one,two\n")
    assert load(path).fingerprint != load(path, columns=Columns(text="body")).fingerprint


def test_a_toml_file_describes_files_anywhere(tmp_path: Path) -> None:
    write(tmp_path / "pages.csv", "no,words\nd1,one\nd2,two\n")
    write(tmp_path / "topics.txt", "q1\tfirst\nq2\tsecond\n")
    write(tmp_path / "judged.qrels", "q1 0 d2 1\n")
    write(
        tmp_path / "mine.toml",
        'documents = "pages.csv"\nqueries = ["topics.txt"]\njudgments.test = "judged.qrels"\n'
        '[columns]\nid = "no"\ntext = "words"\n',
    )
    data = load(tmp_path / "mine.toml")
    assert data.name == "mine"
    assert [document.text for document in data.documents()] == ["one", "two"]
    assert data.judgments("test") == {"q1": {"d2": 1}}


def test_a_toml_file_with_an_unknown_setting(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.toml", 'documents = "d.csv"\nquerys = []\n')
    with pytest.raises(ConfigError, match=r"unknown setting 'querys'; did you mean 'queries'"):
        load(path)


def test_a_documents_file_takes_queries_and_judgments(tmp_path: Path) -> None:
    documents = write(tmp_path / "d.jsonl", '{"id": "d1", "text": "one"}')
    queries = write(tmp_path / "q.csv", "qid,query\nq1,first\n")
    qrels = write(tmp_path / "test.qrels", "q1\td1\n")
    data = load(documents, queries=[queries], judgments={"test": qrels})
    assert data.queries()["q1"].text == "first"
    assert data.judgments("test") == {"q1": {"d1": 1}}
