"""What docs/compare/compare.md says can be looked up: our side in a test, theirs behind a link."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.stated import anchors_of, functions_of

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs" / "compare"
PAGE = (DOCS / "compare.md").read_text(encoding="utf-8")
PROJECTS = [
    "RetriVex",
    "LangChain",
    "LlamaIndex",
    "Haystack",
    "dsRAG",
    "LongContextReorder",
    "rag-chunk-reorder",
    "retrivexlib 0.1.0",
]
ASKED_FOR = [
    ["Neighbours without naming a store"],
    ["Filters on metadata", "Words and vectors together", "Several hit lists", "Sub-questions"],
    [
        "Limits by score and document", "Whole documents where they are short", "Documents rebuilt",
        "From question to context in one call",
    ],
    ["More around a citation, on request", "Guards: where growth stops", "Links to other documents"],
    ["Headers at index time", "Small to find, large to read"],
    ["More than one window", "Prompts that a cache knows again", "Nothing twice over turns"],
    ["Recency, reliability, section", "Your own passages"],
    ["Embedding models by name", "Rerankers"],
    ["Pictures beside text"],
    ["Moving here"],
]  # fmt: skip
"""What users of the other tools ask for: a row each."""
READ_AT = [
    "https://github.com/deepset-ai/haystack/issues/9687",
    "https://github.com/D-Star-AI/dsRAG/pull/49",
    "https://github.com/rhel-lightspeed/okp-mcp/pull/92",
    "https://github.com/shinpr/mcp-local-rag/issues/104",
    "https://www.anthropic.com/engineering/contextual-retrieval",
]
"""Where they ask for it, or do it, outside the projects that have a column."""
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
DEFINED = dict(re.findall(r"^\[([\w-]+)\]: (\S+)$", PAGE, re.MULTILINE))
USED = re.findall(r"\]\[([\w-]+)\]", PAGE)
TARGETS = re.findall(r"\]\(([^)\s]+)\)", PAGE)


def _rows() -> Iterator[list[str]]:
    """Rows of the tables that compare the projects, as cells; the first is the feature."""
    header = ["", *PROJECTS]
    inside = False
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif cells == header:
            inside = True
        elif inside and not set(line) <= set("|-"):
            yield cells


ROWS = list(_rows())


def _problem_of(target: str) -> str:
    """What is wrong with a link; empty where it is well-formed and, inside the repository, leads somewhere."""
    if "://" in target:
        parts = urlsplit(target)
        sound = parts.scheme == "https" and re.fullmatch(r"[\w-]+(\.[\w-]+)+", parts.netloc) and len(parts.path) > 1
        return "" if sound else f"{target}: no https address of a page"
    name, _, anchor = target.partition("#")
    path = (DOCS / name).resolve() if name else DOCS / "compare.md"
    if not path.exists():
        return f"{target}: no such file"
    return "" if not anchor or anchor in anchors_of(path) else f"{target}: no such heading"


def test_the_page_compares_what_it_promises() -> None:
    assert len(ROWS) > 25
    assert len({cells[0] for cells in ROWS}) == len(ROWS)
    assert len(PAGE.splitlines()) <= 220
    assert [line for line in PAGE.splitlines() if len(line) > 120 and not line.startswith(("|", "["))] == []


def test_what_is_asked_for_elsewhere_has_its_rows_and_is_linked() -> None:
    features = {cells[0] for cells in ROWS}
    assert [name for rows in ASKED_FOR for name in rows if name not in features] == []
    in_rows = {DEFINED[name] for cells in ROWS for cell in cells for name in re.findall(r"\]\[([\w-]+)\]", cell)}
    assert [address for address in READ_AT if address not in in_rows] == []


@pytest.mark.parametrize("cells", ROWS, ids=[cells[0] for cells in ROWS])
def test_a_row_has_a_cell_for_each_project_and_a_test_of_ours(cells: list[str]) -> None:
    feature, ours, *theirs = cells
    assert feature
    assert [cell for cell in theirs if not cell] == []
    assert len(theirs) == len(PROJECTS) - 1
    named = NAMED.findall(ours)
    assert named, f"{feature}: our cell names no test"
    for path, name in named:
        assert name.startswith("test_")
        assert name in functions_of(path), f"{path}::{name}"


@pytest.mark.parametrize("column", range(2, len(PROJECTS) + 1), ids=PROJECTS[1:])
def test_what_a_project_has_is_behind_a_link(column: int) -> None:
    cells = [cells[column] for cells in ROWS]
    linked = [cell for cell in cells if re.search(r"\]\[[\w-]+\]", cell)]
    assert len(linked) >= 3
    # A name of theirs in code is a claim, which a reader can check only where it was read.
    own_type = re.compile(r"its `\w+`|`LongContextReorder`|none: `[\w-]+` .*")
    assert [cell for cell in cells if "`" in cell and cell not in linked and not own_type.fullmatch(cell)] == []


def test_every_link_is_an_address_or_leads_to_a_heading_that_is_there() -> None:
    assert len(DEFINED) > 60
    problems = [_problem_of(target) for target in [*DEFINED.values(), *TARGETS]]
    assert [problem for problem in problems if problem] == []


def test_every_reference_is_defined_once_and_used() -> None:
    assert sorted(set(USED)) == sorted(DEFINED)
    assert len(re.findall(r"^\[[\w-]+\]: ", PAGE, re.MULTILINE)) == len(DEFINED)
    assert len(set(DEFINED.values())) == len(DEFINED)


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("https://example.org/page", ""),
        ("http://example.org/page", "no https address"),
        ("https://example/page", "no https address"),
        ("https://example.org", "no https address"),
        ("../howto/reorder.md#fields", ""),
        ("../howto/reorder.md#no-such-heading", "no such heading"),
        ("no_such_page.md", "no such file"),
    ],
)
def test_a_broken_link_is_found(target: str, problem: str) -> None:
    assert problem in _problem_of(target)
    assert bool(problem) == bool(_problem_of(target))
