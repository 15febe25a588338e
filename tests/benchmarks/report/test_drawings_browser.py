"""The pictures of the documentation in a real browser: text stays inside, and can be read in light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.browser import open_browser, open_page
from support.examples import ROOT

pytestmark = pytest.mark.integration

FOLDER = ROOT / "docs" / "figures" / "drawn"
NAMES = sorted(path.name for path in FOLDER.glob("*.svg"))

OUTSIDE = """() => {
    const picture = document.querySelector("svg"), whole = picture.viewBox.baseVal;
    return [...picture.querySelectorAll("text")].filter(text => {
        const box = text.getBBox();
        return text.textContent.trim() && !text.closest("g") && (box.x < 4 || box.x + box.width > whole.width - 4
            || box.y < 0 || box.y + box.height > whole.height);
    }).map(text => text.textContent);
}"""
OVERLAPPING = """() => {
    const boxes = [...document.querySelectorAll("svg > text")].map(text => [text.textContent, text.getBBox()]);
    const apart = (a, b) => a.x + a.width <= b.x || b.x + b.width <= a.x
        || a.y + a.height - 3 <= b.y || b.y + b.height - 3 <= a.y;
    return boxes.flatMap(([a, one], at) => boxes.slice(at + 1)
        .filter(([, other]) => !apart(one, other)).map(([b]) => `${a} / ${b}`));
}"""
CONTRAST = """() => {
    const channel = value => value <= 10.3 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4;
    const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const colour = element => getComputedStyle(element).fill.match(/[\\d.]+/g).map(Number);
    const paper = light(colour(document.querySelector(".paper")));
    return Math.min(...[...document.querySelectorAll("text")].map(text => {
        const ink = light(colour(text));
        return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    }));
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as started:
        yield started


@pytest.mark.parametrize("name", NAMES)
def test_words_stay_inside_and_apart(browser: Any, name: str) -> None:
    with open_page(browser) as (page, complaints):
        page.goto((FOLDER / name).as_uri())
        assert page.evaluate(OUTSIDE) == []
        assert page.evaluate(OVERLAPPING) == []
        assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "explain.svg"])
def test_words_have_contrast_with_their_paper(browser: Any, name: str, scheme: str) -> None:
    with open_page(browser, color_scheme=scheme) as (page, _):
        page.goto((FOLDER / name).as_uri())
        assert page.evaluate(CONTRAST) >= 4.5


@pytest.mark.parametrize("width", [390, 1280])
def test_pictures_fit_a_page(browser: Any, tmp_path: Path, width: int) -> None:
    shown = "".join(f'<img src="{(FOLDER / name).as_uri()}" style="max-width:100%;height:auto">' for name in NAMES)
    (tmp_path / "page.html").write_text(f'<body style="margin:16px">{shown}', encoding="utf-8")
    with open_page(browser, viewport={"width": width, "height": 800}) as (page, complaints):
        page.goto((tmp_path / "page.html").as_uri())
        widths = page.evaluate("[...document.images].map(image => image.naturalWidth && image.width)")
        assert widths == [min(600, width - 32)] * len(NAMES)
        assert complaints == []
