"""`retrivex query`: composes the context for a question from a database."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from retrivex.cli import options
from retrivex.cli.explain import Explanation, summary
from retrivex.cli.rerankers import make_reranker
from retrivex.cli.terminal import console, note, numbered, one_line, write_json, write_text
from retrivex.composer.composer import SpanComposer
from retrivex.composition.composition import Citation, Composition
from retrivex.composition.headings import cite_headings
from retrivex.config import RetrievalConfig
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.cues import cues_between, read_cues
from retrivex.rerank import Reranker
from retrivex.retrieval.stored_encoder import encoder_for_query
from retrivex.service.playground.page import write_recording
from retrivex.service.playground.settings import write_code
from retrivex.service.playground.view import Answer, fetch_chunks, write_view
from retrivex.service.question import DEFAULT_HITS, compose_question
from retrivex.stores import SQLiteStore

_TEXT_FIELDS = ("doc_id", "source", "heading")


class Mode(StrEnum):
    """How hits are found."""

    AUTO = "auto"
    BM25 = "bm25"
    DENSE = "dense"
    HYBRID = "hybrid"


class Format(StrEnum):
    """What is printed."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"
    PROMPT = "prompt"


@options.taking(retrieval=options.make_config, reranker=make_reranker)
def query(
    *,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="In your own words.", show_default=False)],
    db: options.Database = options.DEFAULT_DATABASE,
    output: Annotated[Format, typer.Option("--format", "-f", help="What to print.")] = Format.TEXT,
    explain: Annotated[bool, typer.Option("--explain", help="Draw what was looked at and why.")] = False,
    k: Annotated[int, typer.Option(min=1, metavar="N", help="Hits to start from.")] = DEFAULT_HITS,
    mode: Annotated[Mode, typer.Option(help="Find hits by words (bm25), by meaning (dense), or both.")] = Mode.AUTO,
    embed: options.Embed = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=VALUE",
            help="Only such chunks: doc_id, source, page, timestamp, heading or metadata.<key>; repeatable.",
        ),
    ] = None,
    scope: options.Scopes = None,
    sub_question: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Search for these in place of the question; repeatable.")
    ] = None,
    whole_documents: Annotated[
        int | None, typer.Option(min=1, metavar="TOKENS", help="Show documents of at most so many tokens whole.")
    ] = None,
    retrieval: RetrievalConfig,
    reranker: Reranker | None,
    trace: options.WithTrace = False,
    as_json: options.AsJson = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the answer, too, as a web page.")] = None,
) -> None:
    """Compose the context for a question: whole passages, cited, inside a token budget.

    Standard output holds the result and nothing else; notes and warnings go to standard error.

    \b
    Examples:
      retrivex query "How do bees survive the winter?"
      retrivex query "Who signs the contract?" --budget 800 --explain
      retrivex query "error codes" --format json | jq .citations
      retrivex query "opening hours" --where 'page={"max": 3}' --scope acme
      retrivex query "error codes" --html answer.html
      retrivex query "Bees or wasps?" --sub-question "Do bees sting?" --sub-question "Do wasps?"
      retrivex query "error codes" --rerank http://localhost:8080/rerank --rerank-shape tei
    """
    if not question.strip():
        raise typer.BadParameter("the question is empty: ask one, as in retrivex query 'Who signs the contract?'")
    if as_json:
        output = Format.JSON
    if output in (Format.TEXT, Format.MARKDOWN) and "context_format" not in retrieval.model_fields_set:
        retrieval = retrieval.override(context_format=output.value)
    visible_scope, filters = options.make_scope(scope), options.parse_pairs(where, "--where", as_text=_TEXT_FIELDS)
    with SQLiteStore(db, read_only=True) as store:
        given: dict[str, Any] = {"mode": mode.value, "scope": visible_scope, "where": filters}
        given |= {"sub_questions": sub_question, "whole_documents": whole_documents}
        composition = ask(store, question, SpanComposer(retrieval, reranker=reranker), embed=embed, k=k, **given)
        if html is not None:
            given |= {"hits": k, "database": str(db), "embed": embed or store.vector_model}
            code = write_code(question, retrieval, reranked=reranker is not None, **given)
            chunks = fetch_chunks(composition, store, visible_scope)
            page = write_recording(write_view([Answer(composition, retrieval, chunks, code)]))
            html.write_text(page, encoding="utf-8")
    _print(composition, output, explain=explain, trace=trace)


