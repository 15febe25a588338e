"""Recorded answers in a real browser: `retrivex query --html`, opened from the disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.browser import COUNT_INK, find_barriers, open_browser, open_page
from support.examples import ROOT
from typer.testing import CliRunner

from retrivex.cli import app

pytestmark = pytest.mark.integration

QUESTION = "How do bees survive the winter?"
GUIDE = (
    "# Guide\n\nBees live in hives. A hive has one queen.\n\n## Winter\n\nIn winter bees form a cluster and shiver to "
    "keep warm. They eat their honey.\n\n## Tools\n\nA smoker calms bees. A veil keeps their stings away.\n"
)
HOSTILE = "Bees survive the winter. </script><script>alert(1)</script> <img src=x onerror=alert(2)> Bees <b>shiver</b>."
ARABIC = "يعيش النحل في خلايا. في الشتاء يتجمع النحل ويرتجف ليبقى دافئا. يأكل النحل العسل. bees winter"
CHINESE = "蜜蜂住在蜂巢里。冬天蜜蜂聚集在一起发抖取暖。它们吃蜂蜜。bees winter 😀 冬天很冷。"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as started:
        yield started


def record(folder: Path, files: dict[str, str], question: str = QUESTION, *options: str) -> str:
    docs = folder / "docs"
    docs.mkdir(parents=True)
    for name, text in files.items():
        (docs / name).write_text(text, encoding="utf-8")
    database, page = str(folder / "store.db"), folder / "answer.html"
    for command in (
        ["index", str(docs), "--db", database, "--size", "40", "--no-embed"],
        ["query", question, "--db", database, "--html", str(page), *options],
    ):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
    return page.as_uri()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    return record(tmp_path_factory.mktemp("recorded"), {"guide.md": GUIDE, "wasps.txt": "Wasps die in winter. " * 40})


def test_a_recording_opens_without_a_server(browser: Any, recorded: str) -> None:
    with open_page(browser) as (page, complaints):
        page.goto(recorded)
        page.get_by_role("region", name="Context").wait_for()
        assert QUESTION in page.locator("header").inner_text()
        assert "shiver to keep warm" in page.locator(".context").inner_text()
        assert page.locator(".strip").count() == 2
        assert "retrivex query" in page.get_by_role("main").inner_text()
        assert page.locator("input").count() == 0
        assert page.evaluate(COUNT_INK, "--accent") > 50
        assert [tab.inner_text() for tab in page.get_by_role("tab").all()] == ["Python", "curl", "JSON", "Command line"]
        assert complaints == []


def test_the_recording_of_the_documentation_opens(browser: Any) -> None:
    with open_page(browser) as (page, complaints):
        page.goto((ROOT / "examples" / "answer.html").as_uri())
        page.get_by_role("region", name="Context").wait_for()
        assert "meals" in page.locator(".context").inner_text()
        assert complaints == []


def test_a_citation_lights_up_its_place_in_the_document(browser: Any, recorded: str) -> None:
    with open_page(browser) as (page, complaints):
        page.goto(recorded)
        cite = page.locator(".cite").first
        cite.focus()
        assert page.locator(".cell.lit").count() >= 1
        assert page.locator(".context .lit").count() >= 1
        page.keyboard.press("Enter")
        page.locator(".reader .text .lit").first.wait_for()
        lit = "".join(page.locator(".reader .text .lit").all_inner_texts())
        assert lit.strip()
        assert lit.strip()[:20] in page.locator(".context").inner_text()
        assert complaints == []


def test_chunks_and_their_scores_are_reached_by_keyboard(browser: Any, recorded: str) -> None:
    with open_page(browser) as (page, complaints):
        page.goto(recorded)
        strip = page.locator(".strip").first
        strip.locator("button[tabindex='0']").focus()
        first = page.evaluate("document.activeElement.dataset.chunk")
        page.keyboard.press("End")
        last = page.evaluate("document.activeElement.dataset.chunk")
        assert int(last) > int(first)
        page.locator(f".cell.open[data-chunk='{last}']").first.wait_for()
        group = page.locator(".reader .group").first
        group.focus()
        score = page.locator(".score", has_text="for it: ").first
        score.wait_for()
        share = float(score.locator("strong").inner_text().removesuffix(" %"))
        whole, part = (score.locator(name).evaluate("e => e.clientWidth") for name in (".bar", ".bar span"))
        assert 100 * part / whole == pytest.approx(share, abs=3)
        assert "for it: " in str(group.get_attribute("aria-label"))
        assert complaints == []


def test_the_prompt_and_the_code_are_copied(browser: Any, recorded: str) -> None:
    with open_page(browser, permissions=["clipboard-read", "clipboard-write"]) as (page, complaints):
        page.goto(recorded)
        page.get_by_role("tab", name="Python").focus()
        page.keyboard.press("ArrowRight")
        assert page.get_by_role("tab", name="curl").get_attribute("aria-selected") == "true"
        panel = page.get_by_role("tabpanel")
        assert panel.locator("pre").inner_text().startswith("curl http://127.0.0.1:8080/v1/query")
        panel.get_by_role("button", name="Copy").click()
        panel.get_by_text("Copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == panel.locator("pre").inner_text()
        page.get_by_text("The prompt").click()
        assert QUESTION in page.get_by_role("region", name="Prompt").inner_text()
        assert complaints == []


@pytest.mark.parametrize("name", ["<script>alert(3)<⁄script>.md", "<img src=x onerror=alert(4)>.md"])
def test_markup_in_a_document_and_in_a_file_name_stays_text(browser: Any, tmp_path: Path, name: str) -> None:
    page_uri = record(tmp_path, {name: HOSTILE})
    with open_page(browser) as (page, complaints):
        page.goto(page_uri)
        page.locator(".context").wait_for()
        assert "<script>alert(1)</script>" in page.locator(".context").inner_text()
        assert name in page.locator(".document h4").inner_text()
        assert page.locator("#app img, #app script, #app b").count() == 0
        assert complaints == []


@pytest.mark.parametrize(("text", "direction"), [(ARABIC, "rtl"), (CHINESE, "ltr")])
def test_other_scripts_are_shown_whole_and_in_their_direction(
    browser: Any, tmp_path: Path, text: str, direction: str
) -> None:
    page_uri = record(tmp_path, {"النحل蜜蜂.txt": text}, "bees winter", "--effort", "full", "--set", "numbered=false")
    with open_page(browser) as (page, complaints):
        page.goto(page_uri)
        assert page.locator(".context").inner_text() == text
        assert "".join(page.locator(".reader .text > span").all_inner_texts()) in text
        assert page.evaluate("getComputedStyle(document.querySelector('.context')).direction") == direction
        assert complaints == []


def test_a_very_long_document_stays_usable(browser: Any, tmp_path: Path) -> None:
    text = "".join(f"Bees of hive {number} survive the winter on honey number {number}. " for number in range(30_000))
    page_uri = record(tmp_path, {"long.txt": text})
    with open_page(browser) as (page, complaints):
        page.goto(page_uri)
        page.locator(".strip button").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.locator(".strip button").last.click()
        assert page.locator(".cell.open").count() >= 1
        assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nobody_is_shut_out(browser: Any, recorded: str, scheme: str, width: int) -> None:
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    with open_page(browser, **options) as (page, complaints):
        page.goto(recorded)
        page.locator(".cite").first.click()
        for summary in page.locator("summary").all():
            summary.click()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert find_barriers(page) == []
        assert complaints == []
