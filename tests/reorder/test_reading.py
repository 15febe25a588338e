"""Passages as they come in: dictionaries, objects, and bad ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from support.passages import FIVE, ids, passage

from retrivex import Chunk, ChunkMetadata, Passage, Reorderer, RetrivexError, SeedHit
from retrivex.errors import PassageError
from retrivex.reorder import FieldNames, ReorderOptions

LENIENT = Reorderer(validation="coerce", strategy="score_desc")


@dataclass(frozen=True)
class Note:
    id: str
    text: str
    score: float
    metadata: dict[str, Any] = field(default_factory=dict)


class Row(BaseModel):
    id: str
    text: str
    score: float
    metadata: dict[str, Any] = {}


@pytest.mark.parametrize("make", [dict, SimpleNamespace, Note, Row, Passage], ids=lambda make: make.__name__)
def test_dictionaries_and_objects_come_back_as_they_are(make: Callable[..., Any]) -> None:
    passages = [make(id=name, text=name, score=score) for name, score in zip("abc", (0.2, 0.9, 0.5), strict=True)]
    made = Reorderer().reorder(passages)
    assert [passages.index(one) for one in made] == [1, 0, 2]
    assert all(any(one is given for given in passages) for one in made)


@pytest.mark.parametrize("make", [dict, SimpleNamespace, Note], ids=lambda make: make.__name__)
def test_pairs_of_passage_and_score_come_back_as_pairs(make: Callable[..., Any]) -> None:
    passages = [
        (make(id=name, text=name, score=0.0), score) for name, score in zip("abc", (0.2, 0.9, 0.5), strict=True)
    ]
    assert Reorderer().reorder(passages) == [passages[1], passages[0], passages[2]]
    noted = Reorderer(include_explanation=True, strategy="score_desc").reorder(passages)
    assert [score for _, score in noted] == [0.9, 0.5, 0.2]
    metadata = noted[0][0]["metadata"] if make is dict else noted[0][0].metadata
    assert metadata["explanation"]["priority_score"] == 0.9


@pytest.mark.parametrize("make", [SimpleNamespace, Note, Row, Passage, dict], ids=lambda make: make.__name__)
def test_notes_are_added_to_copies(make: Callable[..., Any]) -> None:
    given = [make(id="a", text="a", score=0.5, metadata={"timestamp": 3})]
    made = Reorderer(include_priority_score=True, include_explanation=True).reorder(given)
    metadata = made[0]["metadata"] if make is dict else made[0].metadata
    assert (metadata["priority_score"], metadata["explanation"]["position"], metadata["timestamp"]) == (0.5, 0, 3)
    untouched = given[0]["metadata"] if make is dict else given[0].metadata
    assert untouched == {"timestamp": 3}
    assert type(made[0]) is type(given[0])


def test_what_cannot_be_copied_says_so() -> None:
    class Slotted:
        __slots__ = ("id", "score", "text")

    one = Slotted()
    one.id, one.score, one.text = "a", 0.5, "a"
    assert Reorderer().reorder([one]) == [one]
    with pytest.raises(PassageError, match="read both from reorder_with_diagnostics"):
        Reorderer(include_explanation=True).reorder([one])


def test_names_of_fields_are_settable() -> None:
    rows = [
        {"key": "a", "body": "A", "info": {"rank": {"value": 0.1}, "doc": "x", "when": 2}},
        {"key": "b", "body": "B", "info": {"rank": {"value": 0.7}, "doc": "y", "when": 1}},
        {"key": "c", "body": "C", "info": {"rank": {"value": 0.3}, "doc": "y", "when": 3}},
    ]
    names = FieldNames(
        id="key", text="body", metadata="info", score="info.rank.value", source_id="doc", timestamp="when"
    )
    made = {
        strategy: Reorderer(strategy=strategy, fields=names).reorder(rows) for strategy in ("document", "chronological")
    }
    assert [row["key"] for row in made["document"]] == ["b", "c", "a"]
    assert [row["key"] for row in made["chronological"]] == ["b", "a", "c"]
    assert Reorderer(fields={"id": "key"}).options.fields.id == "key"


def test_documents_of_frameworks() -> None:
    langchain = [SimpleNamespace(id=str(i), page_content="t", metadata={"score": i}) for i in range(3)]
    assert [one.id for one in Reorderer(fields="langchain", strategy="score_desc").reorder(langchain)] == [
        "2",
        "1",
        "0",
    ]
    llamaindex = [SimpleNamespace(node_id=str(i), text="t", metadata={}, score=float(i)) for i in range(3)]
    assert [one.node_id for one in Reorderer(fields="llamaindex").reorder(llamaindex)] == ["2", "0", "1"]
    haystack = [SimpleNamespace(id=str(i), content="t", meta={"source_id": i % 2}, score=float(i)) for i in range(3)]
    assert [one.id for one in Reorderer(fields="haystack", strategy="document").reorder(haystack)] == ["0", "2", "1"]


def test_seed_hits() -> None:
    places = [("x", 2, 0.9), ("y", 0, 0.7), ("x", 1, 0.5)]
    hits = [SeedHit(Chunk("text", ChunkMetadata(doc_id, chunk_id)), score) for doc_id, chunk_id, score in places]
    assert Reorderer(fields="hits").reorder(hits) == [hits[0], hits[2], hits[1]]
    assert Reorderer(fields="hits", strategy="document").reorder(hits) == [hits[2], hits[0], hits[1]]
    with pytest.raises(PassageError, match="a SeedHit cannot be copied"):
        Reorderer(fields="hits", include_explanation=True).reorder(hits)


def test_places_stand_in_for_ids() -> None:
    made = Reorderer(fields={"id": None}, top_k=1).reorder_with_diagnostics(
        [{"text": "a", "score": i} for i in range(2)]
    )
    assert [one["score"] for one in made.passages] == [1]
    assert [one.id for one in made.diagnostics.dropped] == ["passage-0"]


def test_passages_without_scores_count_as_ranked() -> None:
    plain = [{"id": name, "text": name} for name in "abcde"]
    assert ids(Reorderer(fields={"score": None}).reorder(plain)) == "acedb"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("text", "passages are a str"),
        ({"id": "a"}, "passages are a dict"),
        (7, "passages are a int"),
        ([{"id": "a", "score": 1}], "'text'.*is missing"),
        ([{"id": "a", "score": 1, "text": None}], "is None: it must be a string"),
        ([{"text": "a", "score": 1}], "'id'.*is missing"),
        ([{"id": "", "text": "a", "score": 1}], "non-empty"),
        ([{"id": True, "text": "a", "score": 1}], "True"),
        ([{"id": "a", "text": "a"}], "'score'.*is missing: it must be a finite number"),
        ([passage("a", float("nan"))], "nan: it must be a finite number"),
        ([passage("a", float("inf"))], "inf"),
        ([passage("a", True)], "True"),
        ([passage("a", "0.5")], "'0.5'"),  # type: ignore[arg-type]
        ([passage("a", Decimal("0.5"))], "Decimal"),  # type: ignore[arg-type]
        ([passage("a", 10**400)], "finite"),
        ([passage("a", np.complex128(0.5))], "it must be a finite number"),  # type: ignore[arg-type]
        ([{**passage("a", 1), "metadata": "x"}], "a mapping"),
        ([{**passage("a", 1), "token_count": -1}], "at least 0"),
        ([passage("a", 1, token_count="many")], "'token_count'.*'many'"),
        ([passage("a", 1, timestamp="2024-01-01")], "'timestamp'.*2024"),
        ([passage("a", 1, section_index=float("nan"))], "'section_index'.*nan"),
        ([passage("a", 1, page=[1])], r"'page'.*\[1\]"),
        ([passage("a", 1, source_id=["x"])], "'source_id'.*a string or a number"),
        ([passage("a", 1, source_reliability="high")], "'source_reliability'"),
        ([None], "'id'.*is missing"),
    ],
    ids=str,
)
def test_strict_raises_with_the_value_the_rule_and_the_way_out(given: Any, message: str) -> None:
    with pytest.raises(PassageError, match=message):
        Reorderer().reorder(given)


def test_coerce_mends_and_reports() -> None:
    given = [
        passage("a", float("nan"), timestamp="yesterday", source_id={}),
        passage("b", 0.9, source_reliability=None),
        {"text": "no id", "score": 0.5},
        {"id": "d", "score": 0.7},
        {**passage("e", 0.8), "metadata": 3, "token_count": "x"},
    ]
    made = LENIENT.reorder_with_diagnostics(given)
    assert [one.get("id") for one in made.passages] == ["b", "e", None, "a"]
    found = made.diagnostics
    assert (found.input_count, found.used_count, found.coerced_scores) == (5, 4, 1)
    assert found.dropped_fields == {"timestamp": 1, "source_id": 1, "metadata": 1, "token_count": 1}
    assert [(one.index, one.id, one.reason) for one in found.dropped] == [(3, "d", "unusable")]
    told = "\n".join(found.warnings)
    for words in ("counts 0: nan in passage 0", "'timestamp' left out: 'yesterday'", "without an id", "without a text"):
        assert words in told
    assert given[0]["metadata"]["timestamp"] == "yesterday"


def test_bad_metadata_takes_no_part() -> None:
    given = [passage("a", 0.5, source_id=["x"]), passage("b", 0.9, source_id="x"), passage("c", 0.1)]
    assert ids(Reorderer(validation="coerce", group_by="source_id").reorder(given)) == "bac"


def test_passages_that_share_an_id_are_told() -> None:
    made = Reorderer().reorder_with_diagnostics([passage("a", 0.5), passage("a", 0.9)])
    assert [one["score"] for one in made.passages] == [0.9, 0.5]
    assert any("share an id: 'a' (2 times)" in warning for warning in made.diagnostics.warnings)


def test_nothing_in_nothing_out() -> None:
    for strategy in ("edge_balanced", "document", "auto", "profile", "chronological"):
        made = Reorderer(strategy=strategy).reorder_with_diagnostics([])
        assert (made.passages, made.diagnostics.output_count) == ([], 0)


def test_more_than_max_input_raises_or_is_cut() -> None:
    with pytest.raises(PassageError, match="5 passages are more than max_input=3"):
        Reorderer(max_input=3).reorder(FIVE)
    cut = Reorderer(max_input=3, max_input_behavior="truncate").reorder_with_diagnostics(FIVE)
    assert (ids(cut.passages), cut.diagnostics.input_truncated, cut.diagnostics.used_count) == ("acb", True, 3)
    assert [(one.id, one.reason) for one in cut.diagnostics.dropped] == [("d", "max_input"), ("e", "max_input")]
    assert ids(Reorderer(max_input=5).reorder(FIVE)) == "acedb"


def test_numbers_of_numpy_are_numbers() -> None:
    given = [{"id": np.int64(7), "text": "a", "score": np.float32(0.5), "metadata": {"timestamp": np.int32(3)}}]
    assert Reorderer(strategy="chronological").reorder(given) == given


def test_uuids_and_numbers_name_passages_and_sources() -> None:
    one, other = uuid4(), uuid4()
    sources = [one, np.int64(7), str(one), 7.0, other]
    given = [{"id": uuid4(), "text": "a", "score": 5 - i, "metadata": {"source_id": x}} for i, x in enumerate(sources)]
    made = Reorderer(strategy="document").reorder(given)
    assert [given.index(found) for found in made] == [0, 2, 1, 3, 4]


def test_options_are_one_object() -> None:
    options = ReorderOptions(strategy="score_desc")
    assert ids(Reorderer(options, top_k=2).reorder(FIVE)) == "ab"
    with pytest.raises(ValueError, match="give ReorderOptions"):
        Reorderer({"strategy": "score_desc"})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="query is a int"):
        Reorderer().reorder(FIVE, 3)  # type: ignore[arg-type]


junk = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=3) | st.integers(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)
FIELDS = ["timestamp", "section_index", "page", "source_id", "source_reliability", "token_count"]
odd = st.fixed_dictionaries(
    {}, optional={"id": junk, "text": st.text(max_size=5) | junk, "score": junk, "token_count": junk,
                  "metadata": junk | st.dictionaries(st.sampled_from(FIELDS), junk, max_size=3)}
)  # fmt: skip


@given(
    st.lists(odd | junk, max_size=6), st.sampled_from(["edge_balanced", "document", "chronological", "auto", "profile"])
)
def test_coerce_takes_anything_and_accounts_for_all_of_it(given: list[Any], strategy: str) -> None:
    made = Reorderer(validation="coerce", strategy=strategy, max_chars=12).reorder_with_diagnostics(given, "when?")
    left_out = [one.index for one in made.diagnostics.dropped]
    assert len(made.passages) + len(left_out) == len(given)
    assert len(set(left_out)) == len(left_out)
    assert all(isinstance(one.get("text"), str) for one in made.passages)


class Odd:
    """A passage of which reading fails."""

    id, text = "odd", "Bees."

    @property
    def score(self) -> float:
        raise ConnectionError("gone")


def test_a_passage_that_cannot_be_read_is_named() -> None:
    with pytest.raises(PassageError, match=r"passage 1 cannot be read: ConnectionError\('gone'\); leave it out"):
        Reorderer().reorder([FIVE[0], Odd()])


@pytest.mark.parametrize("wrong", [np.array("Bees."), "Bees.", None, 5, {"id": 1}], ids=repr)
def test_passages_are_a_list(wrong: Any) -> None:
    for call in (Reorderer().reorder, lambda given: list(Reorderer().reorder_stream(given))):
        with pytest.raises(PassageError, match="passages are a"):
            call(wrong)


@pytest.mark.parametrize("name", [["x"], None, {"strategy": "auto"}, "fast"], ids=repr)
def test_presets_have_names(name: Any) -> None:
    with pytest.raises(RetrivexError, match="does not exist: choose one of standard"):
        Reorderer.preset(name)


@pytest.mark.parametrize("returned", [None, -1, "9"])
def test_a_count_of_characters_is_a_number(returned: Any) -> None:
    with pytest.raises(RetrivexError, match=r"count_chars returned .* for a text of"):
        Reorderer(max_chars=9, count_chars=lambda text: returned).reorder(FIVE)


def test_diagnostics_are_made_for_who_reads_them() -> None:
    counted: list[str] = []

    def count(text: str) -> float:
        counted.append(text)
        return len(text)

    passages = [{"id": i, "text": "bee", "score": 1 - i / 9} for i in range(3)]
    Reorderer(max_chars=20, count_chars=count).reorder(passages)
    assert len(counted) == 3
    seen: list[Any] = []
    Reorderer(max_chars=20, count_chars=count, on_diagnostics=seen.append).reorder(passages)
    assert seen[0].chars_used == 9
