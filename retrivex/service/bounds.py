"""The most that one request may ask for."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from retrivex.composition.composition import Composition
from retrivex.errors import quoted
from retrivex.loading import LoadLimits
from retrivex.model.chunk import Chunk
from retrivex.ordering import PROFILES
from retrivex.service.errors import LimitError
from retrivex.tokens.tokenizer import FILE_SUFFIX

_WINDOWS = ("window", "max_window")
_BUDGETS = ("token_budget", "max_tokens", "whole_documents")
_OF_THE_SERVER = ("coefficients",)  # files of the machine
_PROFILES = ("position_profile", "profile")  # a name, or a file of the machine
_MOST_NESTED = 64

MAX_REPEATED = 16_000_000
"""Characters that the chunks of a file may repeat: each is kept with the headings above it, and the like."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Upper limits of one request.

    Parameters
    ----------
    hits : hits, passages or asked-for `k`
    chunks : chunks and parents that come with a request, or chunks that are made of an uploaded file
    window : neighbours on each side of a hit
    characters : of a single text, and of all turns or passages of a prompt together
    name : characters of a document's name, which an answer repeats for each passage and each step
    carried : characters that a chunk of an uploaded file may have beside its text, as answers repeat them
    tokens : of a budget
    batch : requests in one batch, or sub-questions of a question
    answer : bytes of one answer, and of all answers of a batch together
    listed : documents of one page of a list
    documents : of one uploaded file
    line_bytes : of one line of an uploaded file of JSON Lines
    load : time and memory for reading and cutting an uploaded file
    """

    hits: int = 1_000
    chunks: int = 20_000
    window: int = 100
    characters: int = 1_000_000
    name: int = 1_000
    carried: int = 65_536
    tokens: int = 200_000
    batch: int = 100
    answer: int = 32 * 1024**2
    listed: int = 1_000
    documents: int = 20_000
    line_bytes: int = 8 * 1024**2
    load: LoadLimits = field(default_factory=lambda: LoadLimits(timeout_s=20.0, memory_bytes=1024**3))

    def check_count(self, what: str, count: int, most: int) -> None:
        """Refuse more of something than may be.

        Raises
        ------
        LimitError
            If `count` is above `most`.
        """
        if count > most:
            raise LimitError(f"{count:,} {what}: a request may have {most:,}; send fewer, or several requests")

    def check_chunks(self, chunks: int, repeated: int, most: int) -> None:
        """Refuse a file of which too many chunks come, or chunks that repeat too much.

        Parameters
        ----------
        chunks : how many
        repeated : characters that are kept for each of them beside its text: headings, heads of tables, metadata
        most : the same of the chunk that has most of them

        Raises
        ------
        LimitError
            If there is too much of any.
        """
        beside = "characters of headings, heads of tables and metadata"
        would = f"its chunks would repeat {repeated:,} {beside}"
        _check(chunks, self.chunks, f"{chunks:,} chunks come of the file", "split it")
        _check(repeated, MAX_REPEATED, would, "shorten those, or split the file")
        _check(most, self.carried, f"a chunk of the file would carry {most:,} {beside}", "shorten those")

    def check_names(self, names: Iterable[Any]) -> None:
        """Refuse the name of a document or a chunk that is too long; what is no text is left to whoever reads it."""
        for size in _sizes(names):
            _check(size, self.name, f"a name has {size:,} characters", "shorten it")

    def check_title(self, title: str | None) -> None:
        """Refuse the title of a document that is too long, as lists have those of many."""
        for size in _sizes([title]):
            _check(size, self.carried, f"a title has {size:,} characters", "shorten it")

    def check_composition(self, made: Composition) -> None:
        """Refuse passages that would repeat too much: each is written with all of its chunks, whole.

        Raises
        ------
        LimitError
            If they have more characters than an answer may have bytes.
        """
        chunks = {id(chunk): chunk for span in made.spans for chunk in span.chunks}  # the same objects in each passage
        sizes = {key: len(chunk.text) + _count_carried(chunk) for key, chunk in chunks.items()}
        total = sum(_sizes(heading for citation in made.citations for heading in citation.heading_path))
        total += sum(len(span.text) + sum(sizes[id(chunk)] for chunk in span.chunks) for span in made.spans)
        repeat = f"the passages of the answer would repeat {total:,} characters of their chunks"
        _check(total, self.answer, repeat, "ask for a smaller budget or fewer hits, or make chunks smaller")

    def check_total(self, what: str, texts: Iterable[Any]) -> None:
        """Refuse texts that are too long together, as all of them are counted for a prompt."""
        total = sum(_sizes(texts))
        _check(total, self.characters, f"the {what} has {total:,} characters", "send less of it")

    def check_questions(self, questions: Collection[str]) -> None:
        """Refuse too many sub-questions, or one that is too long: each is searched for and scored by itself."""
        self.check_count("sub-questions", len(questions), self.batch)
        self.check_texts(questions)

    def check_texts(self, texts: Iterable[Any]) -> None:
        """Refuse a text that is too long; what is no text is left to whoever reads it."""
        for size in _sizes(texts):
            _check(size, self.characters, f"a text has {size:,} characters", "cut it")

    def check_options(self, options: Any, tokenizers: Sequence[str]) -> None:
        """Refuse options that are too large, name a file of the machine, or a tokenizer that would be downloaded.

        Parameters
        ----------
        options : of `RetrievalConfig` or `ReorderOptions`, by name
        tokenizers : names that may be asked for

        Raises
        ------
        LimitError
            If one is.
        """
        if not isinstance(options, Mapping):
            return
        for name, value in options.items():
            self.check_options(value, tokenizers)  # options within options
            number = isinstance(value, int | float)
            if name in _WINDOWS and _largest(value) > self.window:
                raise LimitError(f"{name} is {quoted(value)}: the limit of this service is {self.window:,}")
            if name in _BUDGETS and number and value > self.tokens:
                raise LimitError(f"{name} is {quoted(value)}: the limit of this service is {self.tokens:,} tokens")
            if name in _OF_THE_SERVER:
                raise LimitError(f"{name} names a file of the machine: a request cannot; set it where the service runs")
            if name in _PROFILES and isinstance(value, str) and value not in PROFILES:
                raise LimitError(f"{name} is {quoted(value)}: choose one of {', '.join(PROFILES)}")
            if name == "tokenizer" and value not in tokenizers:
                known = ", ".join(known for known in tokenizers if not known.endswith(FILE_SUFFIX))
                raise LimitError(f"tokenizer is {quoted(value)}: this service counts with {known}")


def _check(count: int, most: int, what: str, way_out: str) -> None:
    if count > most:
        raise LimitError(f"{what}: the limit is {most:,}; {way_out}")


def _sizes(texts: Iterable[Any]) -> Iterator[int]:
    return (len(text) for text in texts if isinstance(text, str))


def _largest(value: Any) -> float:
    """Return the largest number of a window, or of a pair; what is no number is left to whoever reads it."""
    sides = value if isinstance(value, list | tuple) else (value,)
    return max((side for side in sides if isinstance(side, int | float)), default=0)


def _count_carried(chunk: Chunk) -> int:
    """Return the characters that an answer repeats of a chunk beside its text."""
    where = chunk.metadata
    carried = (where.heading_path, where.prefix, where.parent_id, where.scope, where.links, where.custom_metadata)
    if not any(carried):
        return 0
    try:
        return len(json.dumps([part for part in carried if part], ensure_ascii=False, default=str, skipkeys=True))
    except (ValueError, RecursionError):
        return 0  # whoever writes it says that JSON cannot hold it


def check_nesting(value: Any) -> None:
    """Refuse JSON that is nested deeper than any request is: what writes it would run out of stack.

    Raises
    ------
    LimitError
        If there are more than 64 levels.
    """
    level = [value]
    for _ in range(_MOST_NESTED):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise LimitError(f"the body is nested deeper than {_MOST_NESTED} levels: no request needs that; flatten it")
