"""The page in a real browser, over a service that a small server stands in for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.browser import find_barriers, open_browser, open_page
from support.playground_server import Playground, serve_playground

pytestmark = pytest.mark.integration

QUESTION = "How do bees keep warm in winter?"
BEES = "Bees live in hives. In winter bees form a cluster. They shiver to keep warm. They eat their honey. " * 3
WASPS = "Wasps die when winter comes. Only young queens survive the winter. They sleep under bark. "
NAME_OF_ELEMENT = "e => e.id || e.getAttribute('role') || e.className.toString().split(' ')[0]"
PAINTED_WITHIN = 300  # milliseconds from the reply to the first answer on the screen


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as started:
        yield started


@pytest.fixture
def playground(tmp_path: Path) -> Playground:
    made = Playground(tmp_path / "store.db")
    made.add("bees.txt", BEES)
    made.add("wasps.txt", WASPS)
    return made


@pytest.fixture
def opened(browser: Any, playground: Playground) -> Iterator[Any]:
    """Open the page; at the end it must have had nothing to complain of."""
    with serve_playground(playground) as address, open_page(browser) as (page, complaints):
        page.goto(address)
        page.locator("summary", has_text="in the index").wait_for()
        yield page
        assert complaints == []


def ask(page: Any, question: str = QUESTION) -> None:
    page.get_by_role("searchbox", name="Question").fill(question)
    page.keyboard.press("Enter")
    page.locator(".answer").first.wait_for()


def compare_full_with_little(page: Any) -> None:
    page.get_by_label("Effort", exact=True).select_option("full")
    page.get_by_label("Compare two settings").check()
    page.locator(".answer").nth(1).wait_for()
    page.locator("#budget-B").fill("100")


def test_a_question_is_answered_and_cited(opened: Any) -> None:
    ask(opened)
    assert "They shiver to keep warm." in opened.locator(".context").inner_text()
    opened.locator(".cited").first.hover()
    assert opened.locator(".cell.lit").count() >= 1
    opened.locator(".cited").first.click()
    opened.locator(".reader .text .lit").first.wait_for()
    assert "Answered: " in opened.locator("p.busy").inner_text()


def test_the_first_answer_is_painted_soon_after_the_reply(opened: Any) -> None:
    ask(opened)
    opened.wait_for_function("() => performance.getEntriesByName('painted').length > 0")
    took = opened.evaluate("performance.measure('paint', 'reply', 'painted').duration")
    assert took <= PAINTED_WITHIN


def test_a_setting_that_is_turned_asks_again(opened: Any, playground: Playground) -> None:
    ask(opened)
    opened.get_by_label("Token budget").focus()
    opened.get_by_label("Token budget").fill("100")
    opened.locator(".figures", has_text="of 100").wait_for()
    opened.get_by_label("Order").select_option("document")
    opened.get_by_label("Window").focus()
    for _ in range(2):
        opened.keyboard.press("ArrowRight")
    opened.wait_for_timeout(100)
    opened.locator("main[aria-busy=false]").wait_for()
    opened.wait_for_function("() => document.querySelector('[role=tabpanel] pre').textContent.includes('window=1')")
    assert playground.requests[0]["settings"] == {}
    assert playground.requests[-1]["settings"] == {"token_budget": 100, "order": "document", "window": 1}
    assert len(playground.requests) <= 5


def test_two_settings_stand_side_by_side(opened: Any) -> None:
    ask(opened)
    compare_full_with_little(opened)
    opened.locator(".answer").nth(1).locator(".figures", has_text="of 100").wait_for()
    first, second = opened.locator(".answer").all()
    assert "characters that B does not show" in first.locator(".own").inner_text()
    assert first.locator(".context .only").count() >= 1
    assert second.locator(".context .only").count() == 0
    assert first.locator(".cell.differs").count() == second.locator(".cell.differs").count() >= 1
    assert opened.locator(".curve polyline").count() == 2


def test_a_file_is_uploaded_and_asked_for(opened: Any) -> None:
    opened.locator("summary", has_text="2 documents in the index").click()
    name = "<script>alert(1)</script> & <img src=x onerror=alert(2)>.txt"
    text = "Hornets build paper nests. </script><script>alert(3)</script> <b>Hornets</b> hunt bees."
    opened.set_input_files("#files", {"name": name, "mimeType": "text/plain", "buffer": text.encode()})
    opened.locator("summary", has_text="3 documents in the index").wait_for()
    ask(opened, "What do hornets build?")
    assert "<script>alert(3)</script>" in opened.locator(".context").inner_text()
    assert name in opened.locator(".names").inner_text()
    assert opened.locator("#app img, #app script, #app b").count() == 0


def test_a_file_is_dropped_on_the_page(opened: Any) -> None:
    drop = """() => {
        const data = new DataTransfer();
        data.items.add(new File(["Drones leave in autumn."], "drones.md", { type: "text/markdown" }));
        for (const type of ["dragover", "drop"]) {
            document.body.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
        }
    }"""
    opened.evaluate(drop)
    opened.locator("summary", has_text="3 documents in the index").wait_for()
    ask(opened, "When do drones leave?")
    assert "Drones leave in autumn." in opened.locator(".context").inner_text()


def test_a_text_is_pasted_in_any_script(opened: Any) -> None:
    opened.locator("summary", has_text="in the index").click()
    for name, text in (("النحل", "يرتجف النحل في الشتاء hornet."), ("蜜蜂", "冬天蜜蜂聚集取暖 hornet 😀。")):
        opened.get_by_label("Or paste a text").fill(name)
        opened.get_by_label("Text to add").fill(text)
        opened.get_by_role("button", name="Add the text").click()
        opened.locator(".names", has_text=f"{name}.txt").wait_for()
    opened.get_by_label("Effort", exact=True).select_option("full")
    ask(opened, "hornet")
    shown = opened.locator(".context").inner_text()
    assert "يرتجف النحل في الشتاء" in shown
    assert "冬天蜜蜂聚集取暖 hornet 😀。" in shown


def test_a_very_long_text_is_pasted_and_asked_for(opened: Any) -> None:
    text = "".join(f"Hive {number} has {number} drones in it. " for number in range(20_000))
    opened.set_input_files("#files", {"name": "long.txt", "mimeType": "text/plain", "buffer": text.encode()})
    opened.locator("summary", has_text="3 documents in the index").wait_for()
    ask(opened, "How many drones has hive 777?")
    assert opened.locator(".strip button").count() > 10
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_an_empty_index_asks_for_a_document(browser: Any, tmp_path: Path) -> None:
    with serve_playground(Playground(tmp_path / "store.db")) as address, open_page(browser) as (page, complaints):
        page.goto(address)
        page.locator("details[open] summary", has_text="The index is empty: add a document").wait_for()
        ask(page)
        assert "Nothing is shown" in page.locator(".answer").inner_text()
        assert complaints == []


def test_what_is_refused_is_said(browser: Any, playground: Playground) -> None:
    with serve_playground(playground) as address, open_page(browser) as (page, _):
        page.goto(address)
        page.locator("summary", has_text="in the index").click()
        page.set_input_files("#files", {"name": "a.exe", "mimeType": "text/plain", "buffer": b"MZ"})
        page.get_by_text("a.exe: 'a.exe' is of no known type: give .txt or .md").wait_for()
    # the service is gone
    with serve_playground(playground) as address, open_page(browser) as (page, _):
        page.goto(address)
        page.locator("summary", has_text="in the index").wait_for()
        page.route("**/v1/view", lambda route: route.abort())
        page.get_by_role("searchbox", name="Question").fill(QUESTION)
        page.keyboard.press("Enter")
        page.get_by_role("alert").get_by_text("The service does not answer").wait_for()


def test_a_wrong_key_is_asked_for_again_and_kept_for_the_tab_alone(browser: Any, playground: Playground) -> None:
    playground.key = "right"
    with serve_playground(playground) as address, open_page(browser) as (page, _):
        page.goto(address)
        dialog = page.get_by_role("dialog", name="This service asks for a key")
        dialog.wait_for()
        assert page.evaluate("document.activeElement.id") == "key"
        page.keyboard.type("wrong")
        page.keyboard.press("Enter")
        dialog.get_by_role("alert").get_by_text("the key is missing or wrong").wait_for()
        assert find_barriers(page) == []
        dialog.get_by_label("Key").fill("right")
        page.keyboard.press("Enter")
        page.locator("summary", has_text="2 documents in the index").wait_for()
        assert dialog.count() == 0
        ask(page)
        assert page.evaluate("[localStorage.length, document.cookie, sessionStorage.length]") == [0, "", 1]


def test_everything_is_reached_by_keyboard(opened: Any) -> None:
    ask(opened)
    opened.evaluate("document.activeElement.blur()")
    reached = set()
    for _ in range(80):
        opened.keyboard.press("Tab")
        reached.add(opened.evaluate(f"({NAME_OF_ELEMENT})(document.activeElement)"))
    assert {"question", "budget-", "window-", "effort-", "order-", "scoring-", "cite", "cell", "tab-python"} <= reached


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_shut_out(browser: Any, playground: Playground, scheme: str) -> None:
    with serve_playground(playground) as address, open_page(browser, color_scheme=scheme) as (page, complaints):
        page.goto(address)
        page.locator("summary", has_text="in the index").click()
        assert find_barriers(page) == []
        ask(page)
        compare_full_with_little(page)
        page.locator(".cell.differs").first.wait_for()
        for summary in page.locator(".answers summary, .below summary").all():
            summary.click()
        assert find_barriers(page) == []
        assert complaints == []
