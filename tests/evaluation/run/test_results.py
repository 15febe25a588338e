"""Rows of an evaluation: written whole, read back equal, and bad lines named."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from retrivex.errors import LoadError
from retrivex.evaluation.run.results import COMPRESSED, RESULTS, Excerpt, Row, Way, read_rows, without_nan, write_rows

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
        ('{"set_name": "a"}', "line 2.*retriever"),
        ("[]", "line 2"),
        (json.dumps({**ROW.to_dict(), "measures": [1]}), "line 2.*measures are"),
        (json.dumps({**ROW.to_dict(), "measures": {"complete": "yes"}}), "line 2.*complete is 'yes'"),
        (json.dumps({**ROW.to_dict(), "measures": {"complete": float("inf")}}), "line 2.*complete is inf, no finite"),
        (json.dumps({**ROW.to_dict(), "measures": {"complete": 10**400}}), "line 2.*complete is 10+, no finite"),
        (json.dumps({**ROW.to_dict(), "budget": "1000"}), "line 2.*budget is '1000', no whole number"),
        (json.dumps({**ROW.to_dict(), "hits": 6.5}), r"line 2.*hits is 6\.5, no whole number"),
        (json.dumps({**ROW.to_dict(), "seed": True}), "line 2.*seed is True, no whole number"),
        (json.dumps({**ROW.to_dict(), "composer": ["knn"]}), r"line 2.*composer is \['knn'\], no text"),
        (json.dumps({**ROW.to_dict(), "composer": "\ud800"}), "line 2.*composer is .*half a character"),
        (json.dumps({**ROW.to_dict(), "factors": {"task": "\ud800"}}), "line 2.*the factor task is .*half a character"),
        (json.dumps({**ROW.to_dict(), "question_id": 7}), "line 2.*question_id is 7, no text"),
        (json.dumps({**ROW.to_dict(), "context": 7}), "line 2.*context is 7, no text"),
        (json.dumps({**ROW.to_dict(), "factors": [1]}), "line 2.*factors are"),
        (json.dumps({**ROW.to_dict(), "factors": {"kind": [1]}}), "line 2.*the factor kind is"),
        (json.dumps({**ROW.to_dict(), "factors": {"kind": float("nan")}}), "line 2.*the factor kind is nan"),
        (json.dumps({**ROW.to_dict(), "factors": {"tokens": 10**400}}), "line 2.*the factor tokens is 10+, no finite"),
        (json.dumps({**ROW.to_dict(), "missing": "bees"}), "line 2.*missing is 'bees', no list"),
        (json.dumps({**ROW.to_dict(), "shown": ["bees"]}), "line 2.*shown is .*, no list of objects"),
        (json.dumps({**ROW.to_dict(), "shown": [{"doc_id": "bees"}]}), "line 2.*text is missing"),
        (json.dumps({**ROW.to_dict(), "evidence": [[0, 1.5]]}), "line 2.*evidence holds .*no pair of whole numbers"),
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


def test_measures_that_are_nan_are_left_out_and_counted() -> None:
    rows = [replace(ROW, measures={"complete": math.nan, "ms": 1.0}), replace(ROW, measures={"complete": math.nan})]
    kept, told = without_nan([*rows, ROW])

    assert [dict(row.measures) for row in kept] == [{"ms": 1.0}, {}, {"evidence_recall": 1.0}]
    assert told == ["2 figures are NaN and count as not measured: complete 2"]
    assert without_nan([ROW]) == ([ROW], [])
