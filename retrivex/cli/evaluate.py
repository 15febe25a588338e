"""`retrivex evaluate`: measures contexts on a user's own questions or on public sets, without any model."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from retrivex.cli.answers import answer_run
from retrivex.cli.endpoints import (
    DEFAULT_CONCURRENCY,
    DEFAULT_KEY_VARIABLE,
    AnswerFile,
    Concurrency,
    KeyVariable,
    ModelOptions,
    OptionalModelName,
    OptionalModelUrl,
    SpendCapTokens,
    open_endpoint,
)
from retrivex.cli.failures import SOME_FAILED
from retrivex.cli.options import AsJson
from retrivex.cli.tables import print_table
from retrivex.cli.terminal import note, note_each, one_line, progress, write_json, write_text
from retrivex.errors import RetrivexError
from retrivex.evaluation.questions.evidence import EvidenceSet
from retrivex.evaluation.questions.own import own
from retrivex.evaluation.report import write_report
from retrivex.evaluation.report.verdict import small_budgets
from retrivex.evaluation.run import ORDERS, Plan, summarise
from retrivex.evaluation.run import evaluate as run_plan
from retrivex.evaluation.run.index import CHUNKERS, RETRIEVERS
from retrivex.evaluation.run.measure_words import write_measure
from retrivex.evaluation.run.results import MANIFEST
from retrivex.evaluation.run.systems import COMPOSERS
from retrivex.tokens.tokenizer import resolve_tokenizer

_SHOWN = {
    "evidence_recall": "recall",
    "complete": "complete",
    "answer_in_context": "answer",
    "evidence_precision": "precision",
    "em": "EM",
    "f1": "F1",
    "score": "score",
    "reciprocal_rank": "MRR",
    "spans": "spans",
    "tokens": "tokens",
    "ms": "ms",
}
_NAMES = ("set_name", "retriever", "composer", "order")
_FIELDS = ("set_name", "retriever", "hits", "composer", "budget", "order", "seed")


def evaluate(
    questions: Annotated[
        Path | None,
        typer.Argument(metavar="QUESTIONS", help="JSONL of your own questions.", show_default=False, exists=True),
    ] = None,
    documents: Annotated[
        Path | None,
        typer.Option("--documents", metavar="PATH", help="Folder or file that the questions are about.", exists=True),
    ] = None,
    sets: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME", help="A public set, as 'squad'; repeatable.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="FOLDER", envvar="RETRIVEX_DATA", help="Where the public sets lie."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Where results, manifest and report are written.")
    ] = Path("results"),
    retriever: Annotated[
        list[str] | None,
        typer.Option("--retriever", metavar="NAME", help=f"Hits by {', '.join(RETRIEVERS)}; repeatable."),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            "--embed",
            metavar="MODEL",
            envvar="RETRIVEX_EMBED",
            help="'hashing' (no download), the folder or name of a sentence-transformers model, or any other that "
            "retrivex index --embed takes. Left out, hits are found by words.",
        ),
    ] = None,
    hits: Annotated[
        list[int] | None, typer.Option("--hits", metavar="N", help="Hits to start from, usually 20; repeatable.")
    ] = None,
    composer: Annotated[
        list[str] | None,
        typer.Option(
            "--composer",
            metavar="NAME",
            help=f"{', '.join(COMPOSERS)}, or a .toml or .json of options; repeatable. Usually knn, knn±1, balanced.",
        ),
    ] = None,
    order: Annotated[
        list[str] | None,
        typer.Option(
            "--order",
            metavar="NAME",
            help=f"Order of the passages: {', '.join(ORDERS)}; repeatable. Left out, each composer's own.",
        ),
    ] = None,
    budget: Annotated[
        list[int] | None,
        typer.Option("--budget", "-b", metavar="TOKENS", help="Most tokens of context, usually 2000; repeatable."),
    ] = None,
    seed: Annotated[
        list[int] | None, typer.Option("--seed", metavar="S", help="Of the order shuffle; repeatable.")
    ] = None,
    chunker: Annotated[
        str, typer.Option("--chunker", metavar="NAME", help=f"How documents are cut: {', '.join(CHUNKERS)}.")
    ] = "sentence_packed",
    chunk_tokens: Annotated[int, typer.Option("--chunk-tokens", metavar="N", help="Most tokens of a chunk.")] = 200,
    tokenizer: Annotated[str, typer.Option("--tokenizer", metavar="NAME", help="Whose tokens are counted.")] = "auto",
    most: Annotated[
        int | None, typer.Option("--questions", metavar="N", help="Most questions of a set, a seeded sample.")
    ] = None,
    unanswerable: Annotated[
        bool, typer.Option("--unanswerable", help="Ask also what has neither evidence nor answers.")
    ] = False,
    processes: Annotated[
        int, typer.Option("--processes", min=1, metavar="N", help="That compose side by side.")
    ] = os.cpu_count() or 1,
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache",
            metavar="FOLDER",
            envvar="RETRIVEX_CACHE",
            help="Finished blocks and vectors, so that a stopped run goes on. Usually ~/.cache/retrivex.",
        ),
    ] = None,
    keep_contexts: Annotated[
        bool, typer.Option("--keep-contexts", help="Write the text of each context into the results.")
    ] = False,
    model_url: OptionalModelUrl = None,
    model: OptionalModelName = None,
    api_key_env: KeyVariable = DEFAULT_KEY_VARIABLE,
    answers: AnswerFile = None,
    spend_cap: SpendCapTokens = None,
    concurrency: Concurrency = DEFAULT_CONCURRENCY,
    model_option: ModelOptions = None,
    as_json: AsJson = False,
) -> None:
    """Measure contexts on your own questions, or on public sets, beside plain nearest chunks.

    Without --model-url no model is asked: what is measured is the evidence that a context holds, what it costs, and
    where it stands. With it, the model answers every context, and its answers are measured too (extra 'evaluate'). A
    run that was stopped goes on where it was. Exit code 1: lines of your questions could not be used, or answers are
    missing.

    \b
    Examples:
      retrivex evaluate questions.jsonl --documents docs/
      retrivex evaluate questions.jsonl --documents docs/ --composer knn --composer tuned/config.json --budget 1000
      retrivex evaluate --set squad --set qmsum --data data/ --encoder hashing --questions 100
      retrivex evaluate questions.jsonl --documents docs/ --model-url http://localhost:8000/v1 --model qwen3

    \b
    A line, with evidence, answers, or both:
      {"question": "Do bees sleep?", "evidence": [{"doc_id": "bees.md", "quote": "They sleep at night."}]}
      {"question": "Do bees sleep?", "answers": ["at night"]}
    """
    if (questions is None) != (documents is None):
        raise typer.BadParameter("QUESTIONS and --documents belong together: give both")
    if questions is None and not sets:
        raise typer.BadParameter("there is nothing to ask: give QUESTIONS and --documents, or --set NAME")
    if (model_url is None) != (model is None):
        raise typer.BadParameter("--model-url and --model belong together: give the endpoint and the model's name")
    given = {
        "sets": sets, "data": data, "questions": most, "retrievers": retriever, "encoder": encoder, "hits": hits,
        "composers": composer, "orders": order, "budgets": budget, "seeds": seed, "chunker": chunker,
        "chunk_tokens": chunk_tokens, "tokenizer": tokenizer, "unanswerable": unanswerable,
        "keep_contexts": keep_contexts or model_url is not None,
    }  # fmt: skip
    plan = _check_plan(
        Plan.model_validate({name: value for name, value in given.items() if value is not None and value != []})
    )
    endpoint = None
    if model_url is not None and model is not None:  # before the work, so that a wrong key or address costs none
        out.mkdir(parents=True, exist_ok=True)
        endpoint = open_endpoint(
            model_url,
            model,
            key_variable=api_key_env,
            answers=answers or out / "answers.db",
            spend_cap=spend_cap,
            concurrency=concurrency,
            options=model_option,
        )
    mine = [] if questions is None or documents is None else [own(questions, documents)]
    with progress("evaluating") as bar:

        def reporter(what: str, done: int, total: int) -> None:
            bar.update(bar.task_ids[0], description=what, completed=done, total=total)

        rows = run_plan(plan, mine, out=out, cache=cache, processes=processes, report=reporter)
        answered = None
        if endpoint is not None and model is not None:
            with endpoint:
                answered = answer_run(
                    out, rows, mine, plan, endpoint, model, keep_contexts=keep_contexts,
                    report=lambda done, total: reporter("answering", done, total),
                )  # fmt: skip
            rows = answered.rows
    odd = [(found.name, line) for found in mine for line in found.odd]
    # files that are not read (images beside the texts) are listed after questions, and are no failure, as for `index`
    odd.sort(key=lambda problem: not problem[1].startswith("line "))
    left_out = [f"{name}: {line}" for name, line in odd if line.startswith("line ") and "left out" in line]
    note_each([f"{name}: {line}" for name, line in odd])
    summary = summarise(rows)
    missing = write_report(out, title=f"Evaluation of {questions.name if questions else ', '.join(plan.sets)}")
    for reason in (*missing, *(answered.warnings if answered else ())):
        note(reason)
    _note_sets(out, mine, plan)
    if as_json:
        write_json({"out": str(out), "rows": len(rows), "left_out": left_out, "summary": summary})
    else:
        _show(summary)
        said = "answers were not generated" if answered is None else str(answered.usage)
        write_text(f"\nwritten: {one_line(str(out))}, {len(rows):,} results and report.html; {said}")
    if left_out or (answered and answered.warnings):
        raise typer.Exit(SOME_FAILED)


def _check_plan(plan: Plan) -> Plan:
    """Refuse unknown composers before anything is read, and say how tokens are counted and which budgets mislead."""
    counter, messages = resolve_tokenizer(plan.tokenizer)
    for message in messages:
        note(message)
    try:
        composers = plan.composed_by(counter)
    except RetrivexError as error:
        raise typer.BadParameter(str(error)) from error
    if noted := small_budgets(plan.budgets, [composer.name for composer in composers], plan.chunk_tokens):
        note(noted)
    return plan


def _note_sets(out: Path, own: Sequence[EvidenceSet], plan: Plan) -> None:
    """Say how many questions were not asked, and how many records of public sets were repaired or left out."""
    mine = {found.name for found in own}
    for described in json.loads((out / MANIFEST).read_text(encoding="utf-8"))["sets"]:
        if described["unanswerable"] and not plan.unanswerable:
            count = f"{described['unanswerable']:,} of {described['questions']:,} questions"
            note(f"{described['name']}: {count} have neither evidence nor answers; --unanswerable asks them, too")
        if described["odd"]["count"] and described["name"] not in mine:
            note(f"{described['name']}: {described['odd']['count']:,} malformed records, listed in the manifest")


def _show(summary: Sequence[Mapping[str, Any]]) -> None:
    """Print the means as a table; what is the same for all, or goes without saying, is not shown."""
    fields = [field for field in _FIELDS if _reports(summary, field)]
    measures = [name for name in _SHOWN if any(name in row["measures"] for row in summary)]
    table = Table()
    for field in fields:
        named = field in _NAMES
        table.add_column(field.removesuffix("_name"), no_wrap=not named, justify="left" if named else "right")
    for title in ("asked", *(_SHOWN[name] for name in measures)):
        table.add_column(title, no_wrap=True, justify="right")
    for row in summary:
        table.add_row(*_cells(row, fields, measures))
    print_table(table)


def _reports(summary: Sequence[Mapping[str, Any]], field: str) -> bool:
    """Whether a field distinguishes setups; each composer's own order belongs to the composer."""
    if field in ("order", "seed"):
        return len({(row["composer"], row[field]) for row in summary}) > len({row["composer"] for row in summary})
    return field in ("composer", "budget") or len({row[field] for row in summary}) > 1


def _cells(row: Mapping[str, Any], fields: Sequence[str], measures: Sequence[str]) -> Iterator[str]:
    yield from (one_line(str(row[field])) for field in fields)
    yield f"{row['questions']:,}"
    for name in measures:
        yield write_measure(name, row["measures"].get(name))
