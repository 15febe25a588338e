"""The page in a real browser, over `retrivex serve` in a process of its own."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.browser import COUNT_INK, find_barriers, open_browser, open_page
from support.service_process import ServiceProcess
from support.service_world import make_index

from retrivex import Document
from retrivex.service.keys import Keys
from retrivex.stores import SQLiteStore

pytestmark = pytest.mark.integration

QUESTION = "How do bees keep warm in winter?"
BEES = "\n\n".join(
    [
        "# Hive\n\n" + "Bees live in hives that they build of wax. " * 20,
        "# Winter\n\nIn winter bees form a cluster. They shiver to keep warm. They eat their honey. "
        + "The cluster moves slowly over the combs. " * 20,
        "# Tools\n\n" + "A smoker calms bees while the lid is off. " * 20,
    ]
)
WASPS = "Wasps die when winter comes. Only young queens survive the winter. They sleep under bark. "
NAME_OF_ELEMENT = "e => e.id || e.getAttribute('role') || e.className.toString().split(' ')[0]"
PAINTED_WITHIN = 300  # milliseconds from the last byte of the reply to the first answer on the screen
PAINTED = """() => {
    const [reply] = performance.getEntriesByType("resource").filter((entry) => entry.name.endsWith("/v1/view"));
    return performance.getEntriesByName("painted")[0].startTime - reply.responseEnd;
}"""
PICTURE = "document.querySelector('.plot canvas').toDataURL()"
LAST_INK = COUNT_INK.replace("found += 1", "found = Math.max(found, (at / 4) % width)")  # its column
NOTE_DRAWN = """
window.drawn = { texts: [], dashes: [] };
const { fillText, setLineDash } = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    drawn.texts.push(text);
    return fillText.call(this, text, ...rest);
};
CanvasRenderingContext2D.prototype.setLineDash = function (dash) {
    drawn.dashes.push(dash);
    return setLineDash.call(this, dash);
};
"""
MOST_BYTES = 150_000  # of the page, as it comes over the wire

Serve = Callable[..., ServiceProcess]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as started:
        yield started


def write_index(path: Path) -> Path:
    return make_index(path, Document("bees.md", BEES), Document("wasps.txt", WASPS))


@pytest.fixture(scope="module")
def address(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve two documents to the tests that change none."""
    folder = tmp_path_factory.mktemp("served")
    with ServiceProcess(folder, str(write_index(folder / "index.db"))) as service:
        yield service.address


@pytest.fixture
def serve(browser: Any, tmp_path: Path) -> Iterator[Serve]:
    """Return a function that serves an index to one test, two documents where none is given."""
    with ExitStack() as stack:

        def start(path: Path | None = None, **environment: str) -> ServiceProcess:
            database = write_index(tmp_path / "index.db") if path is None else path
            return stack.enter_context(ServiceProcess(tmp_path, str(database), **environment))

        yield start


@contextmanager
def open_at(browser: Any, address: str, **options: Any) -> Iterator[Any]:
    """Open the page; at the end it must have had nothing to complain of."""
    with open_page(browser, **options) as (page, complaints):
        page.goto(address)
        page.locator("summary", has_text="in the index").wait_for()
        yield page
        assert complaints == []


@pytest.fixture
def opened(browser: Any, address: str) -> Iterator[Any]:
    with open_at(browser, address) as page:
        yield page


def ask(page: Any, question: str = QUESTION) -> None:
    page.get_by_role("searchbox", name="Question").fill(question)
    page.keyboard.press("Enter")
    page.locator(".answer").first.wait_for()


def compare_full_with_little(page: Any) -> None:
    page.get_by_label("Effort", exact=True).select_option("full")
    page.get_by_label("Compare two settings").check()
    page.locator(".answer").nth(1).wait_for()
    page.locator("#budget-B").fill("100")
    page.locator(".answer").nth(1).locator(".figures", has_text="of 100").wait_for()


def upload(page: Any, name: str, text: str) -> None:
    page.set_input_files("#files", {"name": name, "mimeType": "text/plain", "buffer": text.encode()})


# ---- ask, cite, compare


def test_a_question_is_answered_and_cited(opened: Any) -> None:
    ask(opened)
    assert "They shiver to keep warm." in opened.locator(".context").inner_text()
    opened.locator(".cited").first.hover()
    assert opened.locator(".cell.lit").count() >= 1
    opened.locator(".cited").first.click()
    opened.locator(".reader .text .lit").first.wait_for()
    assert "Answered: " in opened.locator("p.busy").inner_text()


def test_the_first_answer_is_painted_soon_after_the_reply(browser: Any, address: str) -> None:
    took = []
    for _ in range(3):  # the best of three, as other work may take the processor
        with open_at(browser, address) as page:
            ask(page)
            page.wait_for_function("() => performance.getEntriesByName('painted').length > 0")
            took.append(page.evaluate(PAINTED))
    assert 0 < min(took) <= PAINTED_WITHIN


def test_the_page_is_small_on_the_wire(browser: Any, address: str) -> None:
    with open_page(browser) as (page, _):
        answers: list[Any] = []
        page.on("response", lambda answer: answers.append(answer))
        page.goto(address, wait_until="networkidle")
        own = [answer for answer in answers if "/v1/" not in answer.url]
        assert {"preact.js", "chart.js", "page.css"} <= {answer.url.rpartition("/")[2] for answer in own}
        assert all(answer.headers["content-encoding"] == "gzip" for answer in own)
        sizes = [answer.request.sizes() for answer in own]
        assert 20_000 < sum(size["responseBodySize"] + size["responseHeadersSize"] for size in sizes) <= MOST_BYTES


def test_a_setting_that_is_turned_asks_again(opened: Any) -> None:
    sent: list[Any] = []
    opened.on("request", lambda one: sent.append(one.post_data_json) if one.url.endswith("/v1/view") else None)
    ask(opened)
    opened.get_by_label("Token budget").focus()
    opened.get_by_label("Token budget").fill("100")
    opened.locator(".figures", has_text="of 100").wait_for()
    opened.get_by_label("Order").select_option("document")
    opened.get_by_label("Window").focus()
    for _ in range(2):
        opened.keyboard.press("ArrowRight")
    opened.wait_for_function(
        "() => document.querySelector('[role=tabpanel] pre').textContent.includes(\"'window': 1\")"
    )
    assert sent[0]["settings"] == {}
    assert sent[-1]["settings"] == {"token_budget": 100, "order": "document", "window": 1}
    assert len(sent) <= 5


def test_two_settings_stand_side_by_side(opened: Any) -> None:
    ask(opened)
    compare_full_with_little(opened)
    first, second = opened.locator(".answer").all()
    assert "characters that B does not show" in first.locator(".own").inner_text()
    assert first.locator(".context .only").count() >= 1
    assert second.locator(".context .only").count() == 0
    assert first.locator(".cell.differs").count() == second.locator(".cell.differs").count() >= 1
    assert min(opened.evaluate(COUNT_INK, name) for name in ("--accent", "--second")) > 50
    said = str(opened.get_by_role("img").get_attribute("aria-label"))
    assert "A: " in said
    assert "B: " in said


def test_the_plot_is_read_by_pointing_and_as_a_table(opened: Any) -> None:
    ask(opened)
    plot, pointed = opened.locator(".plot"), opened.locator(".pointed")
    before = pointed.inner_text()
    tokens = str(re.search(r" % in ([\d,]+) tokens", before)[1])
    unmarked = opened.evaluate(PICTURE)
    last = plot.bounding_box()["width"] - 11  # on the last dot
    for left, said in ((60, "nothing yet"), (last, f" after {tokens} tokens")):
        plot.hover(position={"x": left, "y": 100})
        opened.locator(".pointed", has_text=said).wait_for()
        assert opened.evaluate(PICTURE) != unmarked  # a line where the pointer is
    marked, box = opened.evaluate(PICTURE), plot.bounding_box()
    for down in range(10, 200, 4):  # over the dot, which has nothing of its own to say
        opened.mouse.move(box["x"] + last, box["y"] + down)
        assert opened.evaluate(PICTURE) == marked
    for elsewhere in (lambda: plot.hover(position={"x": 5, "y": 100}), opened.locator("h1").hover):
        elsewhere()
        opened.locator(".pointed", has_text=before).wait_for()
        assert opened.evaluate(PICTURE) == unmarked
        plot.hover()
        opened.locator(".pointed", has_text=before).wait_for(state="detached")
    opened.get_by_text("As a table").click()
    assert opened.locator("table tbody tr").count() >= 1


def test_another_answer_is_not_pointed_at(browser: Any, address: str) -> None:
    with open_at(browser, address, has_touch=True) as page:  # a finger does not leave, as a mouse does
        ask(page)
        page.locator(".plot").tap()
        page.locator(".pointed", has_text=" % in ").wait_for(state="detached")
        page.locator("#budget-").fill("100")
        page.locator(".figures", has_text="of 100").wait_for()
        page.locator(".pointed", has_text=" % in ").wait_for()


def test_the_lines_are_whole_and_the_second_lies_on_top(opened: Any) -> None:
    ask(opened)
    edge = opened.evaluate(LAST_INK, "--line")
    assert opened.evaluate(LAST_INK, "--accent") >= edge + 3  # half of the last dot
    opened.get_by_label("Compare two settings").check()
    opened.locator(".answer").nth(1).wait_for()
    assert opened.evaluate(COUNT_INK, "--accent") < opened.evaluate(COUNT_INK, "--second")  # the same answer twice


def test_the_plot_writes_its_axes_and_nothing_else(browser: Any, address: str) -> None:
    with open_page(browser) as (page, complaints):
        page.add_init_script(NOTE_DRAWN)
        page.goto(address)
        ask(page)
        compare_full_with_little(page)
        page.locator(".plot").hover()
        written = set(page.evaluate("drawn.texts"))
        assert complaints == []
    levels = {f"{share} %" for share in (0, 25, 50, 75, 100)}
    tokens = written - levels - {"tokens, richest passages first"}
    assert written > levels
    assert "0" in tokens
    assert len(tokens) > 3
    assert all(re.fullmatch(r"\d{1,3}(?:,\d{3})*", text) for text in tokens)


def test_the_second_line_is_dashed(browser: Any, address: str) -> None:
    with open_page(browser) as (page, _):
        page.add_init_script(NOTE_DRAWN)
        page.goto(address)
        ask(page)
        assert set(page.evaluate("drawn.dashes.map(String)")) == {""}
        compare_full_with_little(page)
        assert "7,5" in page.evaluate("drawn.dashes.map(String)")


def test_the_plot_follows_the_width_and_the_colours(browser: Any, address: str) -> None:
    with open_at(browser, address, color_scheme="light", viewport={"width": 390, "height": 800}) as page:
        ask(page)
        assert page.evaluate(COUNT_INK, "--accent") > 50
        narrow = page.locator(".plot canvas").bounding_box()["width"]
        assert narrow <= 390
        page.emulate_media(color_scheme="dark")
        page.wait_for_function(f"() => ({COUNT_INK})('--accent') > 50")
        page.set_viewport_size({"width": 1280, "height": 800})
        page.wait_for_function(f"() => document.querySelector('.plot canvas').clientWidth > {narrow} + 100")


def test_what_is_copied_gives_the_same_answer(browser: Any, address: str) -> None:
    with open_at(browser, address, permissions=["clipboard-read", "clipboard-write"]) as page:
        page.get_by_label("Effort", exact=True).select_option("full")
        ask(page)
        assert [tab.inner_text() for tab in page.get_by_role("tab").all()] == ["Python", "curl", "JSON"]
        page.get_by_role("tab", name="JSON").click()
        page.get_by_role("tabpanel").get_by_role("button", name="Copy").click()
        page.get_by_text("Copied").wait_for()
        body = page.evaluate("navigator.clipboard.readText()").encode()
        request = urllib.request.Request(f"{address}/v1/query", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert json.load(answer)["text"] == page.locator(".context").text_content()


# ---- documents


def test_a_file_is_uploaded_and_asked_for(browser: Any, serve: Serve) -> None:
    with open_at(browser, serve().address) as page:
        page.locator("summary", has_text="2 documents in the index").click()
        name = "<script>alert(1)<⁄script> & <img src=x onerror=alert(2)>.txt"
        upload(page, name, "Hornets build paper nests. </script><script>alert(3)</script> <b>Hornets</b> hunt bees.")
        page.locator("summary", has_text="3 documents in the index").wait_for()
        ask(page, "What do hornets build?")
        assert "<script>alert(3)</script>" in page.locator(".context").inner_text()
        assert name in page.locator(".names").inner_text()
        assert name in page.locator(".document h4").first.inner_text()
        assert page.locator("#app img, #app script, #app b").count() == 0


def test_a_file_is_dropped_on_the_page(browser: Any, serve: Serve) -> None:
    drop = """() => {
        const data = new DataTransfer();
        data.items.add(new File(["Drones leave in autumn."], "drones.md", { type: "text/markdown" }));
        for (const type of ["dragover", "drop"]) {
            document.body.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
        }
    }"""
    with open_at(browser, serve().address) as page:
        page.evaluate(drop)
        page.locator("summary", has_text="3 documents in the index").wait_for()
        ask(page, "When do drones leave?")
        assert "Drones leave in autumn." in page.locator(".context").inner_text()


def test_a_text_is_pasted_in_any_script(browser: Any, serve: Serve) -> None:
    with open_at(browser, serve().address) as page:
        page.locator("summary", has_text="in the index").click()
        for name, text in (("النحل", "يرتجف النحل في الشتاء."), ("蜜蜂", "冬天蜜蜂聚集取暖😀。")):
            page.get_by_label("Or paste a text").fill(name)
            page.get_by_label("Text to add").fill(text)
            page.get_by_role("button", name="Add the text").click()
            page.locator(".names", has_text=f"{name}.txt").wait_for()
        page.get_by_label("Effort", exact=True).select_option("full")
        direction = "getComputedStyle(document.querySelector('.reader .text')).direction"
        for question, shown, expected in (
            ("ماذا يفعل النحل في الشتاء؟", "يرتجف النحل في الشتاء.", "rtl"),
            ("冬天蜜蜂做什么？", "冬天蜜蜂聚集取暖😀。", "ltr"),
        ):
            ask(page, question)
            page.locator(".context", has_text=shown).wait_for()
            page.locator(".cited", has_text=shown).click()
            page.locator(".reader .text .lit", has_text=shown).wait_for()
            assert page.evaluate(direction) == expected


def test_a_very_long_document_is_uploaded_and_asked_for(browser: Any, serve: Serve) -> None:
    text = "".join(f"Hive {number} has {number} drones in it. " for number in range(20_000))
    with open_at(browser, serve().address) as page:
        upload(page, "long.txt", text)
        page.locator("summary", has_text="3 documents in the index").wait_for(timeout=120_000)
        ask(page, "How many drones has hive 777?")
        assert "Hive 777 has 777 drones" in page.locator(".context").inner_text()
        assert page.locator(".strip button").count() > 10
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_an_empty_index_asks_for_a_document(browser: Any, serve: Serve, tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "empty.db"):
        empty = serve(tmp_path / "empty.db")
    with open_page(browser) as (page, complaints):
        page.goto(empty.address)
        page.locator("details[open] summary", has_text="The index is empty: add a document").wait_for()
        ask(page)
        assert "Nothing is shown" in page.locator(".answer").inner_text()
        upload(page, "bees.md", BEES)
        page.locator(".context", has_text="They shiver to keep warm.").wait_for()
        assert complaints == []


# ---- indexes


def test_an_index_is_chosen_where_there_are_several(browser: Any, serve: Serve, tmp_path: Path) -> None:
    law = make_index(tmp_path / "law.db", Document("swarms.md", "A swarm of bees belongs to who follows it."))
    several = serve(RETRIVEX_INDEXES=json.dumps({"law_of_bees": str(law)}))
    with open_at(browser, several.address) as page:
        choice = page.get_by_label("Index", exact=True)
        assert choice.locator("option").all_inner_texts() == ["default", "law_of_bees"]
        ask(page, "Who owns a swarm of bees?")
        assert "belongs to who follows it" not in page.locator(".answer").inner_text()
        choice.select_option("law_of_bees")
        page.locator(".context", has_text="belongs to who follows it").wait_for()
        page.locator("summary", has_text="1 document in the index").click()
        upload(page, "wax.md", "Found wax belongs to the finder.")
        page.locator(".names", has_text="wax.md").wait_for()
        page.get_by_role("tab", name="JSON").click()
        assert '"index": "law_of_bees"' in _copied(page)
        assert find_barriers(page) == []
        choice.select_option("default")
        page.locator("summary", has_text="2 documents in the index").wait_for()


def _copied(page: Any) -> str:
    return str(page.get_by_role("tabpanel").locator("pre").inner_text())


def test_one_index_is_no_choice_and_a_read_only_one_takes_no_files(browser: Any, serve: Serve) -> None:
    with open_at(browser, serve(RETRIVEX_READ_ONLY="true").address) as page:
        assert page.get_by_label("Index", exact=True).count() == 0
        page.locator("summary", has_text="2 documents in the index").click()
        assert "wasps.txt" in page.locator(".names").inner_text()
        assert page.locator("#files, #paste").count() == 0


# ---- what goes wrong


def test_what_is_refused_is_said(browser: Any, serve: Serve) -> None:
    service = serve()
    with open_page(browser) as (page, _):
        page.goto(service.address)
        page.locator("summary", has_text="in the index").click()
        upload(page, "a.exe", "MZ")
        page.get_by_text("a.exe: 'a.exe' is of no type that is read").wait_for()
        service.kill()
        page.get_by_role("searchbox", name="Question").fill(QUESTION)
        page.keyboard.press("Enter")
        page.get_by_role("alert").get_by_text("The service does not answer").wait_for()


def test_a_pasted_text_that_is_refused_is_kept(browser: Any, serve: Serve) -> None:
    with open_page(browser) as (page, _):
        page.goto(serve().address)
        page.locator("summary", has_text="in the index").click()
        page.get_by_label("Or paste a text").fill("a:b")
        text = page.get_by_label("Text to add")
        text.fill("Hornets build paper nests.")
        page.get_by_role("button", name="Add the text").click()
        page.get_by_text("a:b.txt: the file's name is 'a:b.txt'").wait_for()
        assert text.input_value() == "Hornets build paper nests."
        page.get_by_label("Or paste a text").fill("ab")
        page.get_by_role("button", name="Add the text").click()
        page.locator(".names", has_text="ab.txt").wait_for()
        assert text.input_value() == ""


def test_a_key_of_several_scopes_says_which_one_a_document_gets(browser: Any, serve: Serve, tmp_path: Path) -> None:
    _, secret = Keys(tmp_path / "keys.db").create("page", ["acme", "wayne"])
    database = make_index(
        tmp_path / "plans.db",
        Document("acme:plan.md", "Acme plans a rocket.", scope="acme"),
        Document("wayne:plan.md", "Wayne plans a rocket.", scope="wayne"),
    )
    with open_page(browser) as (page, _):
        page.goto(serve(database).address)
        page.get_by_label("Key", exact=True).fill(secret)
        page.keyboard.press("Enter")
        page.locator("summary", has_text="2 documents in the index").click()
        scope = page.get_by_label("Scope of new documents")
        assert scope.count() == 0
        page.get_by_label("Text to add").fill("Hornets build paper nests.")
        page.get_by_role("button", name="Add the text").click()
        page.get_by_text("pasted.txt: this key carries 2 scopes").wait_for()
        page.wait_for_function("document.activeElement.id === 'scope'")  # from here on by the keyboard alone
        assert find_barriers(page) == []
        page.keyboard.type("other")
        page.keyboard.press("Enter")
        page.get_by_text("scope 'other' is none of this key").wait_for()
        assert page.get_by_label("Text to add").input_value() == "Hornets build paper nests."
        page.wait_for_function("document.activeElement.id === 'scope'")
        scope.fill("wayne")
        page.keyboard.press("Enter")
        page.locator(".names", has_text="wayne:pasted.txt").wait_for()
        assert page.get_by_label("Text to add").input_value() == ""
        upload(page, "more.md", "Hornets hunt bees.")  # the next ones get it without being asked
        page.locator(".names", has_text="wayne:more.md").wait_for()


def test_a_wrong_key_is_asked_for_again_and_kept_for_the_tab_alone(browser: Any, serve: Serve, tmp_path: Path) -> None:
    _, secret = Keys(tmp_path / "keys.db").create("page")
    with open_page(browser) as (page, _):
        page.goto(serve().address)
        dialog = page.get_by_role("dialog", name="This service asks for a key")
        dialog.wait_for()
        assert page.evaluate("document.activeElement.id") == "key"
        page.keyboard.type("wrong")
        page.keyboard.press("Enter")
        dialog.get_by_role("alert").wait_for()
        assert find_barriers(page) == []
        dialog.get_by_label("Key").fill(secret)
        page.keyboard.press("Enter")
        page.locator("summary", has_text="2 documents in the index").wait_for()
        assert dialog.count() == 0
        ask(page)
        assert page.evaluate("[localStorage.length, document.cookie, sessionStorage.length]") == [0, "", 1]
        assert secret not in page.content()
        page.get_by_role("tab", name="curl").click()
        assert "Authorization: Bearer $RETRIVEX_KEY" in _copied(page)


# ---- for everybody


def test_everything_is_reached_by_keyboard(opened: Any) -> None:
    ask(opened)
    opened.evaluate("document.activeElement.blur()")
    reached = set()
    for _ in range(80):
        opened.keyboard.press("Tab")
        reached.add(opened.evaluate(f"({NAME_OF_ELEMENT})(document.activeElement)"))
    assert {"question", "budget-", "window-", "effort-", "order-", "scoring-", "cite", "cell", "tab-python"} <= reached


@pytest.mark.parametrize("width", [390, 1280, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_shut_out(browser: Any, address: str, scheme: str, width: int) -> None:
    with open_at(browser, address, color_scheme=scheme, viewport={"width": width, "height": 900}) as page:
        page.locator("summary", has_text="in the index").click()
        assert find_barriers(page) == []
        ask(page)
        compare_full_with_little(page)
        page.locator(".cell.differs").first.wait_for()
        for summary in page.locator(".answers summary, .below summary").all():
            summary.click()
        assert find_barriers(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_all_documents_can_be_listed_page_after_page(browser: Any, serve: Serve, tmp_path: Path) -> None:
    documents = (Document(f"note-{number:03}.md", f"Note {number} on bees.") for number in range(250))
    service = serve(make_index(tmp_path / "many.db", *documents))
    with open_at(browser, service.address) as page:
        summary, more = page.locator("summary", has_text="in the index"), page.get_by_text("Show more documents")
        assert summary.inner_text() == "100 documents or more in the index"
        summary.click()
        for shown in (200, 250):
            more.click()
            page.locator(f".names li:nth-child({shown})").wait_for()
        assert page.locator(".names li").last.inner_text() == "note-249.md"
        assert summary.inner_text() == "250 documents in the index"
        assert more.count() == 0
