"""The output of `--explain`: chunk map, factor scores, steps, dropped hits and warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from retrivex.cli.chunk_map import ChunkMap, chunk_maps, legend
from retrivex.cli.terminal import one_line, shorten
from retrivex.composition.composition import Composition
from retrivex.composition.trace import Step
from retrivex.model.hit import DroppedHit
from retrivex.model.span import Span

MAX_DOCUMENTS = 12
"""Documents that are drawn."""

MAX_EMPTY_DOCUMENTS = 4
"""Documents that are drawn although nothing of them is shown."""

MAX_DROPPED = 10
"""Hits left out that are listed one by one."""

MAX_UNITS = 3
"""Groups of sentences of which the reasons are listed."""

_WIDE = 110  # columns from which on the factors' names fit as headings
_NARROW = 60  # columns below which a table of factors is a list


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a composition, drawn to the width of the terminal.

    Parameters
    ----------
    composition : what to explain
    brief : only the picture and the spans
    """

    composition: Composition
    brief: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the parts, each under its heading; parts without content are left out."""
        composition = self.composition
        yield from _pictures(chunk_maps(composition), options)
        if composition.spans:
            yield from _section("Spans", _spans(composition.spans, options))
        if self.brief:
            return
        if composition.confidence is not None:
            yield from _section("Why", *_reasons(composition))
        order = composition.trace.order
        if "reason" in order:
            yield from _section("Order", Text(f"{order['strategy']}: {one_line(order['reason'])}"))
        yield from _section("Steps", _steps(composition.trace.steps, options))
        if composition.dropped:
            yield from _section("Hits left out", *_dropped(composition.dropped, options))
        if composition.warnings:
            yield from _section("Warnings", *(Text(f"- {one_line(warning)}") for warning in composition.warnings))


def summary(composition: Composition) -> str:
    """Return the outcome in a line."""
    spans = len(composition.spans)
    documents = len({span.doc_id for span in composition.spans})
    return (
        f"{composition.tokens:,} of {composition.token_budget:,} tokens ({composition.tokenizer}), "
        f"{spans} {'span' if spans == 1 else 'spans'} of {documents} {'document' if documents == 1 else 'documents'}"
    )


def _reasons(composition: Composition) -> Iterator[RenderableType]:
    """Show the scorer's confidence, and the features of the best groups of sentences."""
    yield Text(f"confidence {composition.confidence:.2f} that the candidates hold evidence")
    for note in [note for note in composition.trace.units if note.selected][:MAX_UNITS]:
        moved = ", ".join(f"{name} {by:+.2f}" for name, by in note.reasons)
        yield Text(f"{note.probability:.2f}  {one_line(note.beginning)}")
        if note.hedged:
            moved += f"; counts {note.value:.2f} as a near hit where the scorer doubts"
        yield Text(f"      {moved}", style="dim")


def _section(title: str, *parts: RenderableType) -> Iterator[RenderableType]:
    yield Text()
    yield Text(title, style="bold underline")
    yield from parts


def _pictures(maps: Sequence[ChunkMap], options: ConsoleOptions) -> Iterator[RenderableType]:
    if not maps:
        return
    full = sum(one.shown for one in maps)
    drawn = maps[: min(MAX_DOCUMENTS, full + MAX_EMPTY_DOCUMENTS)]
    yield from _section("Chunks", *legend(drawn, options.max_width, ascii_only=options.ascii_only))
    for one in drawn:
        yield Text()
        yield one
    rest = maps[len(drawn) :]
    if rest:
        shown = sum(one.shown for one in rest)
        yield Text()
        yield Text(f"and {len(rest):,} more documents, {shown:,} of them with something shown", style="dim")


def _ids(span: Span) -> str:
    first, last = span.span_range
    return str(first) if first == last else f"{first}-{last}"


def _factors(span: Span) -> list[str]:
    numbers = (
        span.sim_score,
        span.adjacency_score,
        span.continuity_score,
        span.parent_bonus,
        span.score,
        span.value,
    )
    return [*(f"{number:.2f}" for number in numbers), f"{span.token_count:,}"]


