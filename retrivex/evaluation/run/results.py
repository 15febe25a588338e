"""The results of a run: one line of JSON per question and setup, and a manifest.

The runner writes them; comparisons, reports and plots read nothing else.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from retrivex.errors import LoadError, quoted
from retrivex.evaluation.questions.evidence import Factor

RESULTS = "results.jsonl"
COMPRESSED = "results.jsonl.gz"
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Way:
    """The setup of a measurement: everything that a run varies besides the questions.

    Parameters
    ----------
    retriever : where the hits come from, "dense", "bm25" or "fused"
    hits : how many are asked for
    composer : what makes a context of them: "knn", "knn±1", a preset, or the name of a configuration
    order : of the passages or spans in the context
    budget : tokens of the context at most
    seed : of whatever is drawn, as in the order "shuffle"
    """

    retriever: str
    hits: int
    composer: str
    order: str
    budget: int
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The beginning of a passage.

    Parameters
    ----------
    doc_id : its document
    text : its first words, on one line
    """

    doc_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """The result of one question in one setup.

    Parameters
    ----------
    set_name : of the set of questions, as in "squad" or "niah/4096"
    question_id : unique in its set
    way : how
    measures : by name; a measure that the question does not allow (no evidence, no answers) is not there
    factors : of the question
    question : as it was asked
    context : the text that a model would read; None where it was not kept
    answer : what a model gave; None where none was asked
    missing : passages of evidence that the context does not hold whole
    shown : where some are missing, the best passages that the context holds instead
    evidence : where evidence stands in `context`, as ranges of characters, end exclusive; empty without a context
    """

    set_name: str
    question_id: str
    way: Way
    measures: Mapping[str, float]
    factors: Mapping[str, Factor] = field(default_factory=dict)
    question: str = ""
    context: str | None = None
    answer: str | None = None
    missing: tuple[Excerpt, ...] = ()
    shown: tuple[Excerpt, ...] = ()
    evidence: tuple[tuple[int, int], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the row as it is written, without what is not known."""
        found = asdict(self)
        way = found.pop("way")
        return {key: value for key, value in {**found, **way}.items() if value is not None and value != ()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Row:
        """Read a row back.

        Raises
        ------
        LoadError
            If a field is missing, or is not of its kind.
        """
        if not isinstance(data, Mapping):
            raise _make_error(f"it is {quoted(data)}, no object")
        way = Way(
            retriever=_name(data, "retriever"),
            hits=_whole(data, "hits"),
            composer=_name(data, "composer"),
            order=_name(data, "order"),
            budget=_whole(data, "budget"),
            seed=_whole(data, "seed"),
        )
        return cls(
            _name(data, "set_name"),
            _text(data, "question_id"),
            way,
            _figures(_read_key(data, "measures")),
            _factors(data.get("factors", {})),
            _text(data, "question", ""),
            _text(data, "context", None),
            _text(data, "answer", None),
            _excerpts(data, "missing"),
            _excerpts(data, "shown"),
            _ranges(data, "evidence"),
        )


_REQUIRED: Any = object()


def _make_error(reason: str) -> LoadError:
    return LoadError(f"a result cannot be used ({reason}): write it again with `retrivex evaluate`")


def _read_key(data: Mapping[str, Any], name: str, default: Any = _REQUIRED) -> Any:
    found = data.get(name, default)
    if found is _REQUIRED:
        raise _make_error(f"{name} is missing")
    return found


def _text(data: Mapping[str, Any], name: str, default: Any = _REQUIRED) -> Any:
    found = _read_key(data, name, default)
    if found is not default and not isinstance(found, str):
        raise _make_error(f"{name} is {quoted(found)}, no text")
    return found


def _listed(data: Mapping[str, Any], name: str) -> Sequence[Any]:
    found = data.get(name, ())
    if not isinstance(found, list | tuple):
        raise _make_error(f"{name} is {quoted(found)}, no list")
    return found


def _excerpts(data: Mapping[str, Any], name: str) -> tuple[Excerpt, ...]:
    found = _listed(data, name)
    if not all(isinstance(one, Mapping) for one in found):
        raise _make_error(f"{name} is {quoted(found)}, no list of objects")
    return tuple(Excerpt(_name(one, "doc_id"), _name(one, "text")) for one in found)


def _ranges(data: Mapping[str, Any], name: str) -> tuple[tuple[int, int], ...]:
    found = _listed(data, name)
    for one in found:
        if not isinstance(one, list | tuple) or [type(place) for place in one] != [int, int]:
            raise _make_error(f"{name} holds {quoted(one)}, no pair of whole numbers")
    return tuple((start, end) for start, end in found)


def _name(data: Mapping[str, Any], name: str) -> str:
    found: str = _text(data, name)
    _check_characters(name, found)
    return found


def _check_characters(name: str, text: str) -> None:
    """Refuse half a character (a lone surrogate), with which no page and no plot can be written."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _make_error(f"{name} is {quoted(text)}, which holds half a character") from None


def _whole(data: Mapping[str, Any], name: str) -> int:
    found = _read_key(data, name)
    if isinstance(found, bool) or not isinstance(found, int):
        raise _make_error(f"{name} is {quoted(found)}, no whole number")
    return found


def _figures(measures: Any) -> Mapping[str, float]:
    if not isinstance(measures, Mapping):
        raise _make_error(f"measures are {quoted(measures)}, no object")
    for name, value in measures.items():
        if not isinstance(value, int | float):
            raise _make_error(f"{name} is {quoted(value)}, no number")
        if _is_infinite(value):
            raise _make_error(f"{name} is {quoted(value)}, no finite number")
    return measures


def _is_infinite(value: float) -> bool:
    try:
        return math.isinf(value)
    except OverflowError:  # a whole number that no float can hold
        return True


def _factors(found: Any) -> Mapping[str, Factor]:
    if not isinstance(found, Mapping):
        raise _make_error(f"factors are {quoted(found)}, no object")
    for name, value in found.items():
        if not isinstance(value, str | int | float):
            raise _make_error(f"the factor {name} is {quoted(value)}, neither a text nor a number")
        if not isinstance(value, str) and (_is_infinite(value) or math.isnan(value)):
            raise _make_error(f"the factor {name} is {quoted(value)}, no finite number")
        if isinstance(value, str):
            _check_characters(f"the factor {name}", value)
    return found


def without_nan(rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """Leave out measures that are NaN: they were not measured, as those that are not there.

    Returns
    -------
    The rows, and how many figures of which measures were left out; empty where all are numbers

    Examples
    --------
    >>> way = Way("bm25", 20, "knn", "score_desc", 2000)
    >>> rows, warnings = without_nan([Row("own", "1", way, {"complete": math.nan, "tokens": 90.0})])
    >>> rows[0].measures, warnings
    ({'tokens': 90.0}, ['1 figure is NaN and counts as not measured: complete 1'])
    """
    lost: Counter[str] = Counter()
    kept = []
    for row in rows:
        nan = [name for name, value in row.measures.items() if math.isnan(value)]
        lost.update(nan)
        kept.append(replace(row, measures=_drop_measures(row.measures, nan)) if nan else row)
    if not lost:
        return kept, []
    number = "1 figure is NaN and counts" if lost.total() == 1 else f"{lost.total():,} figures are NaN and count"
    return kept, [f"{number} as not measured: {', '.join(f'{name} {count:,}' for name, count in lost.items())}"]


def _drop_measures(measures: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    return {name: value for name, value in measures.items() if name not in names}


def measures_of(rows: Iterable[Row]) -> list[str]:
    """Return the names of all measures, in order of first appearance."""
    # most rows have the same names, and there are many rows
    return list(dict.fromkeys(name for names in dict.fromkeys(tuple(row.measures) for row in rows) for name in names))


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write rows, a line each; the file is whole or not there. Compressed where its name ends in ".gz"."""
    text = "".join(json.dumps(row.to_dict(), ensure_ascii=False) + "\n" for row in rows)
    data = text.encode("utf-8")
    unfinished = path.with_name(f"{path.name}.part")
    # without a time, so that the same rows give the same file
    unfinished.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    unfinished.replace(path)


def read_rows(path: Path) -> list[Row]:
    """Read the rows of a file, compressed or not, or of a folder that `retrivex evaluate` wrote.

    Raises
    ------
    LoadError
        If it cannot be read, or a line is no row; the number of the line is said.
    """
    file = _file(path)
    try:
        data = file.read_bytes()
        lines = (gzip.decompress(data) if file.suffix == ".gz" else data).decode("utf-8").split("\n")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise LoadError(
            f"results {file} cannot be read ({error}): give what `retrivex evaluate --out` wrote"
        ) from error
    return [_row(file, number, line) for number, line in enumerate(lines, 1) if line.strip()]


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    return path / COMPRESSED if (path / COMPRESSED).exists() and not (path / RESULTS).exists() else path / RESULTS


def _row(file: Path, number: int, line: str) -> Row:
    try:
        return Row.from_dict(json.loads(line))
    except ValueError as error:  # LoadError is one, and so is JSONDecodeError
        raise LoadError(f"line {number} of {file}: {error}") from error


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read what was run on what; empty for a folder that holds nothing but rows.

    Raises
    ------
    LoadError
        If it is there and cannot be read.
    """
    path = folder / MANIFEST
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LoadError(f"manifest {path} cannot be read ({error}): write it again with `retrivex evaluate`") from error
    if not isinstance(found, dict):
        raise LoadError(f"manifest {path} holds a {type(found).__name__}: write it again with `retrivex evaluate`")
    return found