def ask(
    store: SQLiteStore, question: str, composer: SpanComposer, *, embed: str | None = None, **given: Any
) -> Composition:
    """Find hits and compose, with the arguments of `compose_question`; the retriever's warnings are among its own."""
    encoder, said = encoder_for_query(embed, store, given.get("mode", "auto"))
    return compose_question(composer, store, question, encoder=encoder, said=said, **given)


def _print(composition: Composition, output: Format, *, explain: bool, trace: bool) -> None:
    if output is Format.JSON:
        write_json(composition.to_dict(trace=trace))
    else:
        for warning in composition.warnings if not explain else ():
            note(warning)
        if composition.dropped and not composition.spans:
            best = composition.dropped[0]
            note(f"nothing to show: the best hit was left out for {best.reason}: {best.detail}")
        if output is Format.PROMPT:
            write_text(composition.prompt())
        elif composition.spans:
            _print_context(composition, markdown=output is Format.MARKDOWN)
    if explain:
        # in text it belongs to what was asked for; JSON and prompts are for programs
        people = output in (Format.TEXT, Format.MARKDOWN)
        sys.stdout.flush()
        console(to_stderr=not people).print(Explanation(composition))


def _print_context(composition: Composition, *, markdown: bool) -> None:
    """Print the context and the list of its sources."""
    write_text(composition.text)
    if markdown:
        write_text("\n## Sources\n\n" + "\n".join(f"{n}. {line}" for n, line in sources(composition, code="`")))
        return
    write_text("\n".join(["\nSources", *(f"[{number}] {line}" for number, line in sources(composition))]))
    if sys.stdout.isatty():
        console().print(f"\n{summary(composition)}", style="dim", soft_wrap=True)


def sources(composition: Composition, *, code: str = "") -> Iterator[tuple[int, str]]:
    """Yield number and place of each source: document, pages, characters, heading.

    Parameters
    ----------
    composition : the context
    code : put around document names
    """
    chunks = {chunk.key: chunk for span in composition.spans for chunk in span.chunks}
    by_number: dict[int, list[Citation]] = {}
    for citation in composition.citations:
        by_number.setdefault(citation.number, []).append(citation)
    for number, parts in by_number.items():
        name = f"{code}{one_line(parts[0].doc_id)}{code}"
        heading = one_line(cite_headings(part.heading_path for part in parts))
        places = [name, _pages(parts), _times(parts, chunks), _characters(parts), heading]
        yield number, ", ".join(place for place in places if place)


def _pages(parts: list[Citation]) -> str:
    pages = [part.page for part in parts if part.page is not None]
    return numbered("page", min(pages), max(pages)) if pages else ""


def _times(parts: list[Citation], chunks: Mapping[ChunkKey, Chunk]) -> str:
    """Return when it is said in the recording, to the second; empty for what is no transcript."""
    cited = [
        cue
        for part in parts
        if part.char_start is not None and part.char_end is not None
        for cues in [read_cues(chunks[part.doc_id, part.chunk_id].metadata.custom_metadata)]
        for cue in cues_between(cues, part.char_start, part.char_end)
    ]
    if not cited:
        return ""
    times = min(cue[1] for cue in cited), max(cue[2] for cue in cited)
    return "-".join(str(timedelta(seconds=int(seconds))) for seconds in times)


def _characters(parts: list[Citation]) -> str:
    places = [(part.char_start, part.char_end) for part in parts if part.char_end is not None]
    if len(places) < len(parts):
        ids = [part.chunk_id for part in parts]
        return numbered("chunk", min(ids), max(ids))
    return f"characters {min(start or 0 for start, _ in places):,}-{max(end for _, end in places):,}"
