"""Bounded caches: entries that stay, and entries that are dropped."""

import weakref

import pytest

from asoreconcile.base.lru import LONGEST, LruCache, lru_cached


class Reading:
    def __init__(self, text):
        self.text = text


def test_a_short_text_is_read_once():
    read = lru_cached(Reading)
    assert read("a") is read("a")
    assert read("b").text == "b"


def test_of_a_long_text_nothing_is_kept():
    read = lru_cached(Reading)
    found = weakref.ref(read("a" * (LONGEST + 1)))
    assert found() is None
    kept = weakref.ref(read("a" * LONGEST))
    assert kept() is not None


def test_no_more_than_a_thousand_are_kept():
    read = lru_cached(Reading)
    kept = [weakref.ref(read(f"text {n}")) for n in range(5000)]
    assert 0 < sum(one() is not None for one in kept) < 2000


def test_what_is_raised_is_not_kept():
    answers = iter([ValueError("bad"), "good"])

    @lru_cached
    def read(_):
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises(ValueError, match="bad"):
        read("a")
    assert read("a") == "good"
    assert read("a") == "good"


@pytest.mark.parametrize("odd", [7, None, ["a"], {}])
def test_what_is_no_text_is_left_to_the_reader(odd):
    assert lru_cached(Reading)(odd).text is odd


def test_the_least_recently_used_entry_is_dropped():
    cache = LruCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, None, 3)
    assert cache.items() == [("a", 1), ("c", 3)]


def test_an_entry_that_is_put_again_counts_as_used():
    cache = LruCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.put("a", 3)
    cache.put("c", 4)
    assert list(cache) == ["a", "c"]
    assert cache.pop("a") == 3
    assert (cache.pop("a"), len(cache), "c" in cache) == (None, 1, True)
