"""Reads and validates passages given as dictionaries or objects, without changing them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from numbers import Integral
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_args
from uuid import UUID

from retrivex.errors import PassageError, quoted
from retrivex.model.fields import MISSING, FieldNames, as_list, read_field
from retrivex.model.numbers import finite
from retrivex.reorder.diagnostics import DroppedPassage
from retrivex.reorder.passage import GROUPABLE, Candidate, name_group, split_pair

T = TypeVar("T")

Validation: TypeAlias = Literal["strict", "coerce"]

_VALIDATIONS = get_args(Validation)
_MAX_NAMED = 5  # passages that a warning names


@dataclass(slots=True)
class InputReport:
    """The number of passages given, and the faults that `coerce` repaired, by kind."""

    input_count: int = 0
    coerced_scores: int = 0
    dropped_fields: Counter[str] = field(default_factory=Counter)
    dropped: list[DroppedPassage] = field(default_factory=list)
    faults: dict[str, list[str]] = field(default_factory=dict)

    def warnings(self) -> list[str]:
        """Return one sentence for each kind of fault, naming the first few passages."""
        return [f"{fault}: {_name_first(places)}" for fault, places in self.faults.items()]


class PassageReader(Generic[T]):
    """Reads passages, and keeps a report of their faults.

    Parameters
    ----------
    names : of the fields
    validation : `strict` raises at the first fault. `coerce` counts a bad score as 0, leaves bad metadata out, names
        a passage without an id by its place, drops what has no text, and reports all of it
    """

    def __init__(self, names: FieldNames, validation: Validation) -> None:
        if not isinstance(validation, str) or validation not in _VALIDATIONS:
            raise PassageError(f"validation is {quoted(validation)}: choose one of {', '.join(_VALIDATIONS)}")
        self.report = InputReport()
        self._fields = names
        self._strict = validation == "strict"
        self._bad: set[str] = set()

    def read(self, passages: Iterable[T]) -> list[Candidate[T]]:
        """Return a candidate for each passage that has a text.

        Raises
        ------
        PassageError
            If `passages` is no collection of passages, or, under `strict`, at the first fault.
        """
        items = as_list(passages, "dictionaries or objects with an id, a text and a score")
        self.report.input_count = len(items)
        candidates = [self._read(item, place, len(items)) for place, item in enumerate(items)]
        found = [candidate for candidate in candidates if candidate is not None]
        self._report_shared_ids(found)
        return found

    def _read(self, item: T, place: int, total: int) -> Candidate[T] | None:
        try:
            return self._candidate(item, place, total)
        except PassageError:
            raise
        except Exception as error:  # a class of the caller's may raise anything
            raise PassageError(f"passage {place} cannot be read: {quoted(error, 200)}; leave it out") from error

    def _candidate(self, item: T, place: int, total: int) -> Candidate[T] | None:
        names = self._fields
        self._bad = set()
        inner, paired = split_pair(item)
        text = read_field(inner, names.text)
        passage_id = self._id(inner, place)
        if not isinstance(text, str):
            self._fault(f"passage without a text under {names.text!r}", place, text, "a string")
            self.report.dropped.append(DroppedPassage(place, passage_id, "unusable"))
            return None
        metadata = self._metadata(read_field(inner, names.metadata), place)
        candidate = Candidate(
            item=item,
            place=place,
            id=passage_id,
            text=text,
            score=self._score(inner, place, total) if paired is None else paired,
            metadata=metadata,
            token_count=self._token_count(inner, metadata, place),
            source_id=self._source(metadata, place),
            section_index=self._number(metadata, names.section_index, place),
            timestamp=self._number(metadata, names.timestamp, place),
            page=self._number(metadata, names.page, place),
            source_reliability=self._number(metadata, names.source_reliability, place),
        )
        if not self._bad:
            return candidate
        return candidate._replace(metadata={name: known for name, known in metadata.items() if name not in self._bad})

    def _id(self, item: Any, place: int) -> str | int:
        name = self._fields.id
        if name is None:
            return f"passage-{place}"
        value = read_field(item, name)
        if (isinstance(value, str) and value) or type(value) is int:
            return value
        if isinstance(value, Integral) and not isinstance(value, bool):
            return int(value)
        if isinstance(value, UUID):
            return str(value)
        self._fault(f"passage without an id under {name!r}", place, value, "a non-empty string or an integer")
        return f"passage-{place}"

    def _score(self, item: Any, place: int, total: int) -> float:
        if self._fields.score is None:
            return (total - place) / total
        value = read_field(item, self._fields.score)
        number = finite(value)
        if number is None:
            self._fault(f"score under {self._fields.score!r} counts 0", place, value, "a finite number")
            self.report.coerced_scores += 1
        return number or 0.0

    def _metadata(self, value: Any, place: int) -> Mapping[str, Any]:
        if type(value) is dict or isinstance(value, Mapping):
            return value
        if is_dataclass(value) and not isinstance(value, type):
            return {one.name: getattr(value, one.name) for one in fields(value)}
        if value is not MISSING and value is not None:
            self._leave_out(self._fields.metadata, place, value, "a mapping or a dataclass")
        return {}

    def _token_count(self, item: Any, metadata: Mapping[str, Any], place: int) -> float | None:
        name = self._fields.token_count
        own = self._check(read_field(item, name), name, place, lowest=0)
        return self._number(metadata, name, place, lowest=0) if own is None else own

    def _number(self, metadata: Mapping[str, Any], name: str, place: int, lowest: float = -math.inf) -> float | None:
        if not metadata:
            return None
        # most passages lack most fields, and most fields are plain keys
        value = metadata.get(name) if type(metadata) is dict and "." not in name else read_field(metadata, name)
        return None if value is None else self._check(value, name, place, lowest)

    def _check(self, value: Any, name: str, place: int, lowest: float) -> float | None:
        if value is MISSING or value is None:
            return None
        number = finite(value)
        if number is not None and number >= lowest:
            return number
        rule = "a finite number" if lowest == -math.inf else f"a finite number of at least {lowest:g}"
        self._leave_out(name, place, value, rule)
        return None

    def _source(self, metadata: Mapping[str, Any], place: int) -> str | None:
        name = self._fields.source_id
        value = read_field(metadata, name)
        if value is MISSING or value is None:
            return None
        if not isinstance(value, GROUPABLE):
            self._leave_out(name, place, value, "a string or a number")
        return name_group(value)

    def _leave_out(self, name: str, place: int, value: Any, rule: str) -> None:
        self._fault(f"field {name!r} left out", place, value, rule)
        self.report.dropped_fields[name] += 1
        self._bad.add(name)

    def _fault(self, fault: str, place: int, value: Any, rule: str) -> None:
        given = "missing" if value is MISSING else quoted(value)
        if self._strict:
            what = fault.removesuffix(" left out").removesuffix(" counts 0")
            raise PassageError(
                f"passage {place}: {what} is {given}: it must be {rule}; correct it, name other fields as in "
                "fields={'text': 'body', 'score': None}, where None is for what passages do not have, or pass "
                "validation='coerce'"
            )
        self.report.faults.setdefault(fault, []).append(f"{given[:40]} in passage {place}")

    def _report_shared_ids(self, candidates: Sequence[Candidate[T]]) -> None:
        ids = [candidate.id for candidate in candidates]
        if len(set(ids)) == len(ids):
            return
        counts = Counter(ids)
        shared = [f"{quoted(passage_id)} ({count} times)" for passage_id, count in counts.items() if count > 1]
        self.report.faults["passages that share an id"] = shared


def _name_first(places: Sequence[str]) -> str:
    more = f" and {len(places) - _MAX_NAMED} more" if len(places) > _MAX_NAMED else ""
    return ", ".join(places[:_MAX_NAMED]) + more
