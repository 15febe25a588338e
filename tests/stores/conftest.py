"""An empty embedded store, as several modules of tests want it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from retrivex.stores import SQLiteStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(tmp_path / "store.db") as opened:
        yield opened
