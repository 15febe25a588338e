"""The approximate index of vectors: in step with the vectors, exact in its scores, and never short of hits."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.properties import try_examples

from retrivex.errors import StoreError
from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.document import Document
from retrivex.stores import SQLiteStore
from retrivex.stores.sqlite import list_building, list_file, list_search, vector_file, vector_runs
from retrivex.stores.sqlite.list_file import list_files

DIMENSION = 8


def vectors_of(seed: int, count: int) -> Any:
    """Vectors in twelve clusters."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((12, DIMENSION))
    rows = centres[rng.integers(0, 12, count)] + 0.3 * rng.standard_normal((count, DIMENSION))
    return rows.astype(np.float32)


def put(store: SQLiteStore, doc_id: str, count: int = 10, seed: int = 0, scope: str | None = None) -> None:
    chunks = [Chunk(f"{doc_id} {i}", ChunkMetadata(doc_id, i, scope=scope, page=i)) for i in range(count)]
    store.put(Document(doc_id, "", scope=scope), chunks, embeddings=vectors_of(seed, count), encoder="m")


def fill(store: SQLiteStore, documents: int = 40, count: int = 10) -> None:
    with store.batch():
        for number in range(documents):
            put(store, f"d{number}", count, number, scope="acme" if number % 10 == 0 else None)


