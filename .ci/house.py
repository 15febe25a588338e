"""Print the size and the shape of the package with their limits; exit code 1 where one that must hold is broken.

Beside limits that must hold stand aims, which are printed and fail nothing. Then follow the lines of code of each
package: docstrings, comments and blank lines teach and do not count. The standard library is enough; `import retrivex`
and `import numpy` are timed with the Python that runs this script.
"""

from __future__ import annotations

import ast
import io
import resource
import statistics
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGE, ADAPTERS = ROOT / "retrivex", ROOT / "adapters"
LATER = {"service", "batch"}  # folders that come later, each with an entry of its own
EARLIER = {"core", "eval"}  # names of 0.1.0, which lead to those of today
RUNS = 5  # of each import; the median counts

LONG = 400  # lines of a module
MOST_CODE = 38_000  # lines of code in retrivex/ and adapters/, for what stood in 0.3.0
ASKED_FOR = 3_477  # used since by what users of other tools asked for, of at most 3,500
NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
BEFORE = {
    "adapters": 7377,
    "batch": 1925,
    "chunking": 962,
    "cli": 3244,
    "composer": 2328,
    "composition": 474,
    "encoders": 110,
    "evaluation": 6102,
    "expansion": 543,
    "loading": 2923,
    "merging": 1177,
    "model": 1177,
    "ordering": 1448,
    "prompts": 1364,
    "rendering": 144,
    "reorder": 1499,
    "rerank": 870,
    "retrieval": 430,
    "scoring": 1563,
    "selection": 596,
    "service": 5191,
    "similarity": 586,
    "stores": 3675,
    "testing": 265,
    "text": 1296,
    "tokens": 524,
    "modules": 828,
}
"""Lines of code of each package at 0.3.0, where the packages around the core were at their largest."""


class Count(NamedTuple):
    """What was counted, and its limit."""

    name: str
    found: float
    limit: float
    must: bool = True


def list_entries(folder: Path) -> set[str]:
    """Return what a listing of a folder shows, caches of Python aside."""
    return {path.name for path in folder.iterdir() if path.name != "__pycache__"}


def read_modules() -> dict[str, ast.Module]:
    """Return the modules of the package by name, those of adapters as retrivex.adapters."""
    files = [(path, path.relative_to(ROOT)) for path in PACKAGE.rglob("*.py")]
    files += [(path, Path("retrivex") / path.relative_to(ROOT)) for path in ADAPTERS.rglob("*.py")]
    found = {".".join(name.with_suffix("").parts): path for path, name in files}
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in found.items()}


