"""Lines of a module that work runs through: a measure of its steps that no other load of the machine changes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any


def count_lines(work: Callable[[], object], module: ModuleType) -> int:
    """Return how many lines of a module are run, each as often as it is."""
    lines, file = 0, module.__file__

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if frame.f_code.co_filename != file:
            return None
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines
