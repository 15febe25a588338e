"""The built site in a real browser: it fits a phone, and search finds pages without a server and with one."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from support.browser import open_browser, open_page
from support.examples import ROOT

SITE = ROOT / "build" / "site"
PAGES = ("index", "start/langchain", "howto/vector_stores", "reference/configuration", "reference/api/stores", "faq")

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="make docs builds the site"),
]


class _Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as started:
        yield started


@pytest.fixture(params=["file", "http"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "file":
        yield SITE.as_uri()
        return
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Silent, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_pages_fit_a_phone(browser: Any) -> None:
    with open_page(browser, viewport={"width": 390, "height": 844}) as (page, complaints):
        for name in PAGES:
            page.goto((SITE / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
        assert complaints == []


def test_search_leads_to_a_page(browser: Any, address: str) -> None:
    with open_page(browser, viewport={"width": 1280, "height": 800}) as (page, complaints):
        page.goto(f"{address}/howto/chroma.html")
        page.click(".md-search__button")
        page.keyboard.type("duplicates and diversity")
        page.locator("a[href*='dedup.html?h=']").first.click()
        page.wait_for_url("**/howto/dedup.html*")
        assert page.title().startswith("Duplicates and diversity")
        assert complaints == []