def find_imports(name: str, tree: ast.Module) -> Iterator[str]:
    """Yield the names that a module imports, as absolute dotted paths."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # the name of an `__init__` ends in .__init__ here, so that one level is its own folder for it, too
            base = name.split(".")[: -node.level] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def count_circles(modules: Mapping[str, ast.Module]) -> int:
    """Return how many groups of siblings, folders or modules of one folder, import one another in a circle."""
    arrows: dict[str, set[str]] = {}
    for name, tree in modules.items():
        importer = name.removesuffix(".__init__").split(".")
        for imported in find_imports(name, tree):
            parts = imported.split(".")
            # both below the same folder: the arrow goes between the two children of it
            shared = next((n for n, pair in enumerate(zip(importer, parts, strict=False)) if pair[0] != pair[1]), 0)
            if shared:
                target = ".".join(parts[: shared + 1])
                if any(other == target or other.startswith(f"{target}.") for other in modules):
                    arrows.setdefault(".".join(importer[: shared + 1]), set()).add(target)
    reached = {name: _reach(name, arrows) for name in arrows}
    circles = {frozenset(other for other in reached[name] if name in reached.get(other, ())) for name in arrows}
    return len(circles - {frozenset()})


def _reach(start: str, arrows: Mapping[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = [*arrows[start]]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += arrows.get(name, ())
    return reached


def measure_functions(modules: Mapping[str, ast.Module]) -> float:
    """Return the median length of a function: lines from `def` to its end, docstring aside."""
    nodes = [node for tree in modules.values() for node in ast.walk(tree)]
    functions = [node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return statistics.median(_measure_lines(node) - _measure_docstring(node) for node in functions)


def _measure_lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _measure_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return _measure_lines(node.body[0]) if ast.get_docstring(node, clean=False) is not None else 0


def measure_import(name: str) -> float:
    """Return the processor time of a Python that imports a module and ends, in seconds: the median of several."""
    times = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", f"import {name}"], cwd=ROOT, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(times)


def count_loaded() -> int:
    """Return how many modules of the package `import retrivex` loads."""
    program = "import retrivex, sys; print(sum(name.split('.')[0] == 'retrivex' for name in sys.modules))"
    printed = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    return int(printed.stdout)


def count_lines(path: Path) -> int:
    """Return the lines of a file."""
    return len(path.read_text(encoding="utf-8").splitlines())


def count_code(path: Path) -> int:
    """Return the lines of a module that hold code."""
    text = path.read_text(encoding="utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    found = {line for token in tokens if token.type not in NO_CODE for line in range(token.start[0], token.end[0] + 1)}
    strings = (
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    )
    return len(found.difference(*(range(node.lineno, (node.end_lineno or node.lineno) + 1) for node in strings)))


def count_packages() -> Counter[str]:
    """Return the lines of code of each folder of the package, of its flat modules together, and of the adapters."""
    found: Counter[str] = Counter()
    for path in PACKAGE.rglob("*.py"):
        folder, *below = path.relative_to(PACKAGE).parts
        found[folder if below else "modules"] += count_code(path)
    found["adapters"] = sum(map(count_code, ADAPTERS.rglob("*.py")))
    return found


def count_all() -> list[Count]:
    """Return every count with its limit."""
    entries, modules = list_entries(PACKAGE), read_modules()
    paths = [*PACKAGE.rglob("*.py"), *ADAPTERS.rglob("*.py")]
    core = {name: tree for name, tree in modules.items() if not name.startswith("retrivex.adapters")}
    return [
        Count("entries in retrivex/", len(entries), 32 + len((LATER | EARLIER) & entries)),
        Count("modules flat in retrivex/", sum(name.endswith(".py") for name in entries), 9),
        Count("entries in adapters/", len(list_entries(ADAPTERS)), 14),
        Count("circles of imports", count_circles(modules), 0),
        Count("lines of README.md", count_lines(ROOT / "README.md"), 130),
        Count("lines of EVALUATION_REPORT.md", count_lines(ROOT / "EVALUATION_REPORT.md"), 300),
        Count("lines of code of 0.3.0, with adapters", sum(count_packages().values()) - ASKED_FOR, MOST_CODE),
        Count("what was asked for since", ASKED_FOR, 3_500),
        Count(f"modules over {LONG} lines", sum(count_lines(path) > LONG for path in paths), 0, must=False),
        Count("median lines of a function", measure_functions(core), 7, must=False),
        Count("modules that import retrivex loads", count_loaded(), 75, must=False),
        Count("import retrivex / import numpy", measure_import("retrivex") / measure_import("numpy"), 3, must=False),
    ]


def main() -> int:
    """Print the counts; return 1 where one is above a limit that must hold."""
    counts = count_all()
    for count in counts:
        verdict = "" if count.found <= count.limit else "  BROKEN" if count.must else "  above"
        kind = "must" if count.must else "aim"
        shown = f"{count.found:,.1f}" if isinstance(count.found, float) else f"{count.found:,}"
        print(f"{count.name:38}{shown:>9} {kind:>5} <= {count.limit:,}{verdict}")  # noqa: T201
    print(f"\n{'lines of code':38}{'now':>9}{'0.3.0':>9}")  # noqa: T201
    for name, lines in count_packages().most_common():
        print(f"{name:38}{lines:>9,}{BEFORE.get(name, 0):>9,}")  # noqa: T201
    return any(count.must and count.found > count.limit for count in counts)


if __name__ == "__main__":
    sys.exit(main())
