"""Rows of an evaluation: written whole, read back equal, and bad lines named."""

import json
from pathlib import Path

import pytest

from retrivex.errors import LoadError
from retrivex.evaluation.run.results import COMPRESSED, RESULTS, Excerpt, Row, Way, read_rows, write_rows

ROW = Row(
    "niah/4096",
    "q1",
    Way("dense", 50, "balanced", "edge_balanced", 2000),
    {"evidence_recall": 1.0},
    {"depth": 50, "language": "en"},
    context="Bees\u2028live.",
)


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    way = Way("bm25", 6, "knn", "shuffle", 500, seed=3)
    passages = {"missing": (Excerpt("bees", "Bees live in"),), "shown": (Excerpt("ants", "Ants"), Excerpt("b", "B"))}
    other = Row("squad", "q2", way, {}, answer="In hives.", evidence=((0, 4), (6, 9)), **passages)
    write_rows(tmp_path / RESULTS, [ROW, other])

    assert read_rows(tmp_path) == read_rows(tmp_path / RESULTS) == [ROW, other]
    assert [path.name for path in tmp_path.iterdir()] == [RESULTS]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2"),
        ("[]", "line 2.*no object"),
        ('{"set_name": "a"}', "line 2.*question_id"),
        (json.dumps({**ROW.to_dict(), "measures": [1]}), "line 2.*measures is"),
        (json.dumps({**ROW.to_dict(), "measures": {"complete": "yes"}}), r"line 2.*measures\.complete is 'yes'"),
        (json.dumps({**ROW.to_dict(), "measures": {"complete": float("nan")}}), r"line 2.*measures\.complete is nan"),
        (json.dumps({**ROW.to_dict(), "hits": 6.5}), r"line 2.*hits is 6\.5"),
        (json.dumps({**ROW.to_dict(), "factors": {"kind": [1]}}), r"line 2.*factors\.kind"),
        (json.dumps({**ROW.to_dict(), "shown": [{"doc_id": "bees"}]}), r"line 2.*shown\.0\.text"),
        (json.dumps({**ROW.to_dict(), "evidence": [[0, 1.5]]}), r"line 2.*evidence\.0\.1 is 1\.5"),
    ],
)
def test_bad_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / RESULTS
    write_rows(path, [ROW])
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")

    with pytest.raises(LoadError, match=said):
        read_rows(path)


def test_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="cannot be read"):
        read_rows(tmp_path / "none")


def test_compressed_rows_are_read_and_are_the_same_file_each_time(tmp_path: Path) -> None:
    write_rows(tmp_path / COMPRESSED, [ROW])
    first = (tmp_path / COMPRESSED).read_bytes()
    write_rows(tmp_path / COMPRESSED, [ROW])

    assert read_rows(tmp_path) == [ROW]
    assert (tmp_path / COMPRESSED).read_bytes() == first
    (tmp_path / COMPRESSED).write_bytes(first[:-9])
    with pytest.raises(LoadError, match="cannot be read"):
        read_rows(tmp_path)