def found(store: SQLiteStore, seed: int = 7, **options: Any) -> list[tuple[Any, float]]:
    hits = store.search_vector(vectors_of(seed, 1)[0], **{"k": 10, "scope": {None, "acme"}, **options})
    return [(hit.key, hit.similarity_score) for hit in hits]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def few_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read as small a share of the lists as of many: all of those of a small store would be read otherwise."""
    monkeypatch.setattr(list_search, "_LEAST_LISTS", 1)
    monkeypatch.setattr(list_search, "_QUIET_LISTS", 1)


def test_few_vectors_are_searched_exactly_and_need_no_index(path: Path) -> None:
    with SQLiteStore(path) as store:
        fill(store, 3)
        assert not store.index_vectors()
        assert store.info().approximate is None
        assert list_files(path) == []


@pytest.mark.usefixtures("few_lists")
def test_it_finds_nearly_all_of_the_nearest_with_their_exact_scores(path: Path) -> None:
    with SQLiteStore(path) as store:
        fill(store, 200)
        assert store.index_vectors(2000)
        made = store.info().approximate
        assert made is not None
        assert (made.vectors, made.lists, made.later) == (2000, 44, 0)
        assert 0.9 < made.recall <= 1.0
        shares = []
        for seed in range(100, 140):
            between = vectors_of(seed, 2).sum(axis=0)  # two clusters
            near, exact = (
                [
                    (hit.key, hit.similarity_score)
                    for hit in store.search_vector(between, 50, {None, "acme"}, exact=said)
                ]
                for said in (False, True)
            )
            shares.append(len({*exact} & {*near}) / 50)
            assert len(near) == 50
            assert near == sorted(near, key=lambda hit: (-hit[1], hit[0]))
        assert 0.7 < np.mean(shares) < 1  # not all lists were read
        assert store.check() == []


def test_another_store_finds_it_and_it_is_made_once(path: Path) -> None:
    with SQLiteStore(path) as store:
        fill(store)
        assert [store.index_vectors(100), store.index_vectors(100), store.index_vectors(1000)] == [True, False, False]
        before = found(store)
    with SQLiteStore(path, read_only=True) as store:
        assert found(store) == before == found(store, exact=True)
        assert store.info().approximate is not None


def test_changes_need_no_new_index(path: Path) -> None:
    with SQLiteStore(path) as store, SQLiteStore(path, read_only=True) as reader:
        fill(store)
        store.index_vectors(100)
        files = list_files(path)
        put(store, "new", 1, seed=7)  # the question itself
        store.delete("d3")
        put(store, "d4", 4, seed=500)
        assert list_files(path) == files
        assert found(store)[0] == (("new", 0), 1.0)
        nearest = next(key[0] for key, _ in found(store) if key[0] != "new")
        store.delete(nearest)
        assert nearest not in {key[0] for key, _ in found(store)}
        for where in (None, {"page": {"max": 4}}, {"page": 3}, {"doc_id": "d4"}, {"doc_id": "d3"}):
            assert found(store, where=where) == found(reader, where=where) == found(store, where=where, exact=True)
        info = store.info().approximate
        assert info is not None
        assert (info.vectors, info.later) == (400, 5)
        assert store.check() == []


def test_later_vectors_go_into_the_lists_once_they_are_many(path: Path) -> None:
    with SQLiteStore(path) as store:
        fill(store)
        store.index_vectors(100)
        put(store, "few", 15, seed=1)
        assert not store.index_vectors(100)
        put(store, "more", 15, seed=2)
        assert store.index_vectors(100)
        info = store.info().approximate
        assert info is not None
        assert (info.vectors, info.lists, info.later) == (430, 20, 0)
        fill(store, 90)  # the vectors double: other centroids
        store.index_vectors(100)
        info = store.info().approximate
        assert info is not None
        assert info.lists > 20
        assert len(list_files(path)) == 1
        assert store.check() == []


def test_it_moves_with_the_vectors_when_their_file_is_compacted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_runs, "MIN_GAPS", 4)
    with SQLiteStore(path) as store, SQLiteStore(path, read_only=True) as reader:
        fill(store)
        store.index_vectors(100)
        put(store, "later", 5, seed=3)
        assert found(reader) == found(reader, exact=True)
        for number in range(0, 40, 2):
            store.delete(f"d{number}")
        assert [file.name for file in vector_runs_files(path)] != ["store.db-vectors-1"]
        assert len(list_files(path)) == 1
        info = store.info().approximate
        assert info is not None
        assert info.lists == 20
        assert 0 < info.later <= 5
        assert store.check() == []
        for opened in (store, reader):
            assert found(opened) == found(opened, exact=True)
        for number in range(1, 40, 2):
            store.delete(f"d{number}")
        store.delete("later")
        assert found(store) == []
        assert store.check() == []


def vector_runs_files(path: Path) -> list[Path]:
    return [file for file in path.parent.iterdir() if "-vectors-" in file.name]


def test_it_goes_with_the_vectors_and_on_demand(path: Path) -> None:
    with SQLiteStore(path) as store:
        fill(store)
        store.index_vectors(100)
        store.index_vectors(0)
        assert (list_files(path), store.info().approximate) == ([], None)
        store.index_vectors(100)
        assert [file.name for file in list_files(path)] == ["store.db-lists-2"]
        store.drop_vectors()
        assert list_files(path) == []
        fill(store)
        assert store.info().approximate is None
        assert found(store) == found(store, exact=True)


@pytest.mark.parametrize("removed", [False, True])
def test_a_part_that_is_being_written_stays_and_is_written_again_where_it_was_removed(
    path: Path, removed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure, parts = list_building._measure, []

    def measure_late(*args: Any) -> float:
        parts.append(list_file.list_parts(path))
        with SQLiteStore(path) as other:
            put(other, "late", len(parts), seed=900)  # tidies up
        assert list_file.list_parts(path) == parts[-1]
        if removed:
            parts[-1][0].unlink()
        return measure(*args)

    with SQLiteStore(path) as store:
        fill(store)
        monkeypatch.setattr(list_building, "_measure", lambda *args: measure(*args) if parts else measure_late(*args))
        assert store.index_vectors(100)
        assert [len(some) for some in parts] == [1]
        assert store.check() == []
        assert found(store) == found(store, exact=True)
        assert list_file.list_parts(path) == []


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("moment", ["before its lock", "after its lock", "before it is mapped"])
def test_a_part_that_another_process_takes_for_a_killed_ones_is_no_error(
    path: Path, moment: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, memmap, removed = list_file._try_lock, np.memmap, []

    def remove() -> None:
        if len(removed) == times:
            return
        [part] = list_file.list_parts(path)
        removed.append(part)
        if moment == "before its lock":
            with SQLiteStore(path) as other:
                put(other, "late", len(removed), seed=900)  # tidies up
        else:
            part.unlink()
        assert list_file.list_parts(path) == []

    def lock_late(file: Any) -> bool:
        is_part = file.writable() and "-lists-part-" in str(file.name)
        if is_part and moment == "before its lock":
            remove()
        locked = lock(file)
        if is_part and moment == "after its lock":
            remove()
        return locked

    def map_late(file: Any, kind: Any, mode: str, *more: Any) -> Any:
        if mode == "r+" and moment == "before it is mapped":
            remove()
        return memmap(file, kind, mode, *more)

    with SQLiteStore(path) as store:
        fill(store)
        with monkeypatch.context() as patch:
            patch.setattr(list_file, "_try_lock", lock_late)
            patch.setattr(np, "memmap", map_late)
            assert store.index_vectors(100)
        assert len(set(removed)) == times
        assert store.info().approximate is not None
        assert store.check() == []
        assert found(store) == found(store, exact=True)
        assert list_file.list_parts(path) == []


@pytest.mark.parametrize("from_vectors", [0, 100])
def test_a_store_that_is_read_only_writes_no_part_and_says_so_at_once(path: Path, from_vectors: int) -> None:
    with SQLiteStore(path) as store:
        fill(store)
    with SQLiteStore(path, read_only=True) as store, pytest.MonkeyPatch.context() as patch:
        found(store)  # the log's files lie there from now on
        before = sorted(os.listdir(path.parent))
        patch.setattr(list_file.ListPart, "write", lambda *_: pytest.fail("a part was written"))
        with pytest.raises(StoreError, match="is closed or was opened read-only: open it with read_only=False"):
            store.index_vectors(from_vectors)
        assert sorted(os.listdir(path.parent)) == before


@pytest.mark.parametrize("writer", [vector_file.VectorWriter, list_file.ListWriter])
@pytest.mark.parametrize("is_dropped", [False, True])
def test_files_that_another_process_begins_right_after_a_commit_stay(
    path: Path, writer: Any, is_dropped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_runs, "MIN_GAPS", 4)
    committed, done = writer.committed, []

    def commit_late(self: Any) -> None:
        if self._replaced and not done:  # between the commit and the removal of what it has replaced
            done.append(True)
            with SQLiteStore(path) as other:
                fill(other, 60)
                for number in range(0, 60, 2):
                    other.delete(f"d{number}")  # vectors are compacted
                other.index_vectors(100)
        committed(self)

    with SQLiteStore(path) as store:
        fill(store)
        store.index_vectors(100)
        monkeypatch.setattr(writer, "committed", commit_late)
        if is_dropped:
            store.drop_vectors()
        else:
            for number in range(1, 40, 2):
                store.delete(f"d{number}")
        assert done
        assert store.check() == []
        assert found(store) == found(store, exact=True)


def refill(store: SQLiteStore) -> None:
    store.drop_vectors()
    fill(store)


@pytest.mark.parametrize(
    ("meanwhile", "written", "count"),
    [
        (lambda other: put(other, "late", 5, seed=900), True, 405),
        (lambda other: other.delete("d3"), True, 400),  # deleted ones are left out when they are found
        (lambda other: [other.delete(f"d{number}") for number in range(0, 40, 2)], True, 200),  # vectors are compacted
        (lambda other: put(other, "d3", 3, seed=900), True, 403),
        (refill, True, 400),
        (lambda other: other.index_vectors(100), False, 400),
        (lambda other: other.drop_vectors(), False, None),
    ],
)
@pytest.mark.parametrize("is_listed", [False, True])
def test_others_write_while_it_is_planned_and_it_is_in_step_with_that(
    path: Path, meanwhile: Any, written: bool, count: int | None, is_listed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_runs, "MIN_GAPS", 100)
    assign, done = list_building._assign, []

    with SQLiteStore(path) as store, SQLiteStore(path, busy_timeout_s=0.01) as other:
        fill(store, 40 if not is_listed else 20)
        if is_listed:
            store.index_vectors(100)
            fill(store)

        def assign_late(*args: Any) -> Any:
            if not done:
                done.append(True)
                meanwhile(other)
            return assign(*args)

        monkeypatch.setattr(list_building, "_assign", assign_late)
        assert store.index_vectors(100) is written
        assert done
        assert store.check() == []
        info = store.info().approximate
        assert (None if info is None else info.vectors + info.later) == count
        if count is not None:
            assert found(store) == found(store, exact=True) == found(other)
            assert len(list_files(path)) == 1


@pytest.mark.parametrize("number", [-1, 1.5, True, "many"])
def test_a_number_of_vectors_that_is_none_is_refused(path: Path, number: Any) -> None:
    with SQLiteStore(path) as store, pytest.raises(StoreError, match="give the number of vectors from which on"):
        store.index_vectors(number)


# -- filters and scopes


@pytest.mark.usefixtures("few_lists")
@pytest.mark.parametrize(
    "where",
    [None, {"page": 3}, {"page": {"min": 5}}, {"doc_id": "d1"}, {"doc_id": ["d1", "d7", "d9"]}, {"page": 99}],
)
@pytest.mark.parametrize("scope", [None, "acme", {None, "acme"}, "nobody"])
@pytest.mark.parametrize("k", [1, 10, 60])
def test_a_filter_never_costs_hits_that_exist(path: Path, where: Any, scope: Any, k: int) -> None:
    with SQLiteStore(path) as store:
        fill(store, 60)
        store.index_vectors(100)
        near, exact = (found(store, where=where, scope=scope, k=k, exact=said) for said in (False, True))
        assert len(near) == len(exact)
        everything = dict(found(store, where=where, scope=scope, k=1001))
        assert all(everything[key] == score for key, score in near)


operations = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 9), st.integers(1, 12)),
        st.tuples(st.just("delete"), st.integers(0, 9), st.just(0)),
        st.tuples(st.just("index"), st.just(0), st.integers(1, 30)),
        st.tuples(st.just("drop"), st.just(0), st.just(0)),
    ),
    max_size=25,
)


@given(operations, st.integers(1, 20), st.booleans(), st.sampled_from([None, {"page": {"max": 3}}]))
@try_examples(400, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_whatever_happens_it_is_in_step_with_the_vectors(
    tmp_path: Path, steps: list[tuple[str, int, int]], k: int, in_a_batch: bool, where: Any
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_runs, "MIN_GAPS", 4)
        folder = Path(os.path.realpath(tmp_path)) / str(len(os.listdir(tmp_path)))
        folder.mkdir()
        with SQLiteStore(folder / "store.db") as store:
            for at, (what, number, count) in enumerate(steps):
                if what == "put":
                    put(store, f"d{number}", count, seed=at)
                elif what == "delete":
                    store.delete(f"d{number}")
                elif what == "drop":
                    store.drop_vectors()
                elif in_a_batch:
                    with store.batch():
                        put(store, "batch", count, seed=at)
                        store.index_vectors(count)
                else:
                    store.index_vectors(count)
                assert store.check() == []
                if store.vector_model is not None:
                    # so few lists are all read
                    assert found(store, k=k, where=where) == found(store, k=k, where=where, exact=True)
            assert len(list_files(folder / "store.db")) <= 1


def test_a_vector_has_one_score_in_whatever_company_it_is_compared(path: Path) -> None:
    with SQLiteStore(path) as store:
        put(store, "d0", 9, seed=10)  # the cosine of the nearest is next to where rounding turns
        store.index_vectors(1)
        assert {found(store, k=k, exact=exact)[0] for k in (1, 2, 9, 20) for exact in (False, True)} == {
            (("d0", 1), np.float32(0.982281).item())
        }


def test_a_later_vector_does_not_take_the_place_of_a_nearer_one_under_a_restriction(path: Path) -> None:
    where = {"page": {"max": 3}}
    with SQLiteStore(path) as store:
        with store.batch():
            put(store, "batch", 19, seed=4)
            store.index_vectors(19)
        put(store, "later", 1, seed=5)
        for k in range(1, 6):
            assert found(store, k=k, where=where) == found(store, k=k, where=where, exact=True)


# -- damage


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def scribble(path: Path) -> None:
    path.write_bytes(b"dear diary, " * 100)


def exchange(path: Path) -> None:
    other = path.with_name("other.db")
    with SQLiteStore(other) as store:
        fill(store)
        store.index_vectors(100)
    shutil.move(list_files(other)[0], path)


def set_values(path: Path, kind: str, start: int, value: float) -> None:
    data = np.memmap(path, kind, "r+", 64)
    data[start] = value
    data.flush()


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (Path.unlink, "store.db-lists-1 is missing, the approximate index of the vectors: it is made anew by `retri"),
        (cut, r"lists-1 is damaged, or of another database: .*index_vectors\(0\) goes without it"),
        (empty, "lists-1 is damaged, or of another database"),
        (scribble, "lists-1 is damaged, or of another database"),
        (exchange, "lists-1 is damaged, or of another database"),
        (lambda path: set_values(path, "<i8", 0, 5), "lists-1 is damaged: "),
        (lambda path: set_values(path, "<i8", 10, -5), "lists-1 is damaged: "),
        (lambda path: set_values(path, "<f4", 2 * (21 + 400), np.nan), "lists-1 is damaged: "),
    ],
)
def test_a_damaged_file_is_one_clear_error_and_is_made_anew(
    path: Path, damage: Callable[[Path], None], complaint: str
) -> None:
    with SQLiteStore(path) as store:
        fill(store)
        store.index_vectors(100)
        expected = found(store, exact=True)
    damage(list_files(path)[0])
    with SQLiteStore(path) as store:
        with pytest.raises(StoreError, match=complaint):
            found(store)
        assert found(store, exact=True) == expected
        assert any("lists-1" in problem for problem in store.check())
        put(store, "e", 1)
        assert store.index_vectors(100)
        assert store.check() == []
        assert found(store) == found(store, exact=True)


def test_a_file_of_a_newer_format_is_refused_by_name_and_is_not_made_anew(path: Path) -> None:
    with SQLiteStore(path) as store:
        fill(store)
        store.index_vectors(100)
        expected = found(store, exact=True)
    [lists] = list_files(path)
    lists.write_bytes(b"RVXIVF02" + lists.read_bytes()[8:])
    before = lists.read_bytes()
    with SQLiteStore(path) as store:
        put(store, "more", 100)
        for ask in (lambda: found(store), lambda: store.index_vectors(100)):
            with pytest.raises(
                StoreError, match=r"lists-1 was written by a newer RetriVex: upgrade .*vectors\(0\) goes"
            ):
                ask()
        assert lists.read_bytes() == before
        assert any("newer RetriVex" in problem for problem in store.check())
        assert found(store, exact=True)[0] == expected[0]
        store.index_vectors(0)
        assert found(store) == found(store, exact=True)


@pytest.mark.parametrize("value", [-1, -(2**62), 400, 2**62])
def test_a_place_outside_of_the_vectors_is_damage(path: Path, value: int) -> None:
    with SQLiteStore(path) as store:
        fill(store)
        store.index_vectors(100)
    for at in range(21, 421):
        set_values(list_files(path)[0], "<i8", at, value)
    with SQLiteStore(path) as store:
        with pytest.raises(StoreError, match=r"store\.db: the file is damaged: .*the approximate index cannot be read"):
            found(store)
        assert store.check() != []
        # the places of other files are no reason to fail where the index is made anew, or moved
        put(store, "more", 40)
        assert store.index_vectors(100)
        assert found(store) == found(store, exact=True)


def test_check_finds_what_changed_behind_the_checksum(path: Path) -> None:
    with SQLiteStore(path) as store:
        fill(store)
        store.index_vectors(100)
    [file] = list_files(path)
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    with SQLiteStore(path) as store:
        said = "the approximate index is not the one that was written; make it anew with index_vectors()"
        assert store.check() == [said]
        set_values(file, "<i8", 21, 3)
        change_notes(path, checksum=store._lists.checksum(notes(path)))
    with SQLiteStore(path) as store:
        said = "the approximate index does not hold each vector once; make it anew with index_vectors()"
        assert store.check() == [said]


def notes(path: Path) -> list_file.ListSpace:
    connection = sqlite3.connect(path)
    [value] = connection.execute("SELECT value FROM meta WHERE key = 'lists'").fetchone()
    connection.close()
    return list_file.ListSpace(**json.loads(value))


def change_notes(path: Path, **values: Any) -> None:
    connection = sqlite3.connect(path)
    [value] = connection.execute("SELECT value FROM meta WHERE key = 'lists'").fetchone()
    with connection:
        changed = json.dumps({**json.loads(value), **values})
        connection.execute("UPDATE meta SET value = ? WHERE key = 'lists'", (changed,))
    connection.close()


@pytest.mark.parametrize(
    "values",
    [
        {"number": "../../etc"},
        {"number": 0},
        {"identity": "../x"},
        {"entries": -1},
        {"entries": 10**12},
        {"lists": 0},
        {"dimension": 9},
        {"rows": 10**9},
        {"rows": 1},
        {"checksum": None},
        {"unknown": 1},
        {"recall": "good"},
    ],
)
def test_notes_that_nobody_here_wrote_are_damage(path: Path, values: dict[str, Any]) -> None:
    with SQLiteStore(path) as store:
        fill(store)
        store.index_vectors(100)
    change_notes(path, **values)
    with SQLiteStore(path) as store, pytest.raises(StoreError, match=r"approximate index|lists-1 is damaged"):
        found(store)


def test_lists_of_vectors_that_an_earlier_version_compacted_are_passed_over(path: Path) -> None:
    with SQLiteStore(path) as store:
        fill(store)
        store.index_vectors(100)
    change_notes(path, generation=7)
    with SQLiteStore(path) as store:
        assert found(store) == found(store, exact=True)
        assert store.info().approximate is None
        assert store.index_vectors(100)
        assert store.check() == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EFBIG])
def test_a_full_disk_leaves_what_was_there(path: Path, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(code, os.strerror(code))

    with SQLiteStore(path) as store:
        fill(store)
        store.index_vectors(100)
        put(store, "more", 40)
        before = found(store)
        with monkeypatch.context() as patch:
            patch.setattr(list_file, "_write_all", full)
            with pytest.raises(StoreError, match=r"lists-part-\S+: the disk is full \(or the file may not grow\)"):
                store.index_vectors(100)
        assert [file.name for file in list_files(path)] == ["store.db-lists-1"]
        assert list_file.list_parts(path) == []
        assert found(store) == before == found(store, exact=True)
        assert store.check() == []


def test_what_a_killed_process_left_beside_the_file_goes(path: Path) -> None:
    with SQLiteStore(path) as store:
        fill(store)
        store.index_vectors(100)
    [file] = list_files(path)
    shutil.copy(file, path.with_name("store.db-lists-7"))
    path.with_name("store.db-lists-8").touch()
    path.with_name("store.db-lists-9").write_bytes(b"somebody else's")
    shutil.copy(file, path.with_name("store.db-lists-part-1-abcdef01"))
    path.with_name("store.db-lists-part-1-abcdef02").touch()
    with SQLiteStore(path) as store:
        put(store, "e")
    assert list_file.list_parts(path) == []
    assert [file.name for file in list_files(path)] == ["store.db-lists-1", "store.db-lists-9"]


def test_a_reader_whose_file_has_just_been_replaced_asks_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SQLiteStore(path) as store, SQLiteStore(path, read_only=True) as reader:
        fill(store)
        store.index_vectors(100)
        put(store, "more", 40)
        map_file, replaced = list_file.map_lists, []

        def map_late(*args: Any) -> Any:
            if not replaced:  # between the reader's look into the database and its opening of the file
                replaced.append(True)
                store.index_vectors(100)
            return map_file(*args)

        monkeypatch.setattr(list_file, "map_lists", map_late)
        assert found(reader) == found(store, exact=True)
        assert [file.name for file in list_files(path)] == ["store.db-lists-2"]


def test_texts_with_equal_vectors_come_in_the_order_of_their_names(path: Path) -> None:
    with SQLiteStore(path) as store:
        fill(store)
        for name in ("z", "a", "m"):
            store.put(
                Document(name, ""),
                [Chunk(name, ChunkMetadata(name, i)) for i in range(40)],
                embeddings=np.tile(vectors_of(7, 1), (40, 1)),
                encoder="m",
            )
        store.index_vectors(100)
        assert found(store, k=5) == [(("a", i), 1.0) for i in range(5)]


def test_vectors_of_zeros_are_listed_and_never_near(path: Path) -> None:
    with SQLiteStore(path) as store:
        fill(store, 4)
        store.put(
            Document("zero", ""),
            [Chunk("0", ChunkMetadata("zero", i)) for i in range(8)],
            embeddings=np.zeros((8, DIMENSION)),
            encoder="m",
        )
        assert store.index_vectors(10)
        assert found(store, k=100) == found(store, k=100, exact=True)
        assert store.check() == []
