"""Errors: of foreign code in a few words, and none of any length."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SeedHit, SpanComposer
from retrivex.errors import (
    MOST_SAID,
    ConfigError,
    LoadError,
    RerankUnavailableError,
    RetrivexError,
    StoreError,
    describe_cause,
    quoted,
)
from retrivex.loading import LoadProblem, LoadReport, iter_documents
from retrivex.stores import SQLiteStore


def test_a_ring_of_causes_ends() -> None:
    first, second = RuntimeError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert describe_cause(first) == "RuntimeError: first"


def test_the_network_error_behind_others_is_named() -> None:
    wrapped = RuntimeError("retries exceeded")
    wrapped.__context__ = ValueError("pool")
    wrapped.__context__.__cause__ = ConnectionRefusedError(111, "Connection refused")
    assert describe_cause(wrapped) == "Connection refused"


@pytest.mark.parametrize("make", [ConfigError, LoadError, lambda text: RerankUnavailableError(text, 3.0)])
def test_a_message_is_bounded_and_keeps_its_beginning_and_the_way_out(make: type[RetrivexError]) -> None:
    error = make("format is " + "f" * 1_000_000 + ": it must be 'text'")
    assert len(str(error)) <= MOST_SAID
    assert str(error).startswith("format is fff")
    assert str(error).endswith("fff: it must be 'text'")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    short = "f" * MOST_SAID
    assert str(make(short)) == short


def test_what_a_line_of_a_file_says_does_not_fill_the_terminal(tmp_path: Path) -> None:
    lines = tmp_path / "x.jsonl"
    lines.write_text(json.dumps({"id": "x", "text": "Bees.", "format": "f" * 1_000_000}))
    report = LoadReport()
    assert not list(iter_documents([lines], report))
    assert len(report.problems[0].reason) <= MOST_SAID
    assert report.problems[0].reason.endswith("it must be 'text' or 'markdown'")
    assert len(LoadProblem("x", "b" * 1_000_000).reason) <= MOST_SAID


def secret_of(length: int) -> str:
    """Return a secret of which every piece of six characters is another one."""
    return "".join(f"k{number:05d}" for number in range(length // 6 + 1))[:length]


def shown_of(secret: str, said: str) -> list[str]:
    """Return the pieces of a secret that stand in what is said."""
    eights = {said[at : at + 8] for at in range(len(said) - 7)}
    return [piece for at in range(len(secret) - 7) if (piece := secret[at : at + 8]) in eights]


@pytest.mark.parametrize("length", [20, 200, 4_500, 20_000, 200_000])
@pytest.mark.parametrize("before", ["", "x" * 60, "x" * 1_940, "x" * 3_000])
def test_no_piece_of_a_secret_is_left_where_a_message_is_cut(length: int, before: str) -> None:
    token = secret_of(length)
    password = token[:200]
    for address in (f"https://host/v1?token={token}", f"https://me:{password}@host/v1", f"https://{password}@host/v1"):
        error = ConfigError(f"{before} {address} cannot be reached: give another one {'y' * 3_000}")
        said = (
            f"{error} {error!r} {LoadProblem('x', f'{before} {address}').reason} {quoted(before + address)} "
            f"{describe_cause(RuntimeError(f'{before} {address} failed'))}"
        )
        assert shown_of(token, said) == []
    said = str(ConfigError(f"https://host/v1?token={token} cannot be reached"))
    assert re.fullmatch(r"https://host/v1(\?token=\*\*\*)? cannot be reached", said)


@pytest.mark.parametrize(
    "name",
    [
        "https://shop.example/item?id=18", "https://site.example/page#part-2", "https://blog.example/@me/post?id=1",
        "mid:20260101.abc@mail.example.com", "team:alice@example.com", "s3://bucket/key;v=2", "file:/srv/a?b.md",
        "file:/home/me/a@b/c.txt", "notes.md?x=1&page=2", "token_budget=5",
    ],
)  # fmt: skip
def test_the_name_of_a_document_is_said_as_it_is(name: str, tmp_path: Path) -> None:
    assert str(StoreError(f"there is no document {name!r}: add it")) == f"there is no document {name!r}: add it"
    chunk = Chunk("Bees sleep at night.", ChunkMetadata(name, 0))
    hits = [SeedHit(chunk, 1.0), SeedHit(Chunk("Ants dig.", ChunkMetadata(name, 0)), 0.5)]
    made = SpanComposer(tokenizer="estimate").compose(hits, {}, window=0)
    assert any(repr(name) in warning for warning in made.warnings)


ASKED: dict[str, Callable[[Any], object]] = {
    "reranker": lambda it: SpanComposer(reranker=it),
    "sentence_scorer": lambda it: SpanComposer(sentence_scorer=it),
    "tokenizer": lambda it: SpanComposer(tokenizer=it),
    "order": lambda it: RetrievalConfig(ordering_strategy=it),
    "exclude": lambda it: SpanComposer().compose([], {}, exclude=[{it: 1}]),
    "style": lambda it: SpanComposer().compose([], {}, query="q").chat(style=it),
    "history": lambda it: SpanComposer().compose([], {}, query="q").chat(history=[{"role": it}]),
    "database": lambda it: SQLiteStore(f"{it}\0"),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_value_is_quoted_without_half_a_secret(name: str) -> None:
    secret = secret_of(240)
    with pytest.raises(RetrivexError) as told:
        ASKED[name](f"https://{secret}@host/x")
    assert shown_of(secret, str(told.value)) == []


def test_a_secret_behind_an_error_is_hidden_before_what_it_says_is_cut() -> None:
    wrapped = RuntimeError("retries exceeded")
    wrapped.__cause__ = ConnectionRefusedError(111, "no way to https://me:secret@host/v1?key=secret")
    assert describe_cause(wrapped) == "no way to https://host/v1"
    key = secret_of(90)
    said = describe_cause(RuntimeError(f"{'x' * 60} {key}"), hide=lambda words: words.replace(key, "***"))
    assert said == f"RuntimeError: {'x' * 60} ***"


@pytest.mark.parametrize("piece", ["http://a", "http://a:", "a:b@", "?a =b", "ab:/c ", "f"])
def test_a_message_of_megabytes_is_cut(piece: str) -> None:
    assert len(str(ConfigError("https://x?" + piece * (3_000_000 // len(piece))))) <= MOST_SAID
