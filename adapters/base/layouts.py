"""Storage layouts: how a collection keeps documents and chunk numbers, and which layout it uses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from .collection import Records
from .fields import FieldMap


@dataclass(frozen=True, slots=True)
class StorageLayout:
    """One layout of documents and chunk numbers.

    Parameters
    ----------
    as_text : whether chunk numbers are kept as text
    whole : whether a name with a dot is one key, `{"file.name": ...}`, and no path
    """

    as_text: bool = False
    whole: bool = False


DEFAULT_LAYOUT = StorageLayout()
"""Numbers as numbers, dots as steps."""


class LayoutFinder:
    """Tries one layout after the other until records are found, and tries that layout first from then on.

    So what a collection holds costs one request. What it does not hold costs one for each way, at most four: of two
    tenants, or of an old and a new import, one may be kept in another way.
    """

    def __init__(self) -> None:
        self._found: StorageLayout | None = None

    def ask(self, layouts: Sequence[StorageLayout], ask: Callable[[StorageLayout], Records]) -> Records:
        """Return the first answer with records in it, else an empty one."""
        answer = Records()
        for layout in self._sort_layouts(layouts):
            answer = ask(layout)
            if self._remember_if_found(layout, answer):
                break
        return answer

    async def aask(
        self, layouts: Sequence[StorageLayout], ask: Callable[[StorageLayout], Awaitable[Records]]
    ) -> Records:
        """Do the same through an async client."""
        answer = Records()
        for layout in self._sort_layouts(layouts):
            answer = await ask(layout)
            if self._remember_if_found(layout, answer):
                break
        return answer

    def _sort_layouts(self, layouts: Sequence[StorageLayout]) -> Sequence[StorageLayout]:
        found = self._found  # another thread may write meanwhile
        return sorted(layouts, key=lambda layout: layout != found)

    def _remember_if_found(self, layout: StorageLayout, answer: Records) -> bool:
        if answer.records:
            self._found = layout
        return bool(answer.records)


def candidate_layouts(fields: FieldMap, as_text: Sequence[bool] = (False, True)) -> list[StorageLayout]:
    """Return the layouts that the field names allow, the most likely first.

    Examples
    --------
    >>> candidate_layouts(FieldMap(doc_id="file.name"), as_text=[False])
    [StorageLayout(as_text=False, whole=False), StorageLayout(as_text=False, whole=True)]
    """
    is_dotted = any("." in name for name in (*fields.doc_id[:1], *fields.chunk_id[:1]))
    return [StorageLayout(text, whole) for whole in ([False, True] if is_dotted else [False]) for text in as_text]


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
