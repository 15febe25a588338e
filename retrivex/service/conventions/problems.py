"""What a problem document says in the words of a convention, beside its own members, which RFC 9457 allows."""

from __future__ import annotations

from typing import Any

from retrivex.service.problems import Problem

VECTOR_STORES = "/v1/vector_stores/"
"""Begins the addresses of OpenAI's convention."""

RETRIEVAL = "/retrieval"
"""Address of Dify's convention."""

RERANK = ("/v1/rerank", "/v2/rerank")
"""Addresses of Cohere's convention, which is that of Jina, too."""

TEXT_RANK = "/rerank"
"""Address of the convention of Text Embeddings Inference."""

TEI_TYPES = ("Validation", "Overloaded", "Backend")

_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
_NO_HEADER, _NOT_ALLOWED, _NO_KNOWLEDGE = 1001, 1002, 2001


def members_of(problem: Problem, path: str, authorization: str = "") -> dict[str, Any]:
    """Return the members that clients of a convention read; none for addresses of no convention.

    Parameters
    ----------
    problem : what went wrong
    path : of the request
    authorization : its header, to say whether a key was missing or wrong

    Examples
    --------
    >>> members_of(Problem(404, "not-found", "There is no such thing", "there is no index 'a'"), "/retrieval")
    {'error_code': 2001, 'error_msg': "there is no index 'a'"}
    """
    if path.startswith(VECTOR_STORES):
        kind = "server_error" if problem.status >= 500 else _TYPES.get(problem.status, "invalid_request_error")
        return {"error": {"message": problem.detail, "type": kind, "param": None, "code": problem.kind}}
    if path == RETRIEVAL:
        return {"error_code": _dify_code(problem, authorization), "error_msg": problem.detail}
    if path in RERANK:
        return {"message": problem.detail}
    if path == TEXT_RANK:
        validation, overloaded, backend = TEI_TYPES
        kind = backend if problem.status == 500 else overloaded if problem.status in (429, 503) else validation
        return {"error": problem.detail, "error_type": kind}
    return {}


def _dify_code(problem: Problem, authorization: str) -> int:
    """Return one of the codes that Dify names, or the status where it names none."""
    if problem.status == 401:
        return _NOT_ALLOWED if authorization.lower().startswith("bearer ") else _NO_HEADER
    return {403: _NOT_ALLOWED, 404: _NO_KNOWLEDGE}.get(problem.status, problem.status)
