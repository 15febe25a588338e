"""The printed report: short, with its figures, and as the committed results say."""

from __future__ import annotations

import re

import pytest

from benchmarks.report import chapters, committed, numbers, report, tables
from benchmarks.report.evidence_tables import main_cell

PAGE = report.PAGE.read_text(encoding="utf-8")
README = (report.ROOT / "README.md").read_text(encoding="utf-8")
BENCHMARKS = (report.ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")


def tables_of(page: str) -> list[list[str]]:
    """Return the tables of a page, each as its lines without the line of dashes."""
    blocks = re.findall(r"(?:^\|.*\|\n?)+", page, flags=re.MULTILINE)
    return [[line for line in block.splitlines() if not line.startswith("| ---")] for block in blocks]


def figures_of(page: str) -> list[str]:
    """Return the files of a page's figures."""
    return re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page)


def test_the_front_pages_are_short() -> None:
    assert len(README.splitlines()) <= 130
    assert len(BENCHMARKS.splitlines()) <= 150
    assert len(PAGE.splitlines()) <= 300
    assert len(PAGE.encode()) <= 25_000


PACKAGES_OF_ITS_OWN = {"determinism"}  # each row names the Python and the numpy that it compares


@pytest.mark.parametrize("name", sorted(committed.OF_TIME_AND_FAULTS - PACKAGES_OF_ITS_OWN))
def test_a_result_of_time_or_faults_names_the_code_that_it_was_measured_with(name: str) -> None:
    text = (committed.RESULTS / f"{name}.json").read_text(encoding="utf-8")
    assert re.search(r'"(?:code|digest)": (?:"[0-9a-f]{12}"|\{(?:\s*"\w+": "[0-9a-f]{12}",?)+\s*\})', text)


def test_the_report_has_twelve_sections_and_ten_figures() -> None:
    headings = re.findall(r"^## (\d+)\. ", PAGE, flags=re.MULTILINE)
    assert headings == [str(number) for number in range(1, 13)]
    assert len(figures_of(PAGE)) == 10


def test_tables_of_the_report_can_be_taken_in_at_a_glance() -> None:
    found = tables_of(PAGE)
    assert found
    assert max(len(table) - 1 for table in found) <= 8
    assert max(line.count(" | ") + 1 for table in found for line in table) <= 6


@pytest.mark.parametrize("page", [report.PAGE, *report.RESULTS.rglob("*.md")], ids=lambda path: path.parent.name)
def test_every_figure_and_link_of_a_printed_page_is_there(page: report.Path) -> None:
    links = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_no_figure_lies_there_that_no_page_shows() -> None:
    docs = (report.ROOT / "docs").rglob("*.md")
    pages = [report.PAGE, report.ROOT / "README.md", *docs, *report.RESULTS.rglob("*.md")]
    shown = {file.rsplit("/", 1)[-1] for page in pages for file in figures_of(page.read_text(encoding="utf-8"))}
    there = {file.name for file in (report.ROOT / "docs" / "figures").rglob("*.png")}
    assert there - shown == set()


@pytest.mark.parametrize("path", tables.PAGES, ids=lambda path: path.name)
def test_tables_of_the_documentation_are_as_the_results_say(path: report.Path) -> None:
    page = path.read_text(encoding="utf-8")
    assert "<!-- " in page
    assert tables.filled(page) == page


@pytest.mark.parametrize("number", [2, 3, 4, 5, 8, 10, 12])
def test_a_section_is_as_the_results_say(number: int) -> None:
    heading, write = chapters.SECTIONS[number - 1]
    assert f"## {number}. {heading}\n\n{write()}\n" in PAGE


@pytest.mark.integration  # reads every row of the runs: seconds of processor time
def test_every_printed_page_is_as_the_results_say() -> None:
    assert report.check() == 0


def test_the_summary_shows_the_best_peer_also_where_compressors_were_asked() -> None:
    alone = main_cell("alone", 50, 2000)
    assert any("ragcompress by cosines" in systems for systems in alone["means"].values())
    assert numbers.difference(alone, "best peer").points() in chapters.summary()


@pytest.mark.parametrize("number", range(3, 12))
def test_a_section_with_figures_names_its_command(number: int) -> None:
    section = PAGE.split(f"\n## {number}. ")[1].split("\n## ")[0]
    assert re.search(r"`make [a-z-]+`", section)


def test_a_situation_says_of_how_many_questions_it_is() -> None:
    assert "| second encoder (276) |" in PAGE


def test_the_default_order_is_among_the_losses_where_it_loses() -> None:
    section = PAGE.split("\n## 9. ")[1].split("\n## ")[0]
    verdict = PAGE.split("**Verdict.**")[1].split("\n")[0]
    found = re.search(r"([+-][\d.]+) \[([+-][\d.]+), ([+-][\d.]+)\] points", verdict)
    assert found
    assert abs(float(found[1])) <= 1, "a point apart or less"
    assert ("**The default order.**" in section) == (float(found[3]) < 0)


def test_headings_of_the_report_are_true() -> None:
    above, below = numbers.surely("kNN")
    assert above >= 0.75 * len(numbers.grid()), "the gain holds across budgets, chunk sizes and hits"
    assert below == 0
    known = {row["name"]: row["change"]["complete"][0] for row in numbers.result("ablations")["rows"]}
    features = {name: change for name, change in known.items() if name.startswith("without ")}
    assert min(features, key=features.__getitem__) == "without words", "the question's words carry most of the gain"
    milliseconds = [row["us"]["exact count"] / 1e3 for row in numbers.result("latency")["rows"]]
    assert max(milliseconds) < 10, "a context costs milliseconds"
