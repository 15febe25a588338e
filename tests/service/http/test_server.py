from __future__ import annotations

import socket
from pathlib import Path

import pytest

from retrivex.errors import ConfigError

pytestmark = pytest.mark.integration


def test_answers_are_not_held_back_for_a_full_packet(tmp_path: Path) -> None:
    from retrivex.service.server import bind  # noqa: PLC0415 - the extra serve alone has it
    from retrivex.service.settings import Settings  # noqa: PLC0415

    with bind(Settings(port=0, keys=tmp_path / "keys.db")) as door:
        assert door.proto == socket.IPPROTO_TCP  # by which asyncio knows a connection that may go without delay


def test_a_port_that_is_taken_is_one_clear_error(tmp_path: Path) -> None:
    from retrivex.service.server import bind  # noqa: PLC0415
    from retrivex.service.settings import Settings  # noqa: PLC0415

    with bind(Settings(port=0, keys=tmp_path / "keys.db")) as door:
        taken = Settings(port=door.getsockname()[1], keys=tmp_path / "keys.db")
        with pytest.raises(ConfigError, match="choose another port"), bind(taken):
            pass


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ({"store": "faiss"}, ["collections.manuals.store", "'qdrant'"]),
        ({"colour": "red"}, ["collections.manuals.colour"]),
        ({"embed": ""}, ["collections.manuals.embed"]),
    ],
)
def test_a_wrong_collection_is_named_and_its_password_is_not(place: dict[str, str], words: list[str]) -> None:
    from retrivex.service.settings import read_settings  # noqa: PLC0415

    right = {"store": "pgvector", "address": "postgresql://ada:s3cret@db/rag", "collection": "docs", "embed": "hashing"}
    with pytest.raises(ConfigError) as raised:
        read_settings(collections={"manuals": {**right, **place}})
    assert all(word in str(raised.value) for word in words)
    assert "s3cret" not in str(raised.value)
    assert "s3cret" not in repr(read_settings(collections={"manuals": right}))


def test_what_is_no_setting_or_no_json_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from retrivex.service.settings import read_settings  # noqa: PLC0415

    (tmp_path / "service.toml").write_text("max_hit = 5", encoding="utf-8")
    monkeypatch.setenv("RETRIVEX_SETTINGS", str(tmp_path / "service.toml"))
    with pytest.raises(ConfigError, match="max_hit"):
        read_settings()
    monkeypatch.delenv("RETRIVEX_SETTINGS")
    monkeypatch.setenv("RETRIVEX_COLLECTIONS", "postgres://u:secret@h")
    with pytest.raises(ConfigError, match="collections") as raised:
        read_settings()
    assert "secret" not in str(raised.value)
    monkeypatch.delenv("RETRIVEX_COLLECTIONS")
    monkeypatch.setenv("RETRIVEX_CORS", '["https://app.example"]')
    assert read_settings().cors == ["https://app.example"]


def test_every_store_of_the_adapters_may_be_named() -> None:
    from typing import get_args  # noqa: PLC0415

    from retrivex.adapters import STORES  # noqa: PLC0415
    from retrivex.service.settings import Store  # noqa: PLC0415

    assert {row.name for row in STORES} == set(get_args(Store))
