"""Queries and mappings of the search engines, without an engine: evaluated over records as their documentation says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.search.queries import BadQueryError, Index, Query

from retrivex.adapters.search.collection import BATCH_LIMIT
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
