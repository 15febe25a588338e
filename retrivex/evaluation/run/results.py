"""The results of a run: one line of JSON per question and setup, and a manifest.

The runner writes them; comparisons, reports and plots read nothing else.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import FiniteFloat, TypeAdapter, ValidationError

from retrivex.errors import LoadError, quoted

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
    measures: Mapping[str, FiniteFloat]
    factors: Mapping[str, str | int | FiniteFloat | bool] = field(default_factory=dict)
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
            raise LoadError(f"a result is {quoted(data)}, no object: write it again with `retrivex evaluate`")
        way = {name: data[name] for name in Way.__dataclass_fields__ if name in data}
        try:
            return _ROW.validate_python({**data, "way": way})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"] if part != "way")
            raise LoadError(
                f"a result cannot be used ({where} is {quoted(first['input'])}: {first['msg']}): write it again with "
                "`retrivex evaluate`"
            ) from error


_ROW = TypeAdapter(Row)


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
