from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from support.service_world import make_index

Make = Callable[..., Any]


@pytest.fixture
def make_client(tmp_path: Path) -> Iterator[Make]:
    """Return a function that makes a client of an application over a small index, whatever the environment says."""
    from starlette.testclient import TestClient  # noqa: PLC0415 - the extra serve alone has it

    from retrivex.service.app import create_app  # noqa: PLC0415
    from retrivex.service.settings import Settings  # noqa: PLC0415

    path = make_index(tmp_path / "index.db")
    with ExitStack() as stack:

        def make(**settings: Any) -> Any:
            given = {"db": path, "keys": tmp_path / "keys.db", "config": _estimate(tmp_path), **settings}
            client = TestClient(create_app(Settings(**given)), base_url="http://localhost")
            return stack.enter_context(client)

        yield make


def _estimate(folder: Path) -> Path:
    path = folder / "options.toml"
    path.write_text('tokenizer = "estimate"\n', encoding="utf-8")
    return path


@pytest.fixture
def client(make_client: Make) -> Any:
    return make_client()
