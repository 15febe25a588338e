"""The trace of a query: its steps, and what became of every chunk and unit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from time import perf_counter
from typing import Any, Literal, TypeAlias

from retrivex.errors import RetrivexError
from retrivex.model.chunk import ChunkKey
from retrivex.model.span import Span
from retrivex.model.window import Window

ChunkRole: TypeAlias = Literal["seed", "neighbour", "link", "beyond"]
"""A hit; grown to from one; reached over a link; or just outside, where a guard refused."""

ChunkOutcome: TypeAlias = Literal["selected", "dropped", "refused"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the pipeline.

    Parameters
    ----------
    name : rerank, seeds, fetch, expand, merge, sentences, score, select, parents, order, render
    n_in, n_out : how many things went in and came out
    microseconds : wall time
    """

    name: str
    n_in: int
    n_out: int
    microseconds: float


class Log:
    """Records steps, requests and warnings while a query runs.

    Parameters
    ----------
    warnings : to begin with

    Attributes
    ----------
    began : when its first step did, by `perf_counter`
    """

    def __init__(self, warnings: Iterable[str] = ()) -> None:
        self.steps: list[Step] = []
        self.warnings: list[str] = list(warnings)
        self.requests = 0
        self.selection: dict[str, Any] = {}
        self.began = self._reached = perf_counter()

    def mark(self, name: str, n_in: int, n_out: int) -> None:
        """Record that a step is done; its time began when the one before ended."""
        now = perf_counter()
        self.steps.append(Step(name, n_in, n_out, (now - self._reached) * 1e6))
        self._reached = now

    def warn(self, message: str) -> None:
        """Record something that went otherwise than asked for."""
        self.warnings.append(message)


@dataclass(frozen=True, slots=True)
class ChunkNote:
    """What became of one chunk that the query touched.

    Parameters
    ----------
    doc_id, chunk_id : the chunk
    role : how the query came to it
    outcome : what became of it
    reason : the guard that refused it, or why it was dropped
    value : what the selection counted for it, as a share of the best
    relevance : of a seed, in [0, 1]
    continuity : with the chunk before it
    """

    doc_id: str
    chunk_id: int
    role: ChunkRole
    outcome: ChunkOutcome
    reason: str | None = None
    value: float | None = None
    relevance: float | None = None
    continuity: float | None = None


@dataclass(frozen=True, slots=True)
class UnitNote:
    """Why a unit (a group of sentences) got its value; only with the calibrated scorer.

    Parameters
    ----------
    doc_id, chunk_ids : where it stands; several chunks where a sentence goes on across their border
    char_start : document offset of its first character; None without offsets
    length : in characters
    beginning : its first words
    probability : that it holds evidence, in [0, 1]
    value : what the selection counted for it, as a share of the best
    selected : whether it is shown
    reasons : the features that moved its log-odds most, each with what it added or took
    hedged : whether its value is that of the nearest-neighbour fallback, and not what its probability gives
    expected : share of the candidates' evidence that is expected in it, in [0, 1]; None in what version 0.2 wrote
    question : that it is valued by; None where the hit lists have no questions of their own
    """

    doc_id: str
    chunk_ids: tuple[int, ...]
    char_start: int | None
    length: int
    beginning: str
    probability: float
    value: float
    selected: bool
    reasons: tuple[tuple[str, float], ...]
    hedged: bool = False
    expected: float | None = None
    question: str | None = None

    def is_in(self, span: Span) -> bool:
        """Whether a span shows it: by its place in the document, else by its chunks."""
        if span.doc_id != self.doc_id:
            return False
        if self.char_start is not None and span.char_start is not None and span.char_end is not None:
            return span.char_start <= self.char_start < span.char_end
        return not set(self.chunk_ids).isdisjoint(span.chunk_ids)


@dataclass(frozen=True)
class Trace:
    """The record of one composition; notes are made when somebody asks for them.

    Parameters
    ----------
    steps : in order
    requests : calls to the chunk store and the parent store
    windows : per seed, what it grew to
    links : followed links, from chunk to chunk
    scorer : which scorer gave the values
    selection : `stopped`, whether the budget had room for more that is expected to hold next to nothing, and
        `left_out`, the share of the evidence that was expected in that; `whole_documents`, the short ones that are
        shown whole, where they were asked for
    order : the strategy; of auto what it chose and why, of profile the value of the order and its bound
    make_notes : called once, when `notes` is read
    make_unit_notes : called once, when `units` is read
    document : the `doc_id` of the document that the question names, and the `words` that name it, and under
        `named` documents that passages of others name, with those others; each is missing where there is none
    """

    steps: tuple[Step, ...]
    requests: int
    windows: tuple[Window, ...]
    links: tuple[tuple[ChunkKey, ChunkKey], ...]
    scorer: str
    selection: Mapping[str, Any]
    order: Mapping[str, Any]
    make_notes: Callable[[], tuple[ChunkNote, ...]] = field(repr=False, compare=False)
    make_unit_notes: Callable[[], tuple[UnitNote, ...]] = field(repr=False, compare=False)
    document: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def notes(self) -> tuple[ChunkNote, ...]:
        """Every chunk that was touched, by document and position."""
        return self.make_notes()

    @cached_property
    def units(self) -> tuple[UnitNote, ...]:
        """Every unit that was scored, best first; empty with the weighted scorer."""
        return self.make_unit_notes()


_PARTS = frozenset(part.name for part in fields(Trace))


class AbsentTrace(Trace):
    """Stands in for the trace of a composition that was written without one: to read any part of it is an error."""

    def __init__(self) -> None:
        """Hold nothing."""

    def __repr__(self) -> str:
        return "AbsentTrace()"

    def __getattr__(self, name: str) -> Any:
        if name in _PARTS:
            raise RetrivexError(
                f"trace.{name} is missing: this composition was written without its trace; write it with "
                "to_dict(trace=True), to_json(trace=True) or `retrivex compose --trace`"
            )
        raise AttributeError(name)
