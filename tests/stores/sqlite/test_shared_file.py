"""A small file behind one connection: whole transactions, one thread at a time, errors in words."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from retrivex.errors import StoreError
from retrivex.stores.sqlite.shared_file import SharedFile

SCHEMA = "CREATE TABLE IF NOT EXISTS item (name TEXT PRIMARY KEY, count INTEGER NOT NULL)"


def opened(path: Path) -> SharedFile:
    return SharedFile(path, SCHEMA, busy_timeout_s=5.0)


def rows(file: SharedFile) -> list[tuple[str, int]]:
    with file.transaction() as connection:
        return connection.execute("SELECT name, count FROM item ORDER BY name").fetchall()


def add(file: SharedFile, *names: str) -> None:
    with file.transaction(write=True) as connection:
        for name in names:
            if name == "stop":
                raise KeyboardInterrupt
            connection.execute("INSERT INTO item VALUES (?, 1)", (name,))


def test_what_fails_half_way_leaves_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "f.db") as file:
        add(file, "a")
        with pytest.raises(StoreError, match="UNIQUE"):
            add(file, "b", "a")
        with pytest.raises(KeyboardInterrupt):
            add(file, "c", "stop")
        assert rows(file) == [("a", 1)]


def test_threads_and_other_connections_take_turns(tmp_path: Path) -> None:
    with opened(tmp_path / "f.db") as one, opened(tmp_path / "f.db") as two:
        with one.transaction(write=True) as connection:
            connection.execute("INSERT INTO item VALUES ('a', 0)")

        def count(n: int) -> None:
            with (one if n % 2 else two).transaction(write=True) as connection:
                (known,) = connection.execute("SELECT count FROM item").fetchone()
                connection.execute("UPDATE item SET count = ?", (known + 1,))

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(count, range(64)))
        assert rows(one) == rows(two) == [("a", 64)]


def test_a_file_of_another_kind_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_text("no database at all, and long enough to be sure of it" * 20)
    with pytest.raises(StoreError, match=r"f\.txt: it is not an SQLite database"):
        opened(path)
    path.unlink()  # nothing holds it
