"""Queries and mappings of the search engines, without an engine: evaluated over records as their documentation says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.search.queries import BadQueryError, Index, Query
from support.where_cases import ODD

from retrivex.adapters.base.fields import FieldMap
from retrivex.adapters.base.where import FieldTest, read_where
from retrivex.adapters.search.collection import BATCH_LIMIT
from retrivex.adapters.search.fields import IndexFields, SearchDialect
from retrivex.adapters.search.mapping import IndexMapping
from retrivex.adapters.search.query import all_of, in_scope, in_windows
from retrivex.merging.intervals import merge_windows
from retrivex.model.window import Window

NAMES = ["a", "b", "it's", '"}]}', "*"]
PROPERTIES = {"properties": {"doc_id": {"type": "keyword"}, "n": {"type": "integer"}, "digits": {"type": "keyword"}}}
window = st.builds(
    lambda name, start, size: Window(name, start, start + size),
    st.sampled_from(NAMES),
    st.integers(0, 20),
    st.integers(1, 4),
)


def everything() -> Index:
    index = Index({**PROPERTIES})
    for name in NAMES:
        for n in range(25):
            index.put(f"{name}:{n}", {"doc_id": name, "n": n, "digits": str(n)})
    return index


def found(index: Index, query: Any) -> set[str]:
    return set(Query(index, "opensearch", query).scores())


@given(st.lists(window, min_size=1, max_size=12), st.booleans())
def test_windows_match_their_chunks_and_nothing_else(given_: list[Window], is_number: bool) -> None:
    merged = merge_windows(given_)
    query = in_windows(merged, ["doc_id"], ["n" if is_number else "digits"], is_number=is_number)
    expected = {f"{w.doc_id}:{n}" for w in merged for n in range(w.start, w.end) if n < 25}
    assert found(everything(), query) == expected


def test_no_search_has_more_clauses_than_a_cluster_takes() -> None:
    index = everything()
    query = in_windows([Window(f"d{n}", n, n + 1) for n in range(BATCH_LIMIT)], ["doc_id"], ["n"], is_number=True)
    scope = in_scope("scope", ("scope", "scope.keyword"), frozenset({"acme", None}))
    Query(index, "opensearch", all_of([query, *scope]))  # counts them
    with pytest.raises(BadQueryError, match="maxClauseCount"):
        Query(index, "opensearch", {"bool": {"should": [{"match_all": {}}] * 1025}})


def test_documents_with_the_same_window_share_a_clause() -> None:
    query = in_windows([Window(f"d{n}", 0, 3) for n in range(500)], ["doc_id"], ["n"], is_number=True)
    terms, numbers = query["bool"]["filter"]
    assert len(terms["terms"]["doc_id"]) == 500
    assert numbers == {"range": {"n": {"gte": 0, "lt": 3}}}


@given(st.sets(st.sampled_from([None, "acme", "zebra", "", "*"])))
def test_a_scope_sees_its_own_records_alone(scopes: set[str | None]) -> None:
    index = Index({"properties": {"scope": {"type": "keyword"}}})
    index.records = {str(at): {} if at is None else {"scope": at} for at in [None, "acme", "zebra", "", "*"]}
    query = all_of(in_scope("scope", ["scope"], frozenset(scopes)))
    assert found(index, query) == {str(scope) for scope in scopes}


def test_records_without_scopes_are_seen_by_those_who_may_see_such_records() -> None:
    assert in_scope(None, [], frozenset({None, "acme"})) == []
    assert in_scope(None, [], frozenset({"acme"})) == [{"match_none": {}}]


# ---- filters

_KEYWORD = {"type": "keyword"}
_MAPPINGS: dict[str, dict[str, Any]] = {
    **{kind: {"type": kind} for kind in ("keyword", "long", "integer", "short", "float", "double", "boolean", "text")},
    "short keyword": {"type": "keyword", "ignore_above": 256},
    "text and keyword": {"type": "text", "fields": {"raw": {"type": "keyword", "ignore_above": 256}}},
    "any keyword beside": {"type": "text", "fields": {"raw": _KEYWORD}},
    "folded": {"type": "keyword", "normalizer": "lowercase"},
    "half_float": {"type": "half_float"},
    "scaled_float": {"type": "scaled_float", "scaling_factor": 100},
    "date": {"type": "date"},
    "object": {"type": "object", "enabled": False},
}
_TEXT_VALUES: list[Any] = [
    "a", "A", "abcd", "ABCD", "é", "1", "1.0", "", "true", 1, 1.0, 0.5, True, ["a", "abcd"], ["b", None], [], "x" * 300,
    ["a", "x" * 300 + "d"],
]  # fmt: skip
_NUMBER_VALUES: list[Any] = [0, 1, 2, -3, 300, 32767, [1, 300], [], None]
_FLOATS: list[Any] = [*_NUMBER_VALUES, 0.1, 0.3, 1_700_000_003.5, [0.1, 2], 2**53 + 1]
_HELD: dict[str, list[Any]] = {
    **dict.fromkeys(("keyword", "short keyword", "text and keyword", "any keyword beside", "folded"), _TEXT_VALUES),
    **dict.fromkeys(("text", "object", "date"), _TEXT_VALUES),
    **dict.fromkeys(("float", "double", "half_float", "scaled_float"), _FLOATS),
    **dict.fromkeys(("integer", "short"), _NUMBER_VALUES),
    "long": [*_NUMBER_VALUES, 2**53 + 1],
    "boolean": [True, False, None, [True, False], []],
}
_ASKED = [
    *ODD, "ABCD", "abcd", ["abcd", 1], "1.0", 1_700_000_003.5, {"above": 0.3}, {"max": 0.1}, {"above": 1_700_000_003},
    {"min": 2**40}, {"max": 2**40}, {"below": -(2**40)}, {"starts": "AB"}, {"contains": "bc"}, {"min": "B", "max": "b"},
    {"ends": "d"}, "x" * 300,
]  # fmt: skip


@pytest.mark.parametrize("kind", list(_MAPPINGS))
def test_a_filter_finds_what_fits_and_only_an_exact_one_nothing_else(kind: str) -> None:
    held, known = _HELD[kind], _MAPPINGS[kind]
    index = Index({"properties": {"v": known}})
    index.records = {"none": {}, **{str(at): {"v": value} for at, value in enumerate(held)}}
    dialect = SearchDialect(IndexFields(mapping({"properties": {"v": known}}), FieldMap(), None, "index"))
    pushes = 0
    for wanted in _ASKED:
        group = read_where({"metadata.v": wanted})
        assert group is not None
        [test] = group.parts
        assert isinstance(test, FieldTest)
        condition, exact = dialect.test(test)
        fitting = {id for id, record in index.records.items() if test.fits(record.get("v"))}
        if condition is not None:
            pushes += 1
            matched = found(index, condition)
            # what holds a null among others cannot be asked for: nulls are in no index
            nulls = {str(at) for at, value in enumerate(held) if isinstance(value, list) and None in value}
            assert fitting - (nulls if test.missing else set()) <= matched, wanted
            assert not exact or matched == fitting, wanted
    assert pushes > 20 or kind in ("half_float", "scaled_float", "date", "object", "text", "folded")


@pytest.mark.parametrize(
    "known",
    [
        {"properties": {"metadata": {"properties": {"year": {"type": "long"}}}}},  # named without its root
        {"properties": {"metadata": {"type": "keyword"}}},  # a text of JSON
        {"properties": {"metadata": {"type": "object", "enabled": False}}},
        {"properties": {"metadata": {"dynamic": "false", "properties": {}}}},
        {"dynamic": "false", "properties": {}},
    ],
)
def test_what_is_kept_without_being_mapped_under_its_name_is_left_to_the_check(known: dict[str, Any]) -> None:
    dialect = SearchDialect(IndexFields(mapping(known), FieldMap(), None, "index"))
    for wanted in (1791, None, {"min": 3}):
        assert dialect.translate(read_where({"metadata.year": wanted})) is None
        assert dialect.translate(read_where({"not": {"metadata.year": wanted}})) is None
    plain = SearchDialect(IndexFields(mapping({"properties": {}}), FieldMap(), None, "index"))
    assert plain.translate(read_where({"metadata.year": 1791})) == all_of([{"match_none": {}}])


# ---- mappings


def mapping(*indices: dict[str, Any]) -> IndexMapping:
    return IndexMapping.read({f"index-{at}": {"mappings": known} for at, known in enumerate(indices)})


TEXT = {"type": "text", "fields": {"stem": {"type": "text"}, "raw": {"type": "keyword"}}}


@pytest.mark.parametrize(
    ("known", "exact"),
    [
        ({"properties": {"source": {"type": "keyword"}}}, ("source",)),
        ({"properties": {"source": TEXT}}, ("source.raw",)),
        ({"properties": {"source": {"type": "text"}}}, ()),
        ({"properties": {"source": {"type": "long"}}}, ("source",)),
        ({"properties": {"source": {"type": "dense_vector"}}}, ()),
        ({"runtime": {"source": {"type": "keyword"}}}, ("source",)),
        ({"properties": {}}, ()),
        ({}, ()),
    ],
)
def test_values_are_compared_where_they_are_kept_letter_by_letter(
    known: dict[str, Any], exact: tuple[str, ...]
) -> None:
    assert mapping(known).exact("source") == exact


@pytest.mark.parametrize("kind", ["flattened", "flat_object"])
def test_what_lies_in_a_flattened_object_is_kept_letter_by_letter(kind: str) -> None:
    known = mapping({"properties": {"metadata": {"type": kind}}})
    assert known.exact("metadata.source") == ("metadata.source",)
    assert not known.is_number("metadata.chunk_id")
    assert known.advice("metadata.source", "metadata.chunk_id") is None


def test_what_is_nested_cannot_be_asked_for_like_the_rest() -> None:
    inner = {"type": "nested", "properties": {"source": {"type": "keyword"}}}
    assert mapping({"properties": {"metadata": inner}}).exact("metadata.source") == ()


def test_indices_behind_one_alias_must_agree() -> None:
    keyword, text = {"properties": {"source": {"type": "keyword"}}}, {"properties": {"source": TEXT}}
    assert mapping(keyword, keyword).exact("source") == ("source",)
    assert mapping(keyword, {"properties": {}}).exact("source") == ("source",)
    assert mapping(keyword, text).exact("source") == ()
    assert "cannot be matched letter by letter" in str(mapping(keyword, text).advice("source", "source"))
