"""Each line of docs/compare/published.md names what runs it: a test, an example, or a block with what it prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.stated import anchors_of, functions_of

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs" / "compare"
PAGE = (DOCS / "published.md").read_text(encoding="utf-8")
HEADER = "| example | here | run by |"
DOCUMENTS = [part for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:] if HEADER in part]
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for part in DOCUMENTS
    for line in part[part.index(HEADER) :].splitlines()[2:]
    if line.startswith("|")
]
BLOCK = re.compile(r"^```python\n.*?^```\n\n```text\n", re.MULTILINE | re.DOTALL)


def test_every_document_has_its_examples() -> None:
    assert [part.partition("\n")[0] for part in DOCUMENTS] == [
        "RetriVex 0.1.0",
        "rag-chunk-reorder 0.1.7",
        "An article on the order of passages",
        "An article on chunking",
        "Chunk-aware retrieval",
    ]
    assert len(ROWS) >= 41
    assert len({(example, here) for example, here, _ in ROWS}) == len(ROWS)


def runs(run_by: str) -> list[bool]:
    """Whether what a cell names is there to be run: tests, examples, and blocks with what they print."""
    listed = (ROOT / "tests" / "test_examples.py").read_text(encoding="utf-8")
    tests = [name in functions_of(path) for path, name in re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", run_by)]
    examples = [f'"{name}": [' in listed for name in re.findall(r"`examples/(\w+\.py)`", run_by)]
    blocks = [
        bool(BLOCK.search(anchors_of(DOCS / page).get(anchor, "")))
        for page, anchor in re.findall(r"\]\(([\w./]+\.md)#([\w-]+)\)", run_by)
    ]
    return [*tests, *examples, *blocks]


@pytest.mark.parametrize("row", ROWS, ids=[example for example, *_ in ROWS])
def test_what_runs_an_example_is_there(row: list[str]) -> None:
    example, here, run_by = row
    assert example
    assert here
    assert runs(run_by), f"{example}: nothing is named that runs it"
    assert all(runs(run_by)), run_by


@pytest.mark.parametrize(
    "run_by",
    [
        "`tests/test_published_examples.py::test_no_such_test`",
        "`examples/stand_ins.py`",
        "[block](published.md#no-such-heading)",
        "[a section without a program](../howto/reorder.md#presets)",
    ],
)
def test_what_runs_nothing_is_found(run_by: str) -> None:
    assert runs(run_by) == [False]
