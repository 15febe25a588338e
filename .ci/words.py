"""Find words that no reader of the field knows, in names and in texts; exit code 1 where one is left.

A word of `NAMES` may be no part of a name in the code. A word of `TEXTS` may stand nowhere: neither in names, nor in
comments, docstrings, messages and pages. To widen the lint, add a word or a path.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
CODE = ("retrivex", "adapters")
PAGES = ("README.md", "EVALUATION_REPORT.md", "CONTRIBUTING.md", "Makefile", "docs")
TEXTS = {
    "doubt": "uncertainty",
    "faded": "decayed",
    "fades": "decays",
    "knob": "option",
    "knobs": "options",
    "lent": "dependency",
    "lends": "gives",
    "liar": "inconsistent offsets",
    "liars": "inconsistent offsets",
    "likeness": "similarity",
    "melt": "merge",
    "melts": "merges",
    "mirrors": "near-duplicates",
    "nearness": "similarity, distance",
    "patience": "time-out, delay",
    "seam": "boundary",
    "seams": "boundaries",
    "told": "reported, given",
    "toll": "cost",
    "tolls": "costs",
}
NAMES = TEXTS | {
    "bearings": "vocabulary mismatch",
    "dear": "high-cost",
    "dearest": "most expensive",
    "hedge": "kNN fallback",
    "mirror": "near-duplicate",
    "patient": "retry policy",
    "prints": "fingerprints",
    "programme": "dynamic_program",
    "scraps": "fragments",
    "tells": "distinguishes, reports",
    "unplaced": "without position",
    "worth": "value, gain",
}
ALLOWED_NAMES = {"hedge", "unplaced"}  # options, known by these names


def list_files(places: tuple[str, ...], pattern: str) -> list[Path]:
    """Return the files of folders, and what is a file itself."""
    paths = [ROOT / place for place in places]
    return sorted(file for path in paths for file in (path.rglob(pattern) if path.is_dir() else [path]))


def find_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield what a module names, with its line: functions, classes, arguments, variables and attributes it sets."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr


def find_words() -> Iterator[str]:
    """Yield a line for every forbidden word: where it is, and what the field says."""
    for path in list_files(CODE, "*.py"):
        for line, name in find_names(ast.parse(path.read_text(encoding="utf-8"))):
            parts = {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}
            for word in sorted(parts & set(NAMES)) if name not in ALLOWED_NAMES else ():
                yield f"{path.relative_to(ROOT)}:{line}: the name {name}: for {word} say {NAMES[word]}"
    pattern = re.compile(rf"\b({'|'.join(TEXTS)})\b", re.IGNORECASE)
    for path in [*list_files(CODE, "*.py"), *list_files(PAGES, "*.md")]:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for word in pattern.findall(line):
                yield f"{path.relative_to(ROOT)}:{number}: for {word} say {TEXTS[word.lower()]}"


if __name__ == "__main__":
    found = list(find_words())
    print("\n".join(found) or "no forbidden word is left")  # noqa: T201
    sys.exit(bool(found))
