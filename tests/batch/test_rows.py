from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from retrivex import RetrivexError
from retrivex.batch import record_of
from retrivex.batch.rows import make_table
from retrivex.batch.schema import composition_schema

SCHEMA = composition_schema(pa.schema([("id", pa.int64())]))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"text": "Bees \ud83d"}, "a text holds half a surrogate pair, which Arrow cannot: replace it by U+FFFD"),
        ({"tokens": 10**30}, "the answer holds something that Arrow cannot"),
        ({"tokens": "ten"}, "the answer holds something that Arrow cannot"),
    ],
)
def test_a_row_that_arrow_cannot_hold_becomes_its_error_and_the_others_stay(bad: dict[str, Any], message: str) -> None:
    table = make_table([{"id": 1, "text": "Bees."}, {"id": 2, **bad}, {"id": 3, "text": "Wasps."}], SCHEMA, ["id"])
    first, second, third = table.to_pylist()
    assert (first["text"], first["error"], third["text"]) == ("Bees.", None, "Wasps.")
    assert (second["id"], second["text"]) == (2, None)
    assert message in second["error"]["message"]


def test_a_row_of_something_else_is_refused() -> None:
    with pytest.raises(RetrivexError, match=r"not a row of compositions: KeyError.*give a row that compose_table made"):
        record_of({"text": "Bees."})
