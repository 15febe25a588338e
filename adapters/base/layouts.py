"""Ways in which a collection may keep documents and chunk numbers, and which of them one does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from .collection import Records
from .fields import FieldMap


@dataclass(frozen=True, slots=True)
class Reading:
    """One way.

    Parameters
    ----------
    as_text : whether chunk numbers are kept as text
    whole : whether a name with a dot is one key, `{"file.name": ...}`, and no path
    """

    as_text: bool = False
    whole: bool = False


AS_EXPECTED = Reading()
"""Numbers as numbers, dots as steps."""


class Readings:
    """Asks in one way after the other until something is found; that way is the first one from then on.

    So what a collection holds costs one request. What it does not hold costs one for each way, at most four: of two
    tenants, or of an old and a new import, one may be kept in another way.
    """

    def __init__(self) -> None:
        self._found: Reading | None = None

    def ask(self, ways: Sequence[Reading], ask: Callable[[Reading], Records]) -> Records:
        """Return the first answer with records in it, else an empty one."""
        answer = Records()
        for reading in self._in_order(ways):
            answer = ask(reading)
            if self._is_it(reading, answer):
                break
        return answer

    async def aask(self, ways: Sequence[Reading], ask: Callable[[Reading], Awaitable[Records]]) -> Records:
        """Do the same through an async client."""
        answer = Records()
        for reading in self._in_order(ways):
            answer = await ask(reading)
            if self._is_it(reading, answer):
                break
        return answer

    def _in_order(self, ways: Sequence[Reading]) -> Sequence[Reading]:
        found = self._found  # another thread may write meanwhile
        return sorted(ways, key=lambda way: way != found)

    def _is_it(self, reading: Reading, answer: Records) -> bool:
        if answer.records:
            self._found = reading
        return bool(answer.records)


def ways_to_read(fields: FieldMap, as_text: Sequence[bool] = (False, True)) -> list[Reading]:
    """Return the ways that the names leave open, the likeliest first.

    Examples
    --------
    >>> ways_to_read(FieldMap(doc_id="file.name"), as_text=[False])
    [Reading(as_text=False, whole=False), Reading(as_text=False, whole=True)]
    """
    is_dotted = any("." in name for name in (*fields.doc_id[:1], *fields.chunk_id[:1]))
    return [Reading(text, whole) for whole in ([False, True] if is_dotted else [False]) for text in as_text]


def split_name(fields: FieldMap, name: str, *, whole: bool) -> tuple[str, ...]:
    """Return the keys that lead to the first name of a field, its root first; it must have a name.

    Examples
    --------
    >>> split_name(FieldMap(doc_id="file.name", root="meta"), "doc_id", whole=True)
    ('meta', 'file.name')
    """
    (first, *_) = getattr(fields, name)
    root = () if fields.root is None else tuple(fields.root.split("."))
    return (*root, *((first,) if whole else first.split(".")))


def whole_digits(text: str) -> bool:
    """Say whether a text is exactly a whole number of at most 19 digits: 007 is a text.

    Examples
    --------
    >>> whole_digits("7"), whole_digits("007"), whole_digits("-7")
    (True, False, False)
    """
    return text.isascii() and text.isdigit() and len(text) <= 19 and str(int(text)) == text
