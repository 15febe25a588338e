"""Texts and questions for full-text search."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.stores.sqlite.fts import MAX_QUERY_TERMS, TOKENIZER, index_terms, match_terms


def matches(text: str, question: str) -> bool:
    """Whether `question` finds `text` in an index of its own."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(f'CREATE VIRTUAL TABLE f USING fts5(body, tokenize="{TOKENIZER}")')
        connection.execute("INSERT INTO f VALUES (?)", (index_terms(text) or text,))
        terms = match_terms(question)
        if not terms:
            return False
        return bool(connection.execute("SELECT 1 FROM f WHERE f MATCH ?", (" OR ".join(terms),)).fetchall())
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("The bees were sleeping.", "sleep"),
        ("Ein Café in Zürich", "cafe zurich"),
        ("Cafe\u0301 Zu\u0308rich", "café"),
        ("我们使用全文检索来查找文档。", "全文检索"),
        ("我们使用全文检索来查找文档。", "档"),  # the last character of a run
        ("我们使用全文检索来查找文档。", "用"),
        ("東京タワーは高い", "タワー"),
        ("서울특별시에서", "서울"),
        ("ภาษาไทยไม่มีช่องว่าง", "ช่อง"),
        ("हिन्दी भाषा", "हिन्दी"),
        ("ＳＱＬｉｔｅ 数据库", "sqlite"),
        ("数据库 v2 已发布", "v2"),
        ("first\0second", "second"),
    ],
)
def test_question_finds_text(text: str, question: str) -> None:
    assert matches(text, question)


@pytest.mark.parametrize(
    ("text", "question"), [("全文检索", "文全"), ("hindi", "हिन्दी"), ("bees", "wasps"), ("अब", "इन")]
)
def test_question_does_not_find_other_text(text: str, question: str) -> None:
    assert not matches(text, question)


@pytest.mark.parametrize("question", ["", "  \n\t", "???", '"', "\0", "🐝🐝", "-*:^()", "'"])
def test_a_question_without_words_has_no_query(question: str) -> None:
    assert match_terms(question) == []


def test_function_words_are_left_out_unless_there_is_nothing_else() -> None:
    assert match_terms("What is the heading guard?") == ['"heading"', '"guard"']
    assert match_terms("to be or not to be") == ['"to"', '"be"', '"or"', '"not"']


def test_words_of_query_syntax_are_words() -> None:
    # the words and, or, not, near in capitals are operators of FTS5 where they are not quoted
    assert match_terms("bees AND NOT body:wasps NEAR(ants, 5) ^x") == [
        f'"{word}"' for word in ("bees", "body", "wasps", "near", "ants", "5", "x")
    ]


def test_only_so_many_terms_are_searched() -> None:
    assert len(match_terms(" ".join(f"word{i}" for i in range(5000)))) == MAX_QUERY_TERMS


def test_ascii_text_is_indexed_as_it_is() -> None:
    assert index_terms("plain text") is None
    assert index_terms("déjà vu") is None


@given(st.text(max_size=60))
def test_no_text_breaks_the_query_and_a_word_of_it_finds_it(text: str) -> None:
    if not match_terms(text):
        assert not matches(text, text)
    else:
        matches(text, text)  # may find nothing (letters newer than SQLite's tables), must not raise


@given(st.text(alphabet="全文检索数据库查找", min_size=1, max_size=12), st.data())
def test_every_part_of_a_chinese_text_finds_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assert matches(f"这里有{text}。", text[start:end])
