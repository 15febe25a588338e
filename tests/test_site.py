"""The documentation site: what `zensical.toml` says of it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from support.examples import PAGES, ROOT

PROJECT = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]


def _pages(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from _pages(part)


def test_the_navigation_lists_every_page_once() -> None:
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in PAGES]
    assert sorted(_pages(PROJECT["nav"])) == sorted(pages)
