"""The dirty/processing contract, shutdown and drain."""

import gc
import threading
import weakref

import pytest

from asoreconcile.queue.workqueue import Item, WorkQueue


@pytest.fixture
def queue(clock):
    return WorkQueue("test", clock=clock)


def take(queue):
    """Every ready key in order, each done before the next."""
    keys = []
    while len(queue):
        item = queue.get()
        queue.done(item.key)
        keys.append(item.key)
    return keys


def on_thread(call):
    results = []
    thread = threading.Thread(target=lambda: results.append(call()), daemon=True)
    thread.start()

    def result():
        thread.join(10)
        assert not thread.is_alive(), "still blocked"
        return results[0]

    return result


def test_wq3_get_blocks_until_a_key_comes(queue):
    result = on_thread(queue.get)
    queue.add("a")
    assert result() == Item("a", 0)


def test_dq4_workers_are_woken_for_all_that_falls_due(queue, clock):
    results = [on_thread(queue.get) for _ in range(2)]
    for _ in range(10_000):
        if queue._waiting == 2:
            break
        threading.Event().wait(0.001)
    for key in ("a", "b"):
        queue.add_after(key, 5)
    queue._timer.cancel()
    clock.advance(5)
    queue._promote()
    assert {result().key for result in results} == {"a", "b"}


def test_wq5_any_number_of_adds_while_held_is_one_rerun(queue):
    queue.add("a")
    queue.get()
    for _ in range(5):
        queue.add("a")
    assert len(queue) == 1
    queue.done("a")
    assert take(queue) == ["a"]


def test_wq2_wq6_keys_come_once_in_the_order_of_their_first_add(queue):
    for key in ("b", "a", "c", "b", "a"):
        queue.add(key)
    assert take(queue) == ["b", "a", "c"]


def test_wq8_shutdown_refuses_adds_and_is_idempotent(queue):
    queue.shut_down()
    queue.shut_down()
    queue.add("a")
    queue.add_after("b", 1)
    queue.add_rate_limited("c")
    assert len(queue) == 0
    assert queue.get() is None


def test_wq8_shutdown_wakes_every_worker(queue):
    results = [on_thread(queue.get) for _ in range(5)]
    queue.shut_down()
    assert [result() for result in results] == [None] * 5


def test_wq4_wq8_a_key_added_while_held_is_served_after_a_shutdown(queue):
    queue.add("a")
    queue.get()
    queue.add("a")
    queue.shut_down()
    queue.done("a")
    assert queue.get().key == "a"
    queue.done("a")
    assert queue.get() is None


def test_a_queue_keeps_no_reference_to_a_finished_key(queue):
    class Key:
        pass

    key = Key()
    gone = weakref.ref(key)
    queue.add(key)
    queue.done(queue.get().key)
    del key
    gc.collect()
    assert gone() is None


def test_th8_on_ready_is_called_only_for_keys_without_a_waiting_worker(clock):
    calls = []
    queue = WorkQueue("test", clock=clock, on_ready=lambda: calls.append(1))
    queue.add("a")
    assert len(calls) == 1
    assert queue.unclaimed() == 1
    queue.get()
    queue.add_after("b", 5)
    assert len(calls) == 1
    clock.advance(5)
    assert len(calls) == 2


def test_th8_workers_that_were_never_needed_are_dismissed(queue):
    results = [on_thread(queue.get) for _ in range(2)]
    queue.release_idle()
    while queue.release_idle() == 0:
        pass
    for result in results:
        if result is not None:
            break
    queue.shut_down()
    assert [result() for result in results] == [None, None]


def test_th8_all_that_are_dismissed_are_let_go(queue):
    results = [on_thread(queue.get) for _ in range(2)]
    while queue._waiting < 2:
        pass
    assert [queue.release_idle() for _ in range(2)] == [0, 2]
    assert [result() for result in results] == [None, None]


def test_th8_no_more_are_dismissed_than_stand_there(queue):
    """Two workers stand in `get`, and no thread comes to run for some periods."""
    queue._waiting = queue._min_waiting = 2
    assert [queue.release_idle() for _ in range(2)] == [2, 0]
    for _ in range(4):
        queue.release_idle()
    assert queue._released == 2


def test_workers_without_work_leave_nothing_unattended(queue):
    queue._waiting = 2
    queue.add("a")
    assert queue.unclaimed() == 0


def test_a_key_more_than_workers_stand_there_calls_for_one(clock):
    calls = []
    queue = WorkQueue("test", clock=clock, on_ready=lambda: calls.append(1))
    queue._waiting = 1
    queue.add("a")
    assert calls == []
    queue.add("b")
    assert calls == [1]