def _name(doc_id: str, width: int, options: ConsoleOptions) -> str:
    return shorten(doc_id, max(12, width), ellipsis="..." if options.ascii_only else "…")


def _spans(spans: Sequence[Span], options: ConsoleOptions) -> RenderableType:
    width = options.max_width
    if width < _NARROW:
        return _span_list(spans, options)
    names = ("similarity", "adjacency", "continuity", "parent") if width >= _WIDE else ("sim", "adj", "cont", "par")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("document", ratio=1, overflow="fold")
    table.add_column("chunks", no_wrap=True)
    for name in (*names, "score", "value", "tokens"):
        table.add_column(name, justify="right", no_wrap=True)
    for number, span in enumerate(spans, start=1):
        mark = "pinned " if span.pinned else "parent " if span.parent_id is not None else ""
        document = Text.assemble((mark, "dim"), _name(span.doc_id, width - 62, options))
        table.add_row(f"[{number}]", document, _ids(span), *_factors(span))
    return table


def _span_list(spans: Sequence[Span], options: ConsoleOptions) -> Text:
    names = ("similarity", "adjacency", "continuity", "parent", "score", "value", "tokens")
    lines = []
    for number, span in enumerate(spans, start=1):
        lines.append(
            Text(f"[{number}] {_name(span.doc_id, options.max_width - 12, options)} {_ids(span)}", style="bold")
        )
        lines.append(
            Text("    " + ", ".join(f"{name} {value}" for name, value in zip(names, _factors(span), strict=True)))
        )
    return Text("\n").join(lines)


def _steps(steps: Sequence[Step], options: ConsoleOptions) -> RenderableType:
    ascii_only, longest = options.ascii_only, 20 if options.max_width >= _NARROW else 0
    slowest = max((step.microseconds for step in steps), default=0.0)
    table = Table(box=None, pad_edge=False, show_header=True, header_style="dim")
    table.add_column("step", no_wrap=True)
    table.add_column("in", justify="right", no_wrap=True)
    table.add_column("out", justify="right", no_wrap=True)
    table.add_column("us" if ascii_only else "µs", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for step in steps:
        bar = ("-" if ascii_only else "━") * round(longest * step.microseconds / slowest) if slowest else ""
        table.add_row(
            step.name, f"{step.n_in:,}", f"{step.n_out:,}", f"{step.microseconds:,.0f}", Text(bar, style="blue")
        )
    total = sum(step.microseconds for step in steps)
    table.add_row("total", "", "", f"{total:,.0f}", style="bold")
    return table


def _dropped(hits: Sequence[DroppedHit], options: ConsoleOptions) -> Iterator[RenderableType]:
    listed = hits[:MAX_DROPPED]
    if options.max_width < _NARROW:
        for hit in listed:
            name = _name(hit.doc_id, options.max_width // 2, options)
            yield Text.assemble(f"{name} {hit.chunk_id} ({hit.similarity_score:.4g}): ", (hit.reason, "yellow"))
    else:
        yield _dropped_table(listed, options)
    rest = Counter(hit.reason for hit in hits[MAX_DROPPED:])
    if rest:
        counts = ", ".join(f"{count:,} {reason}" for reason, count in rest.most_common())
        yield Text(f"and {rest.total():,} more: {counts}", style="dim")


def _dropped_table(hits: Sequence[DroppedHit], options: ConsoleOptions) -> Table:
    table = Table(box=None, pad_edge=False, show_header=True, header_style="dim", expand=True)
    table.add_column("document", no_wrap=True)
    table.add_column("chunk", justify="right", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("reason", no_wrap=True)
    table.add_column("", style="dim", no_wrap=True, overflow="crop" if options.ascii_only else "ellipsis", ratio=1)
    for hit in hits:
        name = _name(hit.doc_id, options.max_width // 3, options)
        reason = Text(hit.reason, style="yellow")
        table.add_row(name, str(hit.chunk_id), f"{hit.similarity_score:.4g}", reason, one_line(hit.detail))
    return table
