"""A question to an embedded index: finds hits and composes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from retrivex.composer.composer import SpanComposer
from retrivex.composer.expand import NO_HITS
from retrivex.composition.composition import Composition
from retrivex.encoders.encoder import Encoder
from retrivex.encoders.queries import encode_question
from retrivex.expansion.seeds import SeedHits
from retrivex.model.chunk import Scope
from retrivex.model.hit import SeedHit
from retrivex.model.question import check_questions
from retrivex.retrieval.local import LocalRetriever, RetrievalMode
from retrivex.stores import SQLiteStore, Where

DEFAULT_HITS = 50


def compose_question(
    composer: SpanComposer,
    store: SQLiteStore,
    question: str,
    *,
    encoder: Encoder | None = None,
    k: int = DEFAULT_HITS,
    mode: RetrievalMode = "auto",
    scope: Scope = None,
    where: Where | None = None,
    said: str | None = None,
    sub_questions: Sequence[str] | None = None,
    whole_documents: int | None = None,
    **overrides: Any,
) -> Composition:
    """Return the context for a question; what the retriever has to say is among its warnings.

    Parameters
    ----------
    composer : with the options to start from
    store : the index
    question, k, scope, where : see `LocalRetriever.retrieve`
    encoder, mode : see `LocalRetriever`
    said : why there is no encoder, in place of what the retriever says of it
    sub_questions, whole_documents : as in `RetriVex.ask`
    **overrides : options of `RetrievalConfig`
    """
    retriever = LocalRetriever(store, encoder, mode)
    used = retriever.mode
    hits = retrieve_each(lambda one: retriever.retrieve(one, k, scope, where), question, sub_questions)
    if used == "dense" and "score_scale" not in composer.config.model_fields_set:
        overrides.setdefault("score_scale", "cosine")
    vector = encode_question(encoder, question) if used != "bm25" and encoder is not None and hits else None
    given: dict[str, Any] = {"query_embedding": vector, "scope": scope, "whole_documents": whole_documents}
    made = composer.compose(hits, store, query=question, **given, **overrides)
    before = (said,) if said else retriever.warnings
    # the retriever, whose fault it is for the composer, is this function itself
    if NO_HITS in made.warnings:
        why = _why_nothing(store, scope, where)
        made = replace(made, warnings=tuple(why if warning == NO_HITS else warning for warning in made.warnings))
    return replace(made, warnings=(*before, *made.warnings))


def retrieve_each(
    retrieve: Callable[[str], list[SeedHit]], question: str, sub_questions: Sequence[str] | None
) -> SeedHits:
    """Return the hits of a question, or by sub-question those of each."""
    if sub_questions is None:
        return retrieve(question)
    return {one: retrieve(one) for one in check_questions(sub_questions)}


def _why_nothing(store: SQLiteStore, scope: Scope, where: Where | None) -> str:
    """Return why nothing was found, as far as what was asked for may be the cause."""
    filters = [name for name, given in (("scope", scope), ("where", where)) if given]
    reasons = ["no chunk has a word of the question"]
    if filters:
        reasons.append(f"{' and '.join(filters)} {'lets' if len(filters) == 1 else 'let'} none through")
    if not scope and any(name is not None for name in store.info().scopes):
        reasons.append("those that have are in a scope, which was not given")
    return f"nothing found: {', or '.join(reasons)}; try other words"
