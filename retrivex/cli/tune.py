"""`retrivex tune`: options and coefficients for a user's own questions, written only if significantly better."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from retrivex.cli.failures import NO_IMPROVEMENT
from retrivex.cli.options import (
    DEFAULT_DATABASE,
    AsJson,
    Budget,
    ConfigFile,
    Database,
    Embed,
    Preset,
    Scopes,
    Settings,
    make_config,
    make_scope,
)
from retrivex.cli.query import Mode
from retrivex.cli.terminal import note, note_each, progress, write_json, write_text
from retrivex.encoders.queries import encode_question
from retrivex.errors import LoadError
from retrivex.evaluation.questions.labelled import (
    EvidenceFinder,
    LabelledQuestion,
    QuestionLine,
    locate,
    read_question_lines,
)
from retrivex.model.chunk import Scope
from retrivex.retrieval.local import LocalRetriever
from retrivex.retrieval.stored_encoder import encoder_for_query
from retrivex.service.question import DEFAULT_HITS
from retrivex.stores import SQLiteStore

if TYPE_CHECKING:
    from retrivex.evaluation.tune.tuning import TuneResult


def tune(
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
    budget: Budget = None,
    preset: Preset = None,
    config: ConfigFile = None,
    settings: Settings = None,
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
    lines = read_question_lines(questions)
    retrieval = make_config(preset, config, settings, token_budget=budget)
    run = partial(tuning.tune, config=retrieval, trials=trials, hold_out=hold_out, seed=seed)
    with SQLiteStore(db, read_only=True) as store:
        labelled, problems = _search_hits(store, lines, k, mode, embed, make_scope(scope))
        result = _tune_labelled(run, questions, labelled, problems)
    _finish(result, out, problems, as_json=as_json)


def _tune_labelled(
    run: Callable[..., TuneResult], path: Path, labelled: Sequence[LabelledQuestion], problems: Sequence[str]
) -> TuneResult:
    """Say which questions are left out, and tune with the others."""
    if problems and not any(question.evidence for question in labelled):
        raise LoadError(f"no evidence of {path} was found; {problems[0]}")
    note_each(problems)
    with progress("tuning") as bar:

        def report(what: str, done: int, total: int) -> None:
            bar.update(bar.task_ids[0], description=what, completed=done, total=total)

        return run(labelled, report=report)


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
    store: SQLiteStore, lines: Sequence[QuestionLine], k: int, mode: Mode, embed: str | None, scope: Scope
) -> tuple[list[LabelledQuestion], list[str]]:
    """Find evidence and hits of all questions in a database."""
    encoder, said = encoder_for_query(embed, store, mode.value)
    retriever = LocalRetriever(store, encoder, mode.value)
    for warning in (said,) if said else retriever.warnings:
        note(warning)
    dense = encoder if retriever.mode in ("dense", "hybrid") else None
    found, problems = locate(lines, EvidenceFinder(_StoredTexts(store, scope)))
    made = []
    for line in lines:
        if line.place in found:
            hits = retriever.retrieve(line.text, k, scope)
            vector = encode_question(dense, line.text) if dense is not None and hits else None
            made.append(LabelledQuestion(line.text, found[line.place], hits, store, vector, scope))
    return made, problems


class _StoredTexts(Mapping[str, str]):
    """The documents of a database that `scope` may see, each read on first use."""

    def __init__(self, store: SQLiteStore, scope: Scope) -> None:
        self._store = store
        self._scope = scope
        self._names = [info.doc_id for info in store.documents()]

    def __getitem__(self, doc_id: str) -> str:
        document = self._store.get_document(doc_id, self._scope)
        if document is None:
            raise KeyError(doc_id)
        return document.text

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._names if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)
