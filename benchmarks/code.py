"""A short name for the code that a result was made with."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from retrivex import __version__

ROOT = Path(__file__).parents[1]


def digest(paths: Iterable[Path]) -> str:
    """Return a short name for the contents of files."""
    made = hashlib.sha256()
    for path in sorted(paths):
        made.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return made.hexdigest()[:12]


@cache
def code_digest() -> str:
    """Return a short name for the package and its adapters, as they were when this was first asked."""
    return digest([*(ROOT / "retrivex").rglob("*.py"), *(ROOT / "adapters").rglob("*.py")])


def made_by() -> dict[str, str]:
    """Return what a result of time names: version, code and machine."""
    where = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return {"version": __version__, "code": code_digest(), "machine": where}
