"""Errors of foreign code, in a few words."""

from __future__ import annotations

from retrivex.errors import describe_cause


def test_a_ring_of_causes_ends() -> None:
    first, second = RuntimeError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert describe_cause(first) == "RuntimeError: first"


def test_the_network_error_behind_others_is_named() -> None:
    wrapped = RuntimeError("retries exceeded")
    wrapped.__context__ = ValueError("pool")
    wrapped.__context__.__cause__ = ConnectionRefusedError(111, "Connection refused")
    assert describe_cause(wrapped) == "Connection refused"
