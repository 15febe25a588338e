"""Shards on paper say what placing documents and chunks one by one does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.speed.scale_shards import (
    Ring,
    Sets,
    check_merge,
    check_requests,
    expected_asked,
    expected_fullest,
    place_of,
    poisson_most,
    requests_of,
    time_shards,
    write_shards,
)

DOCUMENTS, CHUNKS, HITS = 400, 24, 20


def make_sets(documents_of_hits: int) -> Sets:
    """Return questions whose hits are of so many documents."""
    rng = np.random.default_rng(5)
    hits = []
    for _ in range(40):
        chosen = rng.choice(DOCUMENTS, documents_of_hits, replace=False)
        spread = np.resize(chosen, HITS)
        places = {(int(d), int(i)) for d, i in zip(spread, np.arange(HITS) // documents_of_hits, strict=True)}
        hits.append(np.array(sorted(places)))
    return Sets(np.full(DOCUMENTS, CHUNKS), tuple(np.full(CHUNKS, 100) for _ in range(DOCUMENTS)), tuple(hits))


@given(st.integers(1, 300), st.integers(1, 300))
def test_shards_that_are_asked_are_no_more_than_there_are(shards: int, balls: int) -> None:
    asked = expected_asked(shards, balls)
    assert 1 - 1e-9 <= asked <= min(shards, balls) + 1e-9
    assert expected_asked(shards, balls + 1) >= asked


def test_a_single_shard_is_asked_once_and_holds_all() -> None:
    assert expected_asked(1, 30) == pytest.approx(1)
    assert set(Ring(1).shard_of(np.arange(100)).tolist()) == {0}


@pytest.mark.parametrize("shards", [16, 64, 256])
def test_shards_that_are_asked_are_as_on_paper(shards: int) -> None:
    found = check_requests(make_sets(10), shards, 100_000)
    assert found["document"]["simulated"] == pytest.approx(found["document"]["paper"], rel=0.08)
    assert found["chunk"]["simulated"] == pytest.approx(found["chunk"]["paper"], rel=0.08)
    assert found["document"]["simulated"] <= found["chunk"]["simulated"]


@given(st.sets(st.integers(0, 50), min_size=1, max_size=8), st.sampled_from(["document", "chunk"]))
def test_requests_ask_for_every_chunk_once(documents: set[int], layout: str) -> None:
    windows = [(document, 2, 5) for document in sorted(documents)]
    asked = [one for some in requests_of(windows, Ring(8), layout).values() for one in some]
    wanted = [(d, i) for d in sorted(documents) for i in range(2, 5)]
    if layout == "document":
        assert sorted(map(tuple, asked)) == windows
    else:
        assert sorted(map(tuple, asked)) == wanted


def test_a_new_shard_takes_its_share_and_moves_nothing_else() -> None:
    documents = np.arange(50_000)
    before, after = Ring(8).shard_of(documents), Ring(9).shard_of(documents)
    moved = before != after
    assert set(after[moved].tolist()) == {8}
    assert 0.08 < moved.mean() < 0.14


@pytest.mark.parametrize("shards", [16, 64])
def test_the_fullest_shard_is_as_on_paper(shards: int) -> None:
    load = np.bincount(Ring(shards).shard_of(np.arange(300_000)), minlength=shards)
    assert expected_fullest(shards, 300_000, 0.0) == pytest.approx(load.max() / load.mean(), rel=0.1)
    assert expected_fullest(shards, 1_000, 0.0) > expected_fullest(shards, 300_000, 0.0)


@pytest.mark.parametrize(("mean", "share", "most"), [(1.0, 0.3, 1), (1.0, 0.1, 2), (1.0, 0.05, 3), (0.1, 0.2, 0)])
def test_a_poisson_number_is_above_as_seldom_as_said(mean: float, share: float, most: int) -> None:
    assert poisson_most(mean, share) == most


def test_hits_of_one_document_are_all_wanted_from_one_shard() -> None:
    found = check_merge(make_sets(1), 16, 10)
    assert found["document"]["paper"] == found["document"]["simulated"] == HITS
    assert found["document"]["questions_short"] == 0
    assert found["chunk"]["paper"] < HITS
    assert found["chunk"]["questions_short"] <= 0.05


@pytest.mark.parametrize("layout", ["document", "chunk"])
def test_files_of_shards_hold_every_neighbour(tmp_path: Path, layout: str) -> None:
    sets = make_sets(5)
    count = write_shards(tmp_path, sets, 2 * DOCUMENTS * CHUNKS, 4, layout)
    assert count == 2 * DOCUMENTS * CHUNKS
    found = time_shards(tmp_path, sets, 2, 4, layout, 20)
    wanted = [sum(high - low for _, low, high in sets.windows(number)) for number in range(20)]
    assert found["rows"] == pytest.approx(np.mean(wanted), abs=0.05)


def test_windows_of_near_hits_are_one() -> None:
    sets = Sets(np.array([10]), (np.full(10, 1),), (np.array([[0, 1], [0, 3], [0, 9]]),))
    assert sets.windows(0) == [(0, 0, 6), (0, 7, 10)]
    assert place_of([1], [3]).tolist() == [(1 << 20) + 3]
