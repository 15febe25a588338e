"""A bar in a notebook that shows how far an evaluation or a probe is."""

from __future__ import annotations

from html import escape
from importlib import import_module
from typing import Any


class ProgressBar:
    """Give it as `report` to `evaluate`, `answer_sets` or `probe`, inside a notebook.

    It needs IPython, which every notebook has, and no widgets. Anywhere else `display` is called in its place.

    Parameters
    ----------
    what : is being done, until the report says it
    display : shows the bar for the first time, and returns a handle with `update`; None takes that of IPython

    Raises
    ------
    ImportError
        Without IPython, if `display` is None.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> show = lambda bar, display_id: print(bar) or SimpleNamespace(update=print)
    >>> bar = ProgressBar("reading", display=show)
    reading 0/1
    >>> bar(3, 8)
    reading 3/8
    >>> bar("composing", 1, 2)
    composing 1/2
    """

    def __init__(self, what: str = "", *, display: Any = None) -> None:
        show = display or import_module("IPython.display").display
        self._what, self._done, self._total = what, 0, 1
        self._handle = show(self, display_id=True)

    def __call__(self, *progress: Any) -> None:
        """Show progress: what is being done, where it changes; how much is done; of how much."""
        *what, self._done, self._total = progress
        self._what = what[0] if what else self._what
        self._handle.update(self)

    def __str__(self) -> str:
        return f"{self._what} {self._done:,}/{self._total:,}"

    def __repr__(self) -> str:
        return f"<{self}>"

    def _repr_html_(self) -> str:
        return f'<progress value="{self._done}" max="{max(self._total, 1)}"></progress> {escape(str(self))}'
