"""The reference has every public name, with an example."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest
from support.examples import PAGES, ROOT

from retrivex.service.errors import RefusedError

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
    pages = [page for page in (*PAGES, ROOT / "README.md") if page.stem != "recipes"]  # for those who change the code
    programs = [block for page in pages for block in BLOCK.findall(page.read_text(encoding="utf-8"))]
    programs += [path.read_text(encoding="utf-8") for path in (ROOT / "examples").rglob("*.py")]
    found = set()
    for program in programs:
        try:
            nodes = list(ast.walk(ast.parse(re.sub(r"^[+ ](?=\S)", "", program, flags=re.MULTILINE))))
        except SyntaxError:  # a diff, or a part of a program
            continue
        imports = [
            node for node in nodes if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("retrivex")
        ]
        found |= {(str(node.module), alias.name) for node in imports for alias in node.names}
    return {(module, name) for module, name in found if f"{module}.{name}" not in MODULES_ALONE}


MODULES_ALONE = {"retrivex.evaluation.metrics", "retrivex.batch.local"}  # imported as modules
EXPORTS = _exports()
MODULES = set(EXPORTS) | {"retrivex.errors"}
DIRECTIVES = {path: re.findall(r"^::: (\S+)$", text, re.MULTILINE) for path, text in API.items()}
ON_PAGE = {directive: path for path, directives in DIRECTIVES.items() for directive in directives}
ERRORS = re.findall(r"^class (\w+)", (ROOT / "retrivex" / "errors.py").read_text(encoding="utf-8"), re.MULTILINE)
DOCUMENTED = (
    {*ERRORS}
    | {directive.rpartition(".")[2] for directive in ON_PAGE}
    | {name for directive in ON_PAGE for name in EXPORTS.get(directive, [])}
)
PUBLIC = {(module, name) for module, names in EXPORTS.items() for name in names} | _imports()
SHOWN = sorted(
    {(module, name) for module in ON_PAGE for name in EXPORTS.get(module, []) if name not in SAME_EVERYWHERE}
    | {tuple(directive.rsplit(".", 1)) for directive in ON_PAGE if directive not in MODULES}
)


def _programs(page: Path) -> str:
    """Return the programs of a page of the reference, and of the pages and examples that it leads to."""
    text = API[page]
    linked = [(page.parent / link).resolve() for link in re.findall(r"\]\(([^)#\s]+)", text)]
    programs = [path.read_text(encoding="utf-8") for path in linked if path.suffix == ".py"]
    pages = [text, *(path.read_text(encoding="utf-8") for path in linked if path.suffix == ".md")]
    return "\n".join([*programs, *(block for each in pages for block in BLOCK.findall(each))])


def _without_example(module: str, name: str) -> bool:
    if re.search(rf"\b{name}\b", _programs(ON_PAGE.get(module) or ON_PAGE[f"{module}.{name}"])):
        return False
    if name.isupper():
        return False  # a constant is shown as it is
    try:
        found = getattr(importlib.import_module(module), name)
    except ImportError:  # of an extra: its example is on the page
        return True
    if not inspect.isclass(found) and not inspect.isroutine(found):
        return False  # a constant or a type is shown as it is
    docs = (
        [inspect.getdoc(found), *(inspect.getdoc(each) for each in vars(found).values())]
        if inspect.isclass(found)
        else [inspect.getdoc(found)]
    )
    return not any(">>>" in (text or "") for text in docs)


def test_every_public_name_is_in_the_reference() -> None:
    assert (
        sorted(f"{module}.{name}" for module, name in PUBLIC if module not in ON_PAGE and name not in DOCUMENTED) == []
    )


def test_no_name_is_there_twice() -> None:
    assert len(ON_PAGE) == sum(map(len, DIRECTIVES.values()))


def test_every_public_name_has_an_example() -> None:
    assert {f"{module}.{name}" for module, name in SHOWN if _without_example(module, name)} == set()


# ---- errors

_PAGE_OF_ERRORS = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
SECTIONS = {
    title: text
    for title, _, text in (part.partition("\n") for part in re.split(r"^##+ ", _PAGE_OF_ERRORS, flags=re.MULTILINE)[1:])
}
ROWS = {
    title: re.findall(r"^\| (`.+`) \| (.+) \|$", text, re.MULTILINE)
    for title, text in SECTIONS.items()
    if title.endswith("Error")
}
SOURCES = [*(ROOT / "retrivex").rglob("*.py"), *(ROOT / "adapters").rglob("*.py")]
TREES = [ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES if "retrivex/adapters" not in path.as_posix()]
WORDS = "\n".join(
    node.value
    for tree in TREES
    for node in ast.walk(tree)
    if isinstance(node, ast.Constant) and isinstance(node.value, str)
)


def test_every_error_has_a_section_that_says_what_to_do() -> None:
    assert set(ROWS) == {*ERRORS, "RequestError", "ServiceError"}
    assert [title for title, rows in ROWS.items() if not rows] == ["ServiceError"]


@pytest.mark.parametrize("title", ROWS)
def test_a_message_on_the_page_of_errors_is_one_of_the_program(title: str) -> None:
    quoted = [text for messages, _ in ROWS[title] for text in re.findall(r"`([^`]+)`", messages)]
    parts = [part.strip() for text in quoted for part in text.split("...")]
    assert [part for part in parts if part not in WORDS] == []


def _messages() -> set[tuple[str, str]]:
    """Return the errors that are raised with a text of their own, what differs left out, and their messages."""
    found = set()
    for node in (node for tree in TREES for node in ast.walk(tree)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            first = node.exc.args[0]
            parts = first.values if isinstance(first, ast.JoinedStr) else [first]
            text = "".join(str(part.value) for part in parts if isinstance(part, ast.Constant))
            found.add((getattr(node.exc.func, "id", ""), text))
    return {(name, text) for name, text in found if len(re.findall("[a-z]{2,}", text)) > 1}


def test_every_message_of_an_error_is_on_its_page() -> None:
    said = {
        title: "|".join(
            ".*".join(re.escape(part.strip()) for part in text.split("..."))
            for messages, _ in rows
            for text in re.findall(r"`([^`]+)`", messages)
        )
        for title, rows in ROWS.items()
        if rows
    }
    missing = [(name, text) for name, text in _messages() if name in said and not re.search(said[name], text)]
    assert sorted(missing) == []


def test_the_page_of_errors_has_every_problem_of_the_service() -> None:
    kinds, rest = {(RefusedError.kind, str(RefusedError.status))}, [RefusedError]
    while rest:
        found = rest.pop().__subclasses__()
        rest += found
        kinds |= {(each.kind, str(each.status)) for each in found}
    service = ROOT / "retrivex" / "service"
    made = "".join((service / name).read_text(encoding="utf-8") for name in ("problems.py", "gate.py"))
    found = re.findall(r'(?:Problem\(|^    )(\d{3})[,:] \(?"([\w-]+)"', made, re.MULTILINE)
    kinds |= {(kind, status) for status, kind in found}
    assert set(re.findall(r"^\| `([\w-]+)` \| (\d+) \|", SECTIONS["HTTP"], re.MULTILINE)) == kinds


def test_a_page_that_a_message_names_is_there() -> None:
    assert {page for page in re.findall(r"docs/\w+/[\w/]+\.md", WORDS) if not (ROOT / page).is_file()} == set()
