"""Values made when they are first asked for."""

import threading

import pytest

from asoreconcile.base.lazy import Lazy


def test_it_is_made_once_and_not_before_it_is_asked_for():
    made = []
    deferred = Lazy(lambda: made.append(1) or "value")
    assert not made
    assert [deferred(), deferred()] == ["value"] * 2
    assert made == [1]


def test_who_comes_while_it_is_made_waits_for_the_same():
    entered, go = threading.Event(), threading.Event()
    made = []

    def make():
        entered.set()
        go.wait()
        made.append(1)
        return object()

    deferred, found = Lazy(make), []
    threads = [
        threading.Thread(target=lambda: found.append(deferred())) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    assert entered.wait(60)
    assert not made
    go.set()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1
    assert made == [1]


def test_a_failure_is_tried_again_by_the_next():
    results = [ValueError("no"), "value"]

    def make():
        result = results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    deferred = Lazy(make)
    with pytest.raises(ValueError, match="no"):
        deferred()
    assert deferred() == "value"


def test_nothing_may_be_the_value():
    made = []
    deferred = Lazy(lambda: made.append(1))
    assert deferred() is None
    assert deferred() is None
    assert made == [1]
