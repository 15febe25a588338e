"""What is shown to users runs, and prints what it says it prints."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from support.examples import BLOCK_AND_OUTPUT, PAGES, ROOT, SESSIONS, read_session, run, run_example

from retrivex.adapters import FRAMEWORKS, STORES

ADAPTERS = {ROOT / row.example: row for row in (*FRAMEWORKS, *STORES)}
STAND_INS = ROOT / "examples" / "stand_ins.py"  # servers for those of adapters, and no example
EXAMPLES = sorted(set((ROOT / "examples").glob("*.py")) - {STAND_INS, *ADAPTERS})
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# blocks that need a framework or a store run where those are: tests/adapters/base/test_docs_blocks.py; those of the
# protocol in tests/service/mcp/test_http.py
IMPORTS_ADAPTER = re.compile(r"^from (?:retrivex\.adapters|mcp)\b", re.MULTILINE)
DOCS = [page for page in PAGES if page not in SESSIONS and page.stem not in {row.name for row in ADAPTERS.values()}]

PRINTS = {
    "chunk_aware_search.py": ["Reset: chunks 0-1, 3-4 (5 in all)", "[chunk 2 omitted]", "max 0.91, mean 0.875"],
    "chunks_to_answers.py": [
        "fixed [240, 242, 249, 248]\nrecursive [482, 497]\nsemantic [482, 497]",
        "497 characters shown: the whole of insects#parent-1",
        *(f"needle at {depth} %: found" for depth in (0, 25, 50, 75, 100)),
        "reranked and ordered [19, 17, 15, 16, 18]",
        "0 before, 8 after, of 8",
    ],
    "own_retriever.py": ["1 request to the store", "A hive has one queen."],
    "parents.py": ["('winter', 'Winter. Bees form"],
    "pinned_and_exclude.py": ["Prices are in euros", "Next turn:", "excluded"],
    "plain_dict.py": ["The queen stays in the middle of the cluster.", "bees.txt: chunks"],
    "prompt_blocks.py": ["do not skip the middle", "'citations': {'enabled': True}", "bees.pdf, page 2: 'up to 2,000"],
    "prompt_and_citations.py": ["bees.pdf, page 2", "'up to 2,000 eggs a day'", "Answer:"],
    "rerank.py": ["[1] In spring she lays", "keep the scores of their retriever"],
    "reorder_passages.py": ["p4: rank 1, at the back", "p2 left out: duplicate p1"],
    "several_queries.py": ["Fused by rank:", "Varroa", "Winter bees"],
    "windows_and_turns.py": ["windows with the sources", "'cache_control'", "is source 3"],
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs(path: Path) -> None:
    printed = run_example(path.name, warnings="error")
    assert all(words in printed for words in PRINTS[path.name]), printed


def test_every_example_is_here() -> None:
    assert sorted(PRINTS) == [path.name for path in EXAMPLES]


@pytest.mark.parametrize("path", ADAPTERS, ids=lambda path: path.name)
def test_the_example_of_an_adapter_is_run_where_its_extra_is(path: Path) -> None:
    tests = ROOT / ADAPTERS[path].test_path
    files = [tests] if tests.is_file() else list(tests.glob("test_*.py"))
    assert any(path.name in file.read_text(encoding="utf-8") for file in files)


@pytest.mark.skipif(not (ROOT / "Makefile").exists(), reason="no Makefile here, as beside an unpacked wheel")
def test_make_examples_runs_every_example() -> None:
    planned = subprocess.run(
        ["make", "--dry-run", "examples"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    ran = re.findall(r"bin/python (examples/\w+\.py) &&", planned.stdout)
    assert sorted(ran) == sorted(f"examples/{path.name}" for path in [*EXAMPLES, *ADAPTERS])


@pytest.mark.skipif(not (ROOT / "README.md").exists(), reason="no README here, as in an unpacked wheel")
def test_the_first_block_of_the_readme_runs() -> None:
    blocks = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert blocks, "the README opens with a program that runs"
    assert run(blocks[0], "README.md").strip()


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.stem)
def test_blocks_of_the_docs_print_what_stands_below_them(path: Path, tmp_path: Path) -> None:
    for program, output in BLOCK_AND_OUTPUT.findall(path.read_text(encoding="utf-8")):
        if not IMPORTS_ADAPTER.search(program):
            assert run(program, path.name, tmp_path) == output


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_a_page_of_start_and_learn_prints_what_stands_in_it(path: Path, tmp_path: Path) -> None:
    program, printed = read_session(path)
    if not IMPORTS_ADAPTER.search(program):
        assert run(program, path.name, tmp_path) == printed


def test_a_block_of_the_docs_is_checked() -> None:
    assert any(BLOCK_AND_OUTPUT.search(path.read_text(encoding="utf-8")) for path in DOCS)
