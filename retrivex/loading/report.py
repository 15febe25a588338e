"""The result of loading: documents, notes about them, and problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from retrivex.errors import shortened
from retrivex.model.document import Document

MAX_KINDS = 5
"""Endings that are named; a folder of programs may have dozens."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """One document, and notes about how it was read.

    Parameters
    ----------
    document : the document
    notes : one sentence each: a guessed encoding, pages without text, ...
    """

    document: Document
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadProblem:
    """A problem with one file.

    Parameters
    ----------
    path : the file or folder it is about
    reason : what is the matter, and the way out
    """

    path: str
    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", shortened(self.reason))

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(slots=True)
class LoadReport:
    """The report on a load, which grows while the documents are read.

    Parameters
    ----------
    loaded : documents handed out so far
    problems : files, folders or lines that were skipped
    notes : files that were loaded, but not quite as they are (a guessed encoding, pages without text)
    passed_over : files of a folder whose kind is not read (pictures, programs, ...)

    Examples
    --------
    >>> report = LoadReport()
    >>> report.problems.append(LoadProblem("a.bin", "it is not text"))
    >>> print(report.summary())
    0 documents loaded, 1 problem, 0 notes
    """

    loaded: int = 0
    problems: list[LoadProblem] = field(default_factory=list)
    notes: list[LoadProblem] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """Return the counts as one line."""
        counts = ((self.loaded, "document"), (len(self.problems), "problem"), (len(self.notes), "note"))
        documents, problems, notes = (f"{n} {word}{'' if n == 1 else 's'}" for n, word in counts)
        others = f", {describe_kinds(self.passed_over)} passed over" if self.passed_over else ""
        return f"{documents} loaded, {problems}, {notes}{others}"


def describe_kinds(paths: Sequence[str]) -> str:
    """Return how many files there are of each ending, the most frequent first.

    Examples
    --------
    >>> describe_kinds(["a.png", "b.json", "c.PNG"])
    '3 files of other kinds (2 .png, 1 .json)'
    """
    endings = Counter(Path(path).suffix.lower() for path in paths)
    kinds = [f"{count:,} {ending}" for ending, count in endings.most_common(MAX_KINDS)]
    rest = ", ..." if len(endings) > MAX_KINDS else ""
    return f"{len(paths):,} file{'' if len(paths) == 1 else 's'} of other kinds ({', '.join(kinds)}{rest})"
