"""The answer to a call: the composition of what was laid out, explained when somebody asks."""

from __future__ import annotations

from functools import partial

from retrivex.composer.budget_fit import Fitted
from retrivex.composer.call import Call
from retrivex.composer.explain import Explainer
from retrivex.composer.score import ScoredCandidates
from retrivex.composer.sources import citations_of, coverage_of
from retrivex.composer.unit_notes import expected_recall, explain_documents, unit_notes
from retrivex.composition.composition import Composition
from retrivex.composition.trace import Trace
from retrivex.errors import shortened


def compose_answer(call: Call, scored: ScoredCandidates, fitted: Fitted) -> Composition:
    """Return the composition of a layout; citations, coverage, dropped hits and notes are made when they are read."""
    layout, log = fitted.layout, call.log
    spans = tuple(layout.spans)
    explainer = Explainer(scored, fitted, call.config)
    return Composition(
        text=layout.rendered.text,
        spans=spans,
        tokens=layout.tokens,
        token_budget=call.config.token_budget,
        tokenizer=call.counter.name,
        question=call.question,
        citations=partial(citations_of, spans, layout.rendered),
        coverage=partial(coverage_of, spans, scored.expanded.seeds),
        dropped=explainer.dropped,
        warnings=tuple(dict.fromkeys(map(shortened, log.warnings))),
        confidence=scored.scores.confidence,
        expected_recall=partial(expected_recall, scored.runs, scored.scores, spans),
        trace=Trace(
            steps=tuple(log.steps),
            requests=log.requests,
            windows=tuple(scored.expanded.expansion.windows),
            links=tuple(scored.expanded.links),
            scorer=scored.scores.scorer,
            selection=log.selection,
            order=layout.order,
            document=explain_documents(scored.scores, call.question or ""),
            make_notes=explainer.notes,
            make_unit_notes=partial(unit_notes, scored.runs, scored.scores, spans),
        ),
        style=call.style,
        counter=call.counter.tokenizer,
    )
