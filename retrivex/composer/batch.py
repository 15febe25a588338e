"""Many calls at once: the same order out, and an error belongs to its item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from retrivex.composer.call import ComposeRequest
from retrivex.composer.tracing import open_span, set_counts
from retrivex.composition.composition import Composition
from retrivex.errors import RetrivexError

Compose: TypeAlias = Callable[..., Composition]


@dataclass(frozen=True, slots=True)
class BatchItem:
    """Answer to one request of a batch: a composition, or the error that belongs to it."""

    composition: Composition | None
    error: Exception | None

    def unwrap(self) -> Composition:
        """Return the composition, or raise the error."""
        if self.composition is None:
            raise self.error or RetrivexError("batch item is empty: it has neither a composition nor an error")
        return self.composition


def compose_all(
    compose: Compose, requests: Iterable[ComposeRequest | Mapping[str, Any]], max_workers: int
) -> list[BatchItem]:
    """Call `compose` for every request; parameters and errors as in `SpanComposer.compose_batch`."""
    if not isinstance(requests, Iterable) or isinstance(requests, str | bytes | Mapping):
        raise RetrivexError(f"requests is {type(requests).__name__}: give a list of ComposeRequest(...) or mappings")
    if not isinstance(max_workers, int) or max_workers < 1:
        raise RetrivexError(f"max_workers is {max_workers!r}: it must be a whole number of at least 1, in threads")
    with open_span("retrivex.compose_batch") as span:
        items = _compose_each(compose, requests, max_workers)
        set_counts(span, n_in=len(items), n_out=sum(item.error is None for item in items))
        return items


def _compose_each(compose: Compose, requests: Iterable[Any], max_workers: int) -> list[BatchItem]:
    if max_workers == 1:
        return [_compose_one(compose, request) for request in requests]
    context = copy_context()  # threads have none: the spans of their calls belong below the caller's
    with ThreadPoolExecutor(max_workers) as pool:
        return list(pool.map(lambda request: context.copy().run(_compose_one, compose, request), requests))


def _compose_one(compose: Compose, request: ComposeRequest | Mapping[str, Any]) -> BatchItem:
    try:
        named, overrides = _arguments(request)
        return BatchItem(compose(**named, **overrides), None)
    except Exception as error:  # noqa: BLE001 - one bad item must not lose the others; it is handed back
        return BatchItem(None, error)


def _arguments(request: ComposeRequest | Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Return what `compose` is called with: its named arguments, and options of the config."""
    if isinstance(request, ComposeRequest):
        named = {field.name: getattr(request, field.name) for field in fields(request)}
    elif isinstance(request, Mapping):
        named = dict(request)
    else:
        raise RetrivexError(f"request is {type(request).__name__}: give a ComposeRequest(...) or a mapping")
    return named, named.pop("overrides", {})
