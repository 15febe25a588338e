"""Conventions of other tools as translations: filters, scopes, limits; no HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.service_world import make_engine, make_index

from retrivex import Document
from retrivex.composer.requests import RequestError
from retrivex.errors import RetrivexError
from retrivex.service.access import Access
from retrivex.service.conventions.dify import retrieve_records
from retrivex.service.conventions.openai import search_vector_store
from retrivex.service.engine import Engine
from retrivex.service.errors import LimitError, NotFoundError

JULY = 1_782_864_000.0  # the first of July 2026, UTC
ACME = Access("k1", frozenset({"acme"}))
BOTH = Access("k2", frozenset({"acme", None}))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    path = tmp_path_factory.mktemp("index") / "index.db"
    text = "Bees live in hives."
    made = make_engine(
        make_index(
            path,
            Document("a", text, metadata={"year": 2020, "lang": "en", "day": "2026-06-01", "draft": True}),
            Document("b", text, metadata={"year": 2021, "lang": "de", "day": "2026-08-01", "tags": ["red", "blue"]}),
            Document("c", text, metadata={"title": "Hives", "lang": "", "note": "x" * 600}, timestamp=JULY),
            Document("d", text, scope="acme", metadata={"year": 2020}),
            *(Document(f"other{number}", f"Wind and rain, {number}.") for number in range(8)),
        )
    )
    yield made
    made.close()


def openai(engine: Engine, filters: Any = None, access: Access | None = None, **more: Any) -> list[str]:
    body = {"query": "Where do bees live?", **({} if filters is None else {"filters": filters}), **more}
    page = search_vector_store(engine, "default", body, access or Access())
    return sorted(result["file_id"] for result in page["data"])


def dify(engine: Engine, *conditions: Any, access: Access | None = None, **more: Any) -> list[str]:
    condition = {"logical_operator": more.pop("logic", None), "conditions": list(conditions)}
    setting = {"top_k": more.pop("top_k", 10), "score_threshold": more.pop("least", 0.0)}
    body = {"knowledge_id": "default", "query": "Where do bees live?", "retrieval_setting": setting, **more}
    made = retrieve_records(engine, {**body, "metadata_condition": condition}, access or Access())
    return sorted(record["metadata"]["doc_id"] for record in made["records"])


def check(kind: str, key: str, value: Any) -> dict[str, Any]:
    return {"type": kind, "key": key, "value": value}


def when(name: str | list[str], operator: str, value: Any = None) -> dict[str, Any]:
    return {"name": name, "comparison_operator": operator, "value": value}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (None, "abc"),
        (check("eq", "year", 2020), "a"),
        (check("ne", "year", 2020), "bc"),
        (check("gt", "year", 2020), "b"),
        (check("gte", "year", 2020), "ab"),
        (check("lt", "year", 2021), "a"),
        (check("lte", "year", 2021.0), "ab"),
        (check("in", "lang", ["en", "de"]), "ab"),
        (check("nin", "lang", ["en", "fr"]), "bc"),
        (check("eq", "draft", True), "a"),
        (check("eq", "tags", "blue"), "b"),
        (check("eq", "file_id", "c"), "c"),
        (check("in", "filename", ["b", "c"]), "bc"),
        (check("gte", "timestamp", JULY), "c"),
        ({"type": "or", "filters": [check("eq", "lang", "de"), check("eq", "doc_id", "a")]}, "ab"),
        ({"type": "and", "filters": [check("gte", "year", 2020), check("ne", "lang", "en")]}, "b"),
        (
            {
                "type": "or",
                "filters": [
                    {"type": "and", "filters": [check("eq", "year", 2020), check("eq", "lang", "en")]},
                    check("eq", "title", "Hives"),
                ],
            },
            "ac",
        ),
        (check("eq", "year", "2020"), ""),
    ],
)
def test_filters_of_openai(engine: Engine, filters: Any, expected: str) -> None:
    assert openai(engine, filters) == list(expected)


@pytest.mark.parametrize(
    ("conditions", "logic", "expected"),
    [
        ([], None, "abc"),
        ([when("lang", "is", "en")], None, "a"),
        ([when("lang", "is not", "en")], None, "bc"),
        ([when("title", "contains", "ive")], None, "c"),
        ([when("title", "not contains", "ive")], None, "ab"),
        ([when("title", "start with", "Hi")], None, "c"),
        ([when("title", "end with", "es")], None, "c"),
        ([when("lang", "in", ["en", "de"])], None, "ab"),
        ([when("lang", "not in", ["en", "de"])], None, "c"),
        ([when("lang", "empty")], None, "c"),
        ([when("lang", "not empty")], None, "ab"),
        ([when("timestamp", "empty")], None, "ab"),
        ([when("year", "=", "2020")], None, "a"),
        ([when("year", "≠", 2020)], None, "bc"),
        ([when("year", ">", 2020)], None, "b"),
        ([when("year", "<", "2021")], None, "a"),
        ([when("year", "≥", 2020)], None, "ab"),
        ([when("year", "≤", 2020)], None, "a"),
        ([when("day", "before", "2026-07-01")], None, "a"),
        ([when("day", "after", "2026-07-01")], None, "b"),
        ([when("day", "before", "20260701")], None, "a"),
        ([when("day", "after", "2026-W27-3")], None, "b"),
        ([when("day", "before", JULY)], None, "a"),
        ([when("day", "after", str(JULY))], None, "b"),
        ([when("day", "after", "2026-05-31T23:00:00-01:00")], None, "b"),
        ([when("timestamp", "after", "2026-06-30T23:59:59+00:00")], None, "c"),
        ([when("timestamp", "before", JULY)], None, ""),
        ([when(["title", "tags"], "contains", "e")], None, "bc"),
        ([when(["title", "tags"], "not contains", "iv")], None, "ab"),
        ([when("lang", "is", "en"), when("year", "=", 2021)], "or", "ab"),
        ([when("lang", "is", "en"), when("year", "=", 2021)], "and", ""),
    ],
)
def test_conditions_of_dify(engine: Engine, conditions: list[Any], logic: str | None, expected: str) -> None:
    assert dify(engine, *conditions, logic=logic) == list(expected)


DATES = ("2026-01-30T23:59:59Z", "2026-01-31", "2026-01-31T00:00:00", "2026-01-31T00:00:00Z", "2026-01-31T11:00:00Z",
         "2026-01-31T11:00:00", "2026-01-31T11:00:01Z", 1_769_817_600, 1_769_857_200)  # fmt: skip


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    documents = [Document(str(at), "Bees live in hives.", metadata={"at": date}) for at, date in enumerate(DATES)]
    made = make_engine(make_index(tmp_path_factory.mktemp("dates") / "index.db", *documents))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("asked", "before", "after"),
    [
        ("2026-01-31", "0", "4568"),
        ("2026-01-31T11:00:00Z", "01237", "6"),
        ("2026-01-31T12:00:00+01:00", "01237", "6"),
        ("1769857200", "01237", "6"),
        (1_769_857_200, "01237", "6"),
    ],
)
def test_what_is_of_the_very_moment_is_neither_before_nor_after(
    dated: Engine, asked: str | float, before: str, after: str
) -> None:
    assert dify(dated, when("at", "before", asked)) == list(before)
    assert dify(dated, when("at", "after", asked)) == list(after)


@pytest.mark.parametrize("operator", ["before", "after"])
@pytest.mark.parametrize("name", ["day", "timestamp"])
def test_a_date_that_no_calendar_has_is_refused(engine: Engine, name: str, operator: str) -> None:
    for none in ("inf", "1e400", "-" + "9" * 20, "0001-01-01T00:00+14:00", 10**400, -1e300, "9" * 400, 2**63):
        with pytest.raises(RequestError, match="give a date like"):
            dify(engine, when(name, operator, none))
    for far in ("9999-12-31T23:59:59.5Z", "0001-01-01"):
        assert len(dify(engine, when(name, operator, far))) <= 2


def test_dify_may_leave_out_or_set_null_what_is_not_needed(engine: Engine) -> None:
    setting = {"top_k": 3, "score_threshold": 0}
    body = {"knowledge_id": "default", "query": "Where do bees live?", "retrieval_setting": setting}
    for more in ({}, {"metadata_condition": None}, {"metadata_condition": {"conditions": None}}):
        assert len(retrieve_records(engine, {**body, **more}, Access())["records"]) == 3


# ---- scopes


def test_a_filter_on_the_scope_is_refused(engine: Engine) -> None:
    for ask in (
        lambda: openai(engine, {"type": "or", "filters": [check("eq", "scope", "acme"), check("eq", "year", 2020)]}),
        lambda: dify(engine, when(["scope", "year"], "is", "acme"), access=BOTH),
    ):
        with pytest.raises(RequestError, match="the key says which are searched"):
            ask()


# ---- what comes back


def test_a_page_of_results(engine: Engine) -> None:
    body = {"query": ["Where do bees live?", "hives"], "max_num_results": 2}
    page = search_vector_store(engine, "default", body, Access())
    assert page["object"] == "vector_store.search_results.page"
    assert page["search_query"] == body["query"]
    assert (page["has_more"], page["next_page"], len(page["data"])) == (False, None, 2)
    first = page["data"][0]
    assert first["content"] == [{"type": "text", "text": "Bees live in hives."}]
    assert first["file_id"] == first["filename"] == "a"
    assert first["attributes"] == {
        "char_start": 0, "char_end": 19, "year": 2020, "lang": "en", "day": "2026-06-01", "draft": True,
    }  # fmt: skip


def test_records_carry_title_and_place(engine: Engine) -> None:
    body = {"knowledge_id": "default", "query": "bees", "retrieval_setting": {"top_k": 5, "score_threshold": 0.0}}
    records = retrieve_records(engine, body, Access())["records"]
    titles = {record["metadata"]["doc_id"]: record["title"] for record in records}
    assert titles == {"a": "a", "b": "b", "c": "Hives"}
    [hives] = [record for record in records if record["title"] == "Hives"]
    assert hives["content"] == "Bees live in hives."
    assert (hives["metadata"]["char_start"], hives["metadata"]["char_end"]) == (0, 19)


def test_the_best_come_first_and_what_scores_less_is_left_out(tmp_path: Path) -> None:
    texts = [f"Entry {number}. " + "bees " * number + "wind " * (9 - number) for number in range(1, 9)]
    made = make_engine(make_index(tmp_path / "index.db", *(Document(f"{at}", text) for at, text in enumerate(texts))))
    ask = {"query": "What do bees do?"}
    scores = [one["score"] for one in search_vector_store(made, "default", ask, Access())["data"]]
    assert scores == sorted(scores, reverse=True)
    assert 0 <= scores[-1] < scores[0] <= 1
    least = {**ask, "ranking_options": {"score_threshold": scores[1], "ranker": "auto"}}
    kept = [one["score"] for one in search_vector_store(made, "default", least, Access())["data"]]
    assert kept == [score for score in scores if score >= scores[1]]
    setting = {"top_k": 10, "score_threshold": scores[1]}
    body = {"knowledge_id": "default", "query": ask["query"], "retrieval_setting": setting}
    assert [one["score"] for one in retrieve_records(made, body, Access())["records"]] == kept
    made.close()


# ---- limits


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"query": ""}, RequestError, "query"),
        ({"query": []}, RequestError, "query"),
        ({"max_num_results": 51}, RequestError, "max_num_results is 51"),
        ({"rewrite_query": True}, RequestError, "rewrite_query"),
        ({"ranking_options": {"score_threshold": 2}}, RequestError, "score_threshold is 2"),
        ({"colour": 1}, RequestError, "'colour' is unknown"),
        ({"filters": check("like", "a", "b")}, RequestError, "filters"),
        ({"filters": check("eq", "a", ["b"])}, RequestError, "'a' has the type 'eq'"),
        ({"filters": check("in", "a", "b")}, RequestError, "in and nin take a list"),
        ({"filters": check("gt", "page", "b")}, RetrivexError, "each bound must be a number"),
        ({"filters": {"type": "or", "filters": []}}, RequestError, "filters"),
        ({"filters": check("in", "a", ["b"] * 101)}, RequestError, "100"),
    ],
)
def test_what_breaks_a_rule_of_openai(engine: Engine, more: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        openai(engine, **more)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (when("year", "≈", 1), "comparison_operator"),
        (when("year", ">", "many"), "'year' is > 'many': give a number"),
        (when("day", "before", "soon"), "give a date like 2026-01-31"),
        (when("year", "is"), "give one text or number"),
        (when("year", "is", ["a"]), "give one text or number"),
        (when([], "is", "a"), "name"),
        (when("title", "contains", ""), "not empty"),
    ],
)
def test_what_breaks_a_rule_of_dify(engine: Engine, condition: Any, words: str) -> None:
    with pytest.raises(RetrivexError, match=words):
        dify(engine, condition)


def test_filters_and_results_have_limits(engine: Engine) -> None:
    many = {"type": "or", "filters": [{"type": "or", "filters": [check("eq", "a", "b")] * 90}] * 3}
    with pytest.raises(RetrivexError, match="270 fields: the limit is 200"):
        openai(engine, many)
    with pytest.raises(RetrivexError, match="240 fields"):
        dify(engine, *[when(["a", "b", "c"], "is", "c")] * 80)
    deep = check("eq", "a", "b")
    for _ in range(40):
        deep = {"type": "or", "filters": [deep]}
    with pytest.raises(RetrivexError, match=r"more than 8 levels|deeper than 64"):
        openai(engine, deep)
    with pytest.raises(LimitError, match="5,000 hits"):
        dify(engine, top_k=5000)
    with pytest.raises(NotFoundError, match="no index 'other'"):
        search_vector_store(engine, "other", {"query": "bees"}, Access())
    with pytest.raises(NotFoundError, match="no index 'other'"):
        dify(engine, knowledge_id="other")


def test_there_are_no_more_passages_than_hits_were_asked_for(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The neighbours of one hit may be two passages, with a gap between them."""
    [span] = engine.query({"question": "Who lives in hives?", "k": 1}).spans
    made = replace(engine.query({"question": "Who lives in hives?", "k": 1}), spans=(span, span))
    monkeypatch.setattr(engine, "query", lambda record, access: made)
    asked = {"query": "Who lives in hives?", "max_num_results": 1}
    assert len(search_vector_store(engine, "default", asked, Access())["data"]) == 1
