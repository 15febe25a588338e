"""`retrivex tune`: options and coefficients for a user's own questions, written only if significantly better."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from retrivex.cli.failures import NO_IMPROVEMENT
from retrivex.cli.options import DEFAULT_DATABASE, AsJson, Database, Embed, Scopes, make_config, make_scope, taking
from retrivex.cli.query import Mode
from retrivex.cli.terminal import note, note_each, progress, write_json, write_text
from retrivex.config import RetrievalConfig
from retrivex.encoders.queries import encode_question
from retrivex.evaluation.questions.evidence import Question
from retrivex.evaluation.questions.labelled import LabelledQuestion
from retrivex.evaluation.questions.own import own
from retrivex.model.chunk import Scope
from retrivex.retrieval.local import LocalRetriever
from retrivex.retrieval.stored_encoder import encoder_for_query
from retrivex.service.question import DEFAULT_HITS
from retrivex.stores import SQLiteStore

if TYPE_CHECKING:
    from retrivex.evaluation.tune.tuning import TuneResult


@taking(retrieval=make_config)
def tune(
    *,
    questions: Annotated[
        Path,
        typer.Argument(metavar="QUESTIONS", help="JSONL of questions and evidence.", show_default=False, exists=True),
    ],
    db: Database = DEFAULT_DATABASE,
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Where config.json and coefficients.json are written.")
    ] = Path("tuned"),
    trials: Annotated[int, typer.Option("--trials", min=1, metavar="N", help="Candidates to try.")] = 40,
    hold_out: Annotated[
        float, typer.Option("--hold-out", min=0.1, max=0.7, metavar="SHARE", help="Questions that decide.")
    ] = 0.3,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Of the parts and of the search.")] = 0,
    k: Annotated[int, typer.Option("--k", min=1, metavar="N", help="Hits to start from.")] = DEFAULT_HITS,
    mode: Annotated[Mode, typer.Option("--mode", help="Find hits by words, by meaning, or both.")] = Mode.AUTO,
    embed: Embed = None,
    scope: Scopes = None,
    retrieval: RetrievalConfig,
    as_json: AsJson = False,
) -> None:
    """Tune options and coefficients on your own questions; refuse what is no improvement.

    A part of the questions is held back. A change is written only if it is better there, by a 95 % interval;
    otherwise nothing is written and the exit code is 4. Needs the extra 'tune'.

    \b
    Examples:
      retrivex tune questions.jsonl --db retrivex.db
      retrivex query "How do bees survive the winter?" --config tuned/config.json

    \b
    A line, with any of the three forms of evidence; an empty list where nothing answers:
      {"question": "Do bees sleep?", "evidence": [{"doc_id": "bees.md", "quote": "They sleep at night."}]}
      {"question": "Do bees sleep?", "evidence": [{"doc_id": "bees.md", "start": 120, "end": 140}]}
      {"question": "Do bees sleep?", "evidence": [{"quote": "They sleep at night."}]}
    """
    tuning = import_module("retrivex.evaluation.tune.tuning")  # it needs an extra
    with SQLiteStore(db, read_only=True) as store:
        asked = own(questions, _read_texts(store, make_scope(scope)))
        usable = [question for question in asked.questions if question.evidence or not question.answers]
        odd = list(asked.odd)
        if len(usable) < len(asked.questions):
            odd.append(f"{len(asked.questions) - len(usable):,} questions have answers and no evidence; left out")
        note_each(odd)
        labelled = list(_search_hits(store, usable, k, mode, embed, make_scope(scope)))
        with progress("tuning") as show:
            result = tuning.tune(
                labelled,
                config=retrieval,
                trials=trials,
                hold_out=hold_out,
                seed=seed,
                report=lambda what, done, total: show(done, total, description=what),
            )
    _finish(result, out, odd, as_json=as_json)


def _finish(result: TuneResult, out: Path, problems: Sequence[str], *, as_json: bool) -> None:
    """Write what was accepted, print the figures, and end with the code that belongs to them."""
    path = result.save(out) if result.accepted else None
    if as_json:
        written = None if path is None else str(path)
        write_json({**result.to_dict(), "config": written, "left_out": list(problems)})
    else:
        write_text("\n".join(table(result)))
        write_text(f"\nwritten: {path}" if path is not None else "\nnothing written")
    if path is None:
        raise typer.Exit(NO_IMPROVEMENT)


def table(result: TuneResult) -> Iterator[str]:
    """Yield the lines of the report: what was measured, before and after, and what would be turned."""
    unanswerable = f", {result.unanswerable:,} without evidence" if result.unanswerable else ""
    apart = "no document in both" if result.by_document else "documents in both"
    yield f"fitted on {result.fitted_on:,} questions, held back {result.held_back:,} ({apart}){unanswerable}"
    yield ""
    yield f"{'held back':<12}{'before':>9}{'after':>9}{'change':>9}   95 % interval"
    for name, measure in result.measures.items():
        digits = 1 if name in ("spans", "tokens") else 3
        change = measure.difference
        figures = f"{measure.before:9.{digits}f}{measure.after:9.{digits}f}{change.mean:+9.{digits}f}"
        yield f"{name:<12}{figures}   {change.low:+.{digits}f} to {change.high:+.{digits}f}"
    yield ""
    for name, value in result.changes.items():
        yield f"{name}: {getattr(result.before, name)} -> {value}"
    yield "coefficients: fitted anew" if result.coefficients is not None else "coefficients: kept"
    yield f"{'accepted' if result.accepted else 'refused'}: {result.reason}"


def _search_hits(
    store: SQLiteStore, asked: Sequence[Question], k: int, mode: Mode, embed: str | None, scope: Scope
) -> Iterator[LabelledQuestion]:
    """Yield the questions with the hits of a database."""
    encoder, said = encoder_for_query(embed, store, mode.value)
    retriever = LocalRetriever(store, encoder, mode.value)
    for warning in (said,) if said else retriever.warnings:
        note(warning)
    dense = encoder if retriever.mode in ("dense", "hybrid") else None
    for question in asked:
        hits = retriever.retrieve(question.text, k, scope)
        vector = encode_question(dense, question.text) if dense is not None and hits else None
        yield LabelledQuestion(question.text, question.evidence, hits, store, vector, scope)


def _read_texts(store: SQLiteStore, scope: Scope) -> dict[str, str]:
    """Return the documents of a database that `scope` may see, by name."""
    found = (store.get_document(info.doc_id, scope) for info in store.documents())
    return {document.doc_id: document.text for document in found if document is not None and document.text.strip()}
