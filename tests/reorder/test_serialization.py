"""Passages to JSON and back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.passages import passage

from retrivex import Passage
from retrivex.errors import PassageError
from retrivex.reorder import deserialize_passages, serialize_passages

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
made_up = st.builds(
    Passage,
    id=st.text(min_size=1) | st.integers(),
    text=st.text(),
    score=st.floats(allow_nan=False, allow_infinity=False),
    metadata=st.dictionaries(st.sampled_from(["title", "tags", "Übersicht"]), values),
    token_count=st.none() | st.floats(0, 1e6),
)


@given(st.lists(made_up, max_size=4))
def test_what_is_written_is_read(passages: list[Passage]) -> None:
    assert deserialize_passages(serialize_passages(passages)) == passages


def test_dictionaries_and_other_names_are_written_alike() -> None:
    written = serialize_passages(
        [{"id": "a", "content": "x", "score": 1, "meta": {"n": np.int64(3)}}], fields="haystack"
    )
    assert json.loads(written) == [{"id": "a", "text": "x", "score": 1.0, "metadata": {"n": 3}}]


def test_what_json_has_no_form_for() -> None:
    odd = [passage("a", 1, when=object(), keep=[1, print], nan=float("nan"))]
    with pytest.raises(PassageError, match="metadata of passage 'a', 'when' is <object"):
        serialize_passages(odd)
    assert json.loads(serialize_passages(odd, skip_unserializable=True))[0]["metadata"] == {"keep": [1]}


def test_whole_numbers_too_long_to_be_written() -> None:
    with pytest.raises(PassageError, match="too long a number"):
        serialize_passages([{"id": "a", "text": "x", "score": 1, "metadata": {"n": 10**5000}}])


def test_half_a_surrogate_pair_is_written_as_an_escape() -> None:
    text = serialize_passages([Passage("a", "Bees \ud83d.", 1.0)])
    assert text.encode().isascii()
    assert deserialize_passages(text)[0].text == "Bees \ud83d."


def test_metadata_that_holds_itself() -> None:
    around: dict[str, Any] = {}
    around["again"] = around
    with pytest.raises(PassageError, match="too deep for JSON"):
        serialize_passages([{"id": "a", "text": "x", "score": 1, "metadata": around}])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read from JSON"),
        ("{}", "holds a dict"),
        ("[1]", "'id'.*missing"),
        ('[{"id": "a", "text": "x"}]', "'score'.*missing"),
        ('[{"id": "a", "text": "x", "score": NaN}]', "nan"),
        ('[{"id": "a", "text": "x", "score": 1, "metadata": {"timestamp": "now"}}]', "'timestamp'"),
        (None, "cannot be read from JSON"),
        ("[" * 100_000, "cannot be read from JSON"),
    ],
    ids=lambda text: str(text)[:20],
)
def test_what_is_no_json_of_passages(text: Any, message: str) -> None:
    with pytest.raises(PassageError, match=message):
        deserialize_passages(text)


def test_bad_values_can_be_left_out() -> None:
    text = '[{"id": "a", "text": "x", "score": NaN, "metadata": {"timestamp": "now", "title": "T"}}, {"id": "b"}]'
    assert deserialize_passages(text, validation="coerce") == [Passage("a", "x", 0.0, {"title": "T"})]


def test_names_of_fields_are_checked() -> None:
    assert serialize_passages([{"key": 1, "text": "?", "score": 1}], fields={"id": "key"}).startswith('[{"id": 1')
    for wrong in (5, ["id"], {"ids": "key"}):
        with pytest.raises(
            ValueError, match=r"FieldNames is (5|\[.id.\]): it should be|ids: there is no such option; did you mean id"
        ):
            serialize_passages([], fields=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("validation", ["lax", None, ["strict"]])
def test_validation_is_strict_or_coerce(validation: Any) -> None:
    with pytest.raises(PassageError, match=r"validation is .*: choose one of strict, coerce"):
        deserialize_passages("[]", validation=validation)
