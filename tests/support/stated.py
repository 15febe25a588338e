"""What a page of the documentation names: tests, and headings of pages."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def functions_of(path: str) -> set[str]:
    """Return the functions that a file of tests defines."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@cache
def anchors_of(path: Path) -> dict[str, str]:
    """Return the sections of a page by their anchors, each up to the next heading."""
    parts = re.split(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-"): text
        for heading, text in zip(parts[1::2], parts[2::2], strict=True)
    }
