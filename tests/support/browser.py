"""The system's Chromium, driven by playwright: pages that must not complain, and what axe-core says of them."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

AXE = Path(sys.prefix) / "node_modules" / "axe-core" / "axe.min.js"
NAMES = ("chromium", "chromium-browser", "google-chrome")

COUNT_INK = """name => {
    const probe = document.body.appendChild(document.createElement("i"));
    probe.style.color = `var(${name})`;
    const [red, green, blue] = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
    probe.remove();
    const drawn = document.querySelector(".plot canvas");
    const [width, height] = [drawn.width, drawn.height];
    const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(drawn, 0, 0);
    const { data } = copy.getImageData(0, 0, width, height);
    let found = 0;
    for (let at = 0; at < data.length; at += 4) {
        if (data[at] === red && data[at + 1] === green && data[at + 2] === blue && data[at + 3] === 255) found += 1;
    }
    return found;
}"""
"""How many points of the plot have the colour that a variable of the page holds."""


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start the browser; without it the test is skipped."""
    playwright = pytest.importorskip("playwright.sync_api", reason="make integration-browser installs it")
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("make integration-browser installs Chromium")
    with playwright.sync_playwright() as started:
        # inside containers there is neither a sandbox nor much shared memory
        options = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = started.chromium.launch(executable_path=program, args=options)
        yield browser
        browser.close()


@contextmanager
def open_page(browser: Browser, **options: Any) -> Iterator[tuple[Page, list[str]]]:
    """Open a page of its own; what it complained of, and every address that it asked for elsewhere, is in the list."""
    context = browser.new_context(**options)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    local = ("http://127.0.0.1:", "file://", "data:")
    page.on("request", lambda sent: None if sent.url.startswith(local) else complaints.append(sent.url))
    try:
        yield page, complaints
    finally:
        context.close()


def find_barriers(page: Page) -> list[str]:
    """Return what axe-core finds that is serious or critical: rule, and the elements that break it."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    found = page.evaluate(f"axe.run(document, {{runOnly: {json.dumps(tags)}}})")
    return [
        f"{problem['id']}: {[node['html'][:200] for node in problem['nodes'][:3]]}"
        for problem in found["violations"]
        if problem["impact"] in ("serious", "critical")
    ]
