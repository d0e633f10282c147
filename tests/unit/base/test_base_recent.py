"""Readings of texts, kept while they are recent."""

import gc
import weakref

import pytest

from asoreconcile.base.recent import LONGEST, recent


class Reading:
    def __init__(self, text):
        self.text = text


def test_a_short_text_is_read_once():
    read = recent(Reading)
    assert read("a") is read("a")
    assert read("b").text == "b"


def test_of_a_long_text_nothing_is_kept():
    read = recent(Reading)
    found = weakref.ref(read("a" * (LONGEST + 1)))
    gc.collect()
    assert found() is None
    kept = weakref.ref(read("a" * LONGEST))
    gc.collect()
    assert kept() is not None


def test_no_more_than_a_thousand_are_kept():
    read = recent(Reading)
    kept = [weakref.ref(read(f"text {n}")) for n in range(5000)]
    gc.collect()
    assert 0 < sum(one() is not None for one in kept) < 2000


def test_what_is_raised_is_not_kept():
    answers = iter([ValueError("bad"), "good"])

    @recent
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
    assert recent(Reading)(odd).text is odd
