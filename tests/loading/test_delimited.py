from pathlib import Path

import pytest

from retrivex.chunking import get_chunker
from retrivex.errors import LoadError
from retrivex.loading import load_file
from retrivex.loading.delimited import load_delimited
from retrivex.loading.report import Loaded


def read(text: str) -> Loaded:
    return load_delimited(text.encode(), "a.csv", "/x/a.csv")


def test_a_file_is_one_table() -> None:
    loaded = read("sku,name,price\n1,Pump,10\n")
    assert loaded.document.text == "| sku | name | price |\n| --- | --- | --- |\n| 1 | Pump | 10 |\n"
    assert (loaded.document.format, loaded.document.source, loaded.notes) == ("markdown", "/x/a.csv", ())


@pytest.mark.parametrize("name", ["parts.csv", "parts.tsv"])
def test_every_later_chunk_has_the_head_as_its_prefix(tmp_path: Path, name: str) -> None:
    mark = "\t" if name.endswith("tsv") else ","
    rows = [
        mark.join(row) for row in [("sku", "name", "price"), *((f"A-{n}", f"pump {n}", f"{n}.50") for n in range(90))]
    ]
    (tmp_path / name).write_text("\n".join(rows))
    (document,) = load_file(tmp_path / name)
    first, *later = get_chunker("auto").chunk(document)
    assert first.text.startswith("| sku | name | price |\n")
    assert len(later) > 2
    assert {chunk.metadata.prefix for chunk in later} == {"| sku | name | price |\n| --- | --- | --- |\n"}


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ('a,b\n"Pump,\nlarge","5|8"" wide"\n', r'| Pump, large | 5\|8" wide |'),
        ("a;b\n1,5;2,5\n", "| 1,5 | 2,5 |"),
        ("a\tb\nx, y\tz, y\n", "| x, y | z, y |"),
        ("a|b\nx|y\n", "| x | y |"),
        ("sep=;\r\na;b\r\n1,5;2\r\n", "| 1,5 | 2 |"),
        ("a,b\n\n,\nx,\u2028y\n", "| x | y |"),
        ('a,b\nx,5" wide\n', '| x | 5" wide |'),
    ],
)
def test_separators_and_quotes(text: str, row: str) -> None:
    assert read(text).document.text == f"| a | b |\n| --- | --- |\n{row}\n"


def test_lines_above_the_head_are_a_paragraph() -> None:
    text = read("Report 2024,,\n\nsku,name,price\n1,Pump,10\n").document.text
    assert text.startswith("Report 2024\n\n| sku | name | price |\n")


@pytest.mark.parametrize(
    ("text", "head", "note"),
    [
        (
            "1,2.5\n3,4\n",
            "|  |  |\n| --- | --- |\n| 1 | 2.5 |",
            "its first row holds numbers: its columns have no names",
        ),
        ("Region,2019\nNorth,4\n", "| Region | 2019 |", None),
        ('a,b\n"x,1\ny,2\n', "| a | b |", "a quotation mark in it is not closed: all of them were read as text"),
    ],
)
def test_heads_and_notes(text: str, head: str, note: str | None) -> None:
    loaded = read(text)
    assert loaded.document.text.startswith(head)
    assert loaded.notes == (() if note is None else (note,))


def test_a_quote_that_is_not_closed_costs_no_row() -> None:
    assert read('a,b\n"x,1\ny,2\n').document.text.endswith('| "x | 1 |\n| y | 2 |\n')


def test_one_column_is_text() -> None:
    document = read("bees\nants\n").document
    assert (document.text, document.format) == ("bees\nants\n", "text")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "empty"),
        (b",\n,\n", "empty"),
        (b"a,b\0\n", "NUL"),
        (b"a,b\n" + b"x" * 200_000 + b",y\n", "its rows cannot be read .*field larger than field limit"),
        (b"x," * 9000 + b"\n" + b"a,b\n" * 9000, "more than [0-9,]+ characters come of its"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, raw: bytes, reason: str) -> None:
    (tmp_path / "a.csv").write_bytes(raw)
    with pytest.raises(LoadError, match=reason):
        load_file(tmp_path / "a.csv")
