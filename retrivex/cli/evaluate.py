"""`retrivex evaluate`: measures contexts on a user's own questions or on public sets, without any model."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from retrivex.cli.endpoints import EndpointOptions, OptionalModelName, OptionalModelUrl
from retrivex.cli.failures import SOME_FAILED
from retrivex.cli.options import AsJson, find_tokenizer, taking
from retrivex.cli.terminal import note, note_each, one_line, print_table, progress, write_json, write_text
from retrivex.errors import RetrivexError
from retrivex.evaluation.answers import AnsweredRows, answer_sets
from retrivex.evaluation.questions.evidence import EvidenceSet
from retrivex.evaluation.questions.own import own
from retrivex.evaluation.report import write_report
from retrivex.evaluation.report.verdict import small_budgets
from retrivex.evaluation.run import Plan, sets_of, summarise, write_run
from retrivex.evaluation.run import evaluate as run_plan
from retrivex.evaluation.run.measure_words import write_measure
from retrivex.evaluation.run.results import read_manifest

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


def _option(field: str, *flags: str, **more: Any) -> Any:
    """Return the option of a field of the plan, with what the plan says of it."""
    known = Plan.model_fields[field]
    said = f"{known.description}; repeatable" if isinstance(known.default, tuple) else str(known.description)
    return typer.Option(*flags, help=f"{said[0].upper()}{said[1:]}.", **more)


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What is varied, and what of, by the options of a command line."""

    sets: Annotated[list[str] | None, _option("sets", "--set", metavar="NAME")] = None
    data: Annotated[Path | None, _option("data", "--data", metavar="FOLDER", envvar="RETRIVEX_DATA")] = None
    retrievers: Annotated[list[str] | None, _option("retrievers", "--retriever", metavar="NAME")] = None
    encoder: Annotated[
        str | None, _option("encoder", "--encoder", "--embed", metavar="MODEL", envvar="RETRIVEX_EMBED")
    ] = None
    hits: Annotated[list[int] | None, _option("hits", "--hits", metavar="N")] = None
    composers: Annotated[list[str] | None, _option("composers", "--composer", metavar="NAME")] = None
    orders: Annotated[list[str] | None, _option("orders", "--order", metavar="NAME")] = None
    budgets: Annotated[list[int] | None, _option("budgets", "--budget", "-b", metavar="TOKENS")] = None
    seeds: Annotated[list[int] | None, _option("seeds", "--seed", metavar="S")] = None
    chunker: Annotated[str, _option("chunker", "--chunker", metavar="NAME")] = "sentence_packed"
    chunk_tokens: Annotated[int, _option("chunk_tokens", "--chunk-tokens", metavar="N")] = 200
    tokenizer: Annotated[str, _option("tokenizer", "--tokenizer", metavar="NAME")] = "auto"
    questions: Annotated[int | None, _option("questions", "--questions", metavar="N")] = None
    unanswerable: Annotated[bool, _option("unanswerable", "--unanswerable")] = False
    keep_contexts: Annotated[bool, _option("keep_contexts", "--keep-contexts")] = False


@taking(varied=PlanOptions, asking=EndpointOptions)
def evaluate(
    *,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="QUESTIONS", help="JSONL of your own questions.", show_default=False, exists=True),
    ] = None,
    documents: Annotated[
        Path | None,
        typer.Option("--documents", metavar="PATH", help="Folder or file that the questions are about.", exists=True),
    ] = None,
    varied: PlanOptions,
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Where results, manifest and report are written.")
    ] = Path("results"),
    processes: Annotated[
        int,
        typer.Option("--processes", min=1, metavar="N", show_default="all cores", help="That compose side by side."),
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
    model_url: OptionalModelUrl = None,
    model: OptionalModelName = None,
    asking: EndpointOptions,
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
    if (file is None) != (documents is None):
        raise typer.BadParameter("QUESTIONS and --documents belong together: give both")
    if file is None and not varied.sets:
        raise typer.BadParameter("there is nothing to ask: give QUESTIONS and --documents, or --set NAME")
    if (model_url is None) != (model is None):
        raise typer.BadParameter("--model-url and --model belong together: give the endpoint and the model's name")
    given = {name: value for name, value in asdict(varied).items() if value is not None and value != []}
    plan = _check_plan(Plan.model_validate({**given, "keep_contexts": varied.keep_contexts or model_url is not None}))
    endpoint = None
    if model_url is not None and model is not None:  # before the work, so that a wrong key or address costs none
        out.mkdir(parents=True, exist_ok=True)
        endpoint = asking.open(model_url, model, out / "answers.db")
    mine = [] if file is None or documents is None else [own(file, documents)]
    with progress("evaluating") as show:

        def reporter(what: str, done: int, total: int) -> None:
            show(done, total, description=what)

        rows = run_plan(plan, mine, out=out, cache=cache, processes=processes, report=reporter)
        answered = None
        if endpoint is not None and model is not None:
            with endpoint:
                every = chain(mine, (found for _, found in sets_of(plan.sets, plan.data)))
                answered = answer_sets(rows, every, endpoint, report=partial(reporter, "answering"))
            rows = answered.rows
            _write_answers(out, answered, model, keep_contexts=varied.keep_contexts)
    odd = [(found.name, line) for found in mine for line in found.odd]
    # files that are not read (images beside the texts) are listed after questions, and are no failure, as for `index`
    odd.sort(key=lambda problem: not problem[1].startswith("line "))
    left_out = [f"{name}: {line}" for name, line in odd if line.startswith("line ") and "left out" in line]
    note_each([f"{name}: {line}" for name, line in odd])
    summary = summarise(rows)
    missing = write_report(out, title=f"Evaluation of {file.name if file else ', '.join(plan.sets)}")
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


def _write_answers(out: Path, made: AnsweredRows, model: str, *, keep_contexts: bool) -> None:
    """Write the results anew, with answers, and the manifest with what they cost."""
    usage = None if made.usage is None else asdict(made.usage)
    answers = {"model": model, "usage": usage, "warnings": list(made.warnings)}
    rows = made.rows if keep_contexts else [replace(row, context=None) for row in made.rows]
    write_run(out, rows, {**read_manifest(out), "answers": answers})


def _check_plan(plan: Plan) -> Plan:
    """Refuse unknown composers before anything is read, and say how tokens are counted and which budgets mislead."""
    counter = find_tokenizer(plan.tokenizer)
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
    for described in read_manifest(out)["sets"]:
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
