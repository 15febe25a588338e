"""The output of `--explain`: chunk map, why each passage is there, steps, hits left out and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from retrivex.cli.chunk_map import ChunkMap, chunk_maps, legend
from retrivex.cli.terminal import counted, numbered, one_line
from retrivex.composer.reasons import DROP_REASONS, PassageReasons
from retrivex.composition.composition import Composition
from retrivex.composition.trace import Step
from retrivex.model.hit import DroppedHit

MAX_DOCUMENTS = 8
"""Documents that are drawn."""

MAX_DROPPED = 5
"""Hits left out that are listed one by one, for each reason."""

_CONFIDENCE = (
    "how sure the scorer is that the hits and their neighbours hold the answer at all. Compare it with your own "
    "questions before you rely on it."
)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a composition, drawn to the width of the terminal.

    Parameters
    ----------
    composition : what to explain
    """

    composition: Composition

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the parts, each under its heading; parts without content are left out."""
        composition = self.composition
        yield from _pictures(chunk_maps(composition))
        if composition.spans:
            yield from _section("Passages", *_passages(composition))
        if composition.confidence is not None:
            yield from _section("Confidence", Text(f"{composition.confidence:.2f}, from 0 to 1: {_CONFIDENCE}"))
        order = composition.trace.order
        if "reason" in order:
            yield from _section("Order", Text(f"{order['strategy']}: {one_line(order['reason'])}"))
        yield from _section("Steps", _steps(composition.trace.steps))
        if composition.dropped:
            yield from _section("Hits left out, or shown in part", *_list_dropped(composition.dropped))
        if composition.warnings:
            yield from _section("Warnings", *(Text(f"- {one_line(warning)}") for warning in composition.warnings))


def summary(composition: Composition) -> str:
    """Return the outcome in a line."""
    documents = len({span.doc_id for span in composition.spans})
    return (
        f"{composition.tokens:,} of {composition.token_budget:,} tokens ({composition.tokenizer}), "
        f"{counted(len(composition.spans), 'span')} of {counted(documents, 'document')}"
    )


def _section(title: str, *parts: RenderableType) -> Iterator[RenderableType]:
    yield Text()
    yield Text(title, style="bold underline")
    yield from parts


def _pictures(maps: Sequence[ChunkMap]) -> Iterator[RenderableType]:
    if not maps:
        return
    drawn = maps[:MAX_DOCUMENTS]
    yield from _section("Chunks", legend(drawn))
    for one in drawn:
        yield Text()
        yield one
    if maps[MAX_DOCUMENTS:]:
        yield Text(f"\nand {len(maps) - MAX_DOCUMENTS:,} more documents", style="dim")


def _passages(composition: Composition) -> Iterator[RenderableType]:
    """Say of each passage where it stands and why it is there: a head, and lines under it that wrap between words."""
    reasons = PassageReasons(composition)
    for number, span in enumerate(composition.spans, start=1):
        where = f", {numbered('chunk', *span.span_range)}, {counted(span.token_count, 'token')}"
        yield Text.assemble((f"[{number}] {one_line(span.doc_id)}", "bold"), where, overflow="fold")
        yield from (_indented(line) for line in reasons.explain(span))


def _indented(line: str) -> Padding:
    return Padding(Text(line, style="dim"), (0, 0, 0, 4), expand=False)


def _steps(steps: Sequence[Step]) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("step", no_wrap=True)
    for title in ("in", "out", "µs"):
        table.add_column(title, justify="right", no_wrap=True)
    for step in steps:
        table.add_row(step.name, f"{step.n_in:,}", f"{step.n_out:,}", f"{step.microseconds:,.0f}")
    table.add_row("total", "", "", f"{sum(step.microseconds for step in steps):,.0f}", style="bold")
    return table


def _list_dropped(hits: Sequence[DroppedHit]) -> Iterator[RenderableType]:
    """Name the best hits that are left out under their reasons; what is said of each alike is said once."""
    groups: dict[tuple[str, str], list[tuple[DroppedHit, str]]] = {}
    for hit in hits:
        own, _, alike = one_line(hit.detail).partition("; ")
        groups.setdefault((hit.reason, alike), []).append((hit, own))
    for (reason, alike), found in groups.items():
        yield Text.assemble(
            (reason, "yellow"), f", {counted(len(found), 'hit')}: {alike or DROP_REASONS.get(reason, reason)}"
        )
        for hit, own in found[:MAX_DROPPED]:
            score = f"score {hit.similarity_score:.4g}"
            yield _indented(f"{one_line(hit.doc_id)}, chunk {hit.chunk_id} ({score}): {own}")
        if len(found) > MAX_DROPPED:
            yield _indented(f"and {len(found) - MAX_DROPPED:,} more")
