"""The settings that the page offers, and the options of the composer that they stand for."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import PydanticSerializationError, to_jsonable_python

from retrivex.config import RetrievalConfig
from retrivex.model.chunk import Scope, allowed_scopes
from retrivex.stores import Where
from retrivex.tokens.tokenizer import FILE_SUFFIX

_USUAL = RetrievalConfig()


def to_options(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the composer that settings of the page stand for; what is None stays as it is.

    Examples
    --------
    >>> to_options({"order": "document", "effort": None})
    {'ordering_strategy': 'document'}
    >>> to_options({"window": None})
    {'window': 2, 'pool_factor': 8.0}
    """
    given = {"ordering_strategy" if name == "order" else name: value for name, value in settings.items()}
    options = {name: value for name, value in given.items() if value is not None}
    if "window" in given and given["window"] is None:  # as many neighbours as needed
        options |= {name: getattr(_USUAL, name) for name in ("window", "pool_factor")}
    return options


def settings_of(config: RetrievalConfig) -> dict[str, Any]:
    """Return the settings that a config amounts to, as plain JSON types.

    Examples
    --------
    >>> settings_of(RetrievalConfig(window=1))
    {'token_budget': 2000, 'window': 1, 'effort': 'standard', 'order': 'edge_balanced', 'scoring': 'auto'}
    """
    return {
        "token_budget": config.token_budget,
        "window": max(config.reach) if config.pool_factor is None else None,
        "effort": config.effort,
        "order": config.ordering_strategy.value,
        "scoring": config.scoring,
    }


def without_files(config: RetrievalConfig) -> RetrievalConfig:
    """Return a config that names no file of the machine, as it is shown to others: the service keeps its own.

    Examples
    --------
    >>> without_files(RetrievalConfig(window=1, tokenizer="/srv/tokenizer.json")).tokenizer
    'auto'
    """
    changes: dict[str, Any] = {}
    if config.coefficients is not None:
        changes["coefficients"] = None
    if config.tokenizer.endswith(FILE_SUFFIX):
        changes["tokenizer"] = "auto"
    return config.model_copy(update=changes)


def changed_options(config: RetrievalConfig, base: RetrievalConfig | None = None) -> dict[str, Any]:
    """Return the options that differ from the defaults, as plain JSON types: a config of them is equal to `config`.

    Options that JSON cannot hold, such as functions, are left out.

    Parameters
    ----------
    config : whose options are wanted
    base : what they will be put on top of, where that is not the defaults: what differs from it is named as well

    Examples
    --------
    >>> changed_options(RetrievalConfig(window=2, effort="lean"))
    {'effort': 'lean', 'window': 2}
    """
    usual = RetrievalConfig()
    changed = {
        name: value
        for name, value in config
        if value != getattr(usual, name) or (base is not None and value != getattr(base, name))
    }
    if config.pool_factor is None:  # a window that is named drops it
        changed = {name: value for name, value in changed.items() if name != "pool_factor"} | {"window": config.window}
    plain = {name: _plain(value) for name, value in changed.items()}
    return {name: value for name, value in plain.items() if value is not None or changed[name] is None}


def _plain(value: Any) -> Any:
    try:
        return to_jsonable_python(value)
    except PydanticSerializationError:  # a function
        return None


_NO_RERANKER = "# a reranker scored the hits: name it again, or the answer is another one (docs/howto/rerank.md)\n"
_WITH_CLIENT = """import os

from retrivex.service.client import Client

question = {question!r}
with Client({address!r}, key=os.environ.get("RETRIVEX_KEY")) as client:
    composition = client.query(question{more})
print(composition.text)
"""
_KEY_HEADER = '-H "Authorization: Bearer $RETRIVEX_KEY"'


def write_code(
    question: str,
    config: RetrievalConfig,
    *,
    hits: int = 50,
    database: str = "retrivex.db",
    embed: str | None = None,
    mode: str = "auto",
    scope: Scope = None,
    where: Where | None = None,
    sub_questions: Sequence[str] | None = None,
    whole_documents: int | None = None,
    reranked: bool = False,
) -> dict[str, str]:
    """Return what gives the same answer from a database, as text to copy: `command`, and what asks a service over it.

    Parameters
    ----------
    question : as asked
    config : what it was composed with
    hits : found by the retriever, at most
    database : file of the index
    embed : name or folder of the encoder; None searches by words
    mode : of the retriever, where there is an encoder
    scope, where, sub_questions : that the retriever was given
    whole_documents : that the composer was given
    reranked : whether a reranker scored the hits; it is not written, as its address may hold a secret, but named
    """
    options = changed_options(config)
    scopes = None if scope is None else sorted(allowed_scopes(scope), key=lambda name: name or "")
    words = ["retrivex", "query", question, "--db", database, "--k", str(hits), "--mode", mode]
    words += [] if embed is None else ["--embed", embed]
    words += [word for name in scopes or () for word in ("--scope", name or "")]
    words += [word for one in sub_questions or () for word in ("--sub-question", one)]
    words += [] if whole_documents is None else ["--whole-documents", str(whole_documents)]
    for flag, pairs in (("--where", where or {}), ("--set", options)):
        words += [word for name, value in pairs.items() for word in (flag, f"{name}={json.dumps(value)}")]
    asked = {"k": hits, "mode": None if mode == "auto" else mode, "scope": scopes, "where": dict(where or {}) or None}
    more = {"sub_questions": sub_questions, "whole_documents": whole_documents}
    calls = _write_request({"question": question, **asked, **more, "config": options}, "http://127.0.0.1:8080")
    note = _NO_RERANKER if reranked else ""
    noted = {"command": shlex.join(words), **calls}
    return {kind: text if kind == "json" else note + text for kind, text in noted.items()}


def write_calls(
    question: str,
    config: RetrievalConfig,
    *,
    base: RetrievalConfig | None = None,
    address: str,
    index: str | None = None,
    scope: str | list[str | None] | None = None,
    keyed: bool = False,
) -> dict[str, str]:
    """Return what gives the same answer from a service, as text to copy: `python`, `curl` and `json`.

    Parameters
    ----------
    question : as asked
    config : what it was composed with
    base : options that the service starts from; None for the defaults
    address : of the service
    index : its name; None for the one that is asked where none is named
    scope : that it was narrowed to; None for all that the key may see
    keyed : whether it must be asked with a key, which stands in `RETRIVEX_KEY`

    Examples
    --------
    >>> made = write_calls("Who rules?", RetrievalConfig(), address="http://localhost:8080/", index="law")
    >>> made["json"].split()
    ['{', '"question":', '"Who', 'rules?",', '"index":', '"law"', '}']
    """
    asked = {"question": question, "index": index, "scope": scope, "config": changed_options(config, base) or None}
    return _write_request(asked, address, keyed=keyed)


def _write_request(asked: dict[str, Any], address: str, *, keyed: bool = False) -> dict[str, str]:
    body = {name: value for name, value in asked.items() if value is not None}
    address = address.rstrip("/")
    more = "".join(f", {name}={value!r}" for name, value in body.items() if name != "question")
    written = json.dumps(body, ensure_ascii=False, indent=2)
    words = ["curl", shlex.quote(f"{address}/v1/query"), *([_KEY_HEADER] if keyed else [])]
    return {
        "python": _WITH_CLIENT.format(question=body["question"], address=address, more=more),
        "curl": " ".join([*words, "--json", shlex.quote(written)]),
        "json": written,
    }
