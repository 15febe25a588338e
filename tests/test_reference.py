"""The reference has every public name, with an example."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest
from support.examples import PAGES, ROOT

API = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs" / "reference" / "api").glob("*.md"))}
BLOCK = re.compile(r"^```(?:python|diff)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_PUBLIC = {"retrivex.core", "retrivex.cli"}  # names of 0.1.0 for `retrivex`; the command line has a page of its own
SAME_EVERYWHERE = {"FieldMap", "colon_id", "uuid5_id"}  # of every adapter, on one page


def _exports() -> dict[str, list[str]]:
    """Return the names in `__all__` of each module, read from its file: an adapter's client may be missing."""
    found = {}
    for folder, package in ((ROOT / "retrivex", "retrivex"), (ROOT / "adapters", "retrivex.adapters")):
        for path in sorted(folder.rglob("*.py")):
            relative = path.relative_to(folder).with_suffix("")
            parts = [part for part in relative.parts if part != "__init__"]
            module = ".".join([package, *parts])
            if (folder.name == "retrivex" and parts[:1] == ["adapters"]) or module in NOT_PUBLIC:
                continue
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                    found[module] = ast.literal_eval(node.value)
    return found


def _imports() -> set[tuple[str, str]]:
    """Return what the programs of pages and examples import from the package."""
    pages = [*PAGES, ROOT / "README.md"]
    programs = [block for page in pages for block in BLOCK.findall(page.read_text(encoding="utf-8"))]
    programs += [path.read_text(encoding="utf-8") for path in (ROOT / "examples").rglob("*.py")]
    found = set()
    for program in programs:
        try:
            nodes = list(ast.walk(ast.parse(re.sub(r"^[+ ](?=\S)", "", program, flags=re.MULTILINE))))
        except SyntaxError:  # a diff, or a part of a program
            continue
        imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("retrivex")]
        found |= {(str(node.module), alias.name) for node in imports for alias in node.names}
    return {(module, name) for module, name in found if f"{module}.{name}" not in MODULES_ALONE}


MODULES_ALONE = {"retrivex.evaluation.metrics", "retrivex.batch.local"}  # imported as modules
EXPORTS = _exports()
MODULES = set(EXPORTS) | {"retrivex.errors"}
DIRECTIVES = {path: re.findall(r"^::: (\S+)$", text, re.MULTILINE) for path, text in API.items()}
ON_PAGE = {directive: path for path, directives in DIRECTIVES.items() for directive in directives}
DOCUMENTED = {directive.rpartition(".")[2] for directive in ON_PAGE} | {
    name for directive in ON_PAGE for name in EXPORTS.get(directive, [])
}
PUBLIC = {(module, name) for module, names in EXPORTS.items() for name in names} | _imports()
SHOWN = sorted({(module, name) for module in ON_PAGE for name in EXPORTS.get(module, [])} | {
    tuple(directive.rsplit(".", 1)) for directive in ON_PAGE if directive not in MODULES
})


def _without_example(module: str, name: str) -> bool:
    page = API[ON_PAGE.get(module) or ON_PAGE[f"{module}.{name}"]]
    if re.search(rf"\b{name}\b", "\n".join(BLOCK.findall(page))):
        return False
    if module.startswith("retrivex.adapters"):
        example = next(iter(re.findall(r"\(\.\./\.\./\.\./(examples/\w+\.py)\)", page)), None)
        return not name.isupper() and example is None
    try:
        found = getattr(importlib.import_module(module), name)
    except ImportError:  # of an extra: its example is on the page
        return True
    if not inspect.isclass(found) and not inspect.isroutine(found):
        return False  # a constant or a type is shown as it is
    docs = [inspect.getdoc(found), *(inspect.getdoc(each) for each in vars(found).values())] if inspect.isclass(found) else [inspect.getdoc(found)]
    return not any(">>>" in (text or "") for text in docs)


def test_every_public_name_is_in_the_reference() -> None:
    assert sorted(f"{module}.{name}" for module, name in PUBLIC if module not in ON_PAGE and name not in DOCUMENTED) == []


def test_no_name_is_there_twice() -> None:
    assert len(ON_PAGE) == sum(map(len, DIRECTIVES.values()))


if __name__ == "__main__":
    print(*[f"{m}.{n}" for m, n in SHOWN if _without_example(m, n)], sep="\n")
