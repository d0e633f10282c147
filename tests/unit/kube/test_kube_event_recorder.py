"""Events that cannot be written: tried again, one by one, and given up in the end."""

from threading import Event, Thread

import orjson
from quickclock import QuickClock

from asoreconcile.base.errors import StoppedError
from asoreconcile.base.threads import Threads
from asoreconcile.kube.errors import AlreadyExistsError, TransportError
from asoreconcile.kube.events import EventRecorder
from asoreconcile.testing.clock import FakeClock

OBJ = {"metadata": {"namespace": "n", "name": "a", "uid": "u"}}


class Away:
    """A server that is not there for a number of tries."""

    def __init__(self, tries):
        self.left = tries
        self.written = []

    def create(self, resource, obj):
        if self.left:
            self.left -= 1
            raise TransportError("nobody there")
        self.written.append(obj["metadata"]["name"])
        return obj

    def patch(self, resource, key, body):
        self.written.append(key.name)
        return body


def recorded(client):
    clock = QuickClock()
    recorder = EventRecorder(
        client, "tests", clock=clock, uniform=lambda _low, _high: 0.25
    )
    recorder.start()
    recorder.event(OBJ, "Normal", "Made", "made it")
    assert recorder.flush(20)
    assert recorder.stop(20) == []
    return clock.pauses


def test_many_recorders_that_lost_one_server_come_back_one_by_one():
    client = Away(3)
    assert recorded(client) == [2.5, 10.0, 10.0]
    assert len(client.written) == 1


def test_an_event_is_given_up_after_twelve_tries():
    client = Away(20)
    assert len(recorded(client)) == 11
    assert (client.left, client.written) == (8, [])


class Forgetful(Away):
    """A server whose first answer is lost: the event is there."""

    def create(self, resource, obj):
        name = obj["metadata"]["name"]
        if name in self.written:
            raise AlreadyExistsError("is there", status=409)
        self.written.append(name)
        raise TransportError("the answer was lost")


def test_an_event_whose_answer_was_lost_is_one_and_goes_on_to_be_counted():
    client, clock = Forgetful(0), QuickClock()
    recorder = EventRecorder(client, "tests", clock=clock)
    recorder.start()
    for _ in range(2):
        recorder.event(OBJ, "Normal", "Made", "made it")
    assert recorder.stop(20) == []
    name, patched = client.written
    assert name == patched


class Stopped(Away):
    """A client that the process has stopped."""

    def create(self, resource, obj):
        raise StoppedError("no more requests")


def test_nobody_waits_for_what_nobody_writes_any_more():
    recorder = EventRecorder(Stopped(0), "tests", clock=FakeClock())
    recorder.start()
    for _ in range(2):
        recorder.event(OBJ, "Normal", "Made", "made it")
    assert recorder.flush(3600) is False
    assert recorder.stop(3600) == ["events (1 not written)"]


def test_one_that_was_not_started_has_nothing_to_wait_for():
    recorder = EventRecorder(Away(0), "tests", clock=QuickClock())
    recorder.event(OBJ, "Normal", "Made", "made it")
    assert recorder.stop(3600) == []


class Waiting(FakeClock):
    """Waits for an event as long as it takes, and tells that somebody does."""

    def __init__(self):
        super().__init__()
        self.came = Event()

    def wait(self, event, timeout_seconds):
        self.came.set()
        return event.wait(3600)


def test_one_that_is_stopped_pauses_no_longer_for_a_server_that_is_away():
    clock = Waiting()
    recorder = EventRecorder(Away(99), "tests", clock=clock)
    recorder.start()
    recorder.event(OBJ, "Normal", "Made", "made it")
    assert recorder.stop(0) != []
    assert clock.came.wait(30)
    assert recorder.flush(30)


def test_a_stop_ends_the_pause_before_the_next_try():
    clock, client = Waiting(), Away(1)
    recorder = EventRecorder(client, "tests", clock=clock)
    recorder.start()
    recorder.event(OBJ, "Normal", "Made", "made it")
    flushing = Thread(target=recorder.flush, args=(30,))
    flushing.start()
    assert clock.came.wait(30)
    assert recorder.stop(30) == []
    flushing.join()
    assert len(client.written) == 1


class Picky(Away):
    """A client that cannot encode some events, as orjson cannot half a character."""

    def create(self, resource, obj):
        if obj["reason"] == "Bad":
            raise TypeError("str is not valid UTF-8: surrogates not allowed")
        return super().create(resource, obj)


def test_an_event_that_cannot_be_written_silences_no_other():
    clock, client = QuickClock(), Picky(0)
    threads = Threads(clock)
    recorder = EventRecorder(client, "tests", clock=clock, threads=threads)
    recorder.start()
    recorder.event(OBJ, "Normal", "Bad", "made it")
    recorder.event(OBJ, "Normal", "Made", "made it")
    assert recorder.flush(20)
    assert len(client.written) == 1
    assert threads.crashes()["events"].count == 1
    assert threads.down() == []
    assert recorder.stop(20) == []


def test_half_a_character_in_a_message_is_written_as_its_escape():
    clock, client = QuickClock(), Away(0)
    messages = []
    client.create = lambda resource, obj: messages.append(orjson.dumps(obj))
    recorder = EventRecorder(client, "tests", clock=clock)
    recorder.start()
    recorder.event(OBJ, "Warning", "Said", "Azure said \ud800 and more")
    assert recorder.flush(20)
    assert recorder.stop(20) == []
    (written,) = messages
    assert orjson.loads(written)["message"] == r"Azure said \ud800 and more"
