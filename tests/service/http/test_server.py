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
        ({"store": "faiss"}, ["collections.manuals.store", "must be one of qdrant"]),
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


def test_an_index_has_one_name(tmp_path: Path) -> None:
    from retrivex.service.app import create_app  # noqa: PLC0415
    from retrivex.service.settings import Settings  # noqa: PLC0415

    place = {"store": "chroma", "address": "chroma", "collection": "docs", "embed": "hashing"}
    given = Settings(db=tmp_path / "a.db", indexes={"docs": tmp_path / "b.db"}, collections={"docs": place})
    with pytest.raises(ConfigError, match="'docs' is in indexes and in collections"):
        create_app(given)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("max_hit = 5", ("max_hit ", "did you mean max_hits?")),
        ("purple = 5", ("purple ", "docs/service.md")),
        ('[collections.manuals]\nstor = "qdrant"', ("collections.manuals.stor ", "did you mean store?")),
    ],
)
def test_a_misspelt_setting_in_the_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: tuple[str, ...]
) -> None:
    from retrivex.service.settings import read_settings  # noqa: PLC0415

    (tmp_path / "service.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("RETRIVEX_SETTINGS", str(tmp_path / "service.toml"))
    with pytest.raises(ConfigError) as raised:
        read_settings()
    assert [word for word in words if word not in str(raised.value)] == []


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        (
            "CORS",
            "https://app.example",
            ("RETRIVEX_CORS is 'https://app.example': it must be JSON", '["one", "another"]'),
        ),
        ("HOSTS", "", ("RETRIVEX_HOSTS is ''", '["one", "another"]')),
        ("RERANK_ENCODERS", "[hashing", ("RETRIVEX_RERANK_ENCODERS is '[hashing'", "leave it out")),
        ("INDEXES", "law=law.db", ("RETRIVEX_INDEXES is 'law=law.db'", '{"name": "value"}')),
        ("COLLECTIONS", "postgres://u:secret@h", ("RETRIVEX_COLLECTIONS is wrong: it must be JSON",)),
    ],
)
def test_a_list_or_table_that_is_no_json_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: tuple[str, ...]
) -> None:
    from retrivex.service.settings import read_settings  # noqa: PLC0415

    monkeypatch.setenv(f"RETRIVEX_{name}", value)
    with pytest.raises(ConfigError) as raised:
        read_settings()
    assert [word for word in words if word not in str(raised.value)] == []
    assert "secret" not in str(raised.value)
    monkeypatch.setenv("RETRIVEX_CORS", '["https://app.example"]')
    if name == "CORS":
        assert read_settings().cors == ["https://app.example"]


def test_a_misspelt_variable_is_refused_and_those_of_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    from retrivex.service.settings import find_unread, read_settings  # noqa: PLC0415

    monkeypatch.setenv("RETRIVEX_MAX_HIT", "5")
    with pytest.raises(ConfigError, match="RETRIVEX_MAX_HIT is no setting: did you mean RETRIVEX_MAX_HITS"):
        read_settings()
    monkeypatch.delenv("RETRIVEX_MAX_HIT")
    before = find_unread()
    known = ("KEY", "API_KEY", "RERANK_KEY", "CACHE", "DATA", "MODEL_URL")
    unknown = ("SERVICE_HOST", "PORT_8080_TCP_ADDR", "QDRANT_URL", "NODE_FOLDER", "ENVIRONMENTS")
    for name in (*known, *unknown):
        monkeypatch.setenv(f"RETRIVEX_{name}", "x")
    monkeypatch.setenv("MAX_HIT", "5")
    monkeypatch.setenv("retrivex_max_hits", "7")
    assert read_settings().max_hits == 7
    assert set(find_unread()) - set(before) == set(unknown) - set(before)
