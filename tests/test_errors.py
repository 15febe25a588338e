"""Errors: of foreign code in a few words, and none of any length."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from retrivex.errors import MOST_SAID, ConfigError, LoadError, RerankUnavailableError, RetrivexError, describe_cause
from retrivex.loading import LoadProblem, LoadReport, iter_documents


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
