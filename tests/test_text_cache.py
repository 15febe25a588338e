"""The cache of values by text: bounded, keeps what is in use, computes each text once."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from retrivex.text.cache import TextCache


@given(st.lists(st.lists(st.text(max_size=6), max_size=8)), st.integers(0, 40))
def test_values_are_right_and_the_bound_holds(batches: list[list[str]], capacity: int) -> None:
    cache = TextCache[str, str](capacity, lambda text: len(text) + 1)
    for batch in batches:
        assert cache.find(batch, lambda texts: [text.upper() for text in texts]) == [text.upper() for text in batch]
        assert sum(len(text) + 1 for text in {*cache._young, *cache._old}) <= capacity


def test_a_value_in_use_outlives_two_generations() -> None:
    cache = TextCache[str, int](capacity=8)
    cache.put(["bees"], [1])
    for number in range(40):
        cache.put([str(number)], [number])
        assert cache.get("bees") == 1
    assert cache.get("0") is None


def test_each_unknown_text_is_made_once_in_one_call() -> None:
    asked: list[list[str]] = []

    def make(texts: list[str]) -> list[int]:
        asked.append(texts)
        return list(map(len, texts))

    cache = TextCache[str, int](capacity=100)
    assert cache.find(["a", "bb", "a"], make) == [1, 2, 1]
    assert cache.find(["bb", "ccc"], make) == [2, 3]
    assert asked == [["a", "bb"], ["ccc"]]


def test_threads_may_share_it() -> None:
    cache = TextCache[str, int](capacity=50)
    texts = ["x" * number for number in range(1, 80)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: cache.find(texts, lambda fresh: map(len, fresh)), range(40)))
    assert found == [list(range(1, 80))] * 40
    assert len(cache) <= 50


def test_a_cache_travels_to_another_process_without_its_entries() -> None:
    cache = TextCache[str, int](capacity=4)
    cache.put(["bees"], [4])
    travelled = pickle.loads(pickle.dumps(cache))
    assert (travelled.capacity, len(travelled), len(cache)) == (4, 0, 1)
    assert travelled.find(["bees"], lambda texts: [len(text) for text in texts]) == [4]
