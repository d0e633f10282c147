"""A conversion asked for through the API server, where there is one to ask for."""

import attrs
import pytest

from asoreconcile.azure.catalogue.storage_codec import kept_stored
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.conversion_probe import PROBE, ConversionProbe
from asoreconcile.base.objects import GroupKind, ObjectKey
from asoreconcile.kube.errors import ApiError, NotFoundError, TransportError
from asoreconcile.runtime.controller import Controller
from asoreconcile.testing.clock import FakeClock

VNET = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork"))
KEY = ObjectKey("ns", "net")
DISTRUST = ApiError(
    "conversion webhook failed: x509: certificate signed by unknown authority",
    status=500,
)


@attrs.define
class Cache:
    objects: list
    synced: bool = True

    def keys(self):
        return self.objects

    def has_synced(self):
        return self.synced


@attrs.define
class Running:
    version: object
    informer: Cache


class Server:
    """Answers with what the test has put there; the last for ever."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    def get(self, resource, key):
        self.asked.append((resource.version, key))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def probe():
    made = []

    def build(server, *objects, synced=True, version=None):
        clock = FakeClock()
        version = version or kept_stored(VNET)
        cache = Cache(list(objects), synced)
        running = {VNET.group_kind: Running(version, cache)}
        probe = ConversionProbe(server, lambda: running, clock=clock)
        controller = Controller("conversionprobe", probe, clock=clock)
        made.append(controller)
        controller.enqueue(PROBE.key)
        controller.start()
        return probe, clock, cache

    yield build
    for one in made:
        assert one.stop(30) == []


def until(probe, clock, text):
    """Move time on until the verdict says so; the test's time limit ends it."""
    while text not in str(probe._result):
        clock.advance(0.01)
    return probe._result


def test_an_object_is_read_at_another_version_than_it_is_kept_in(probe):
    server = Server({})
    made, clock, _ = probe(server, KEY)
    assert until(made, clock, "was answered").ok
    assert server.asked == [("v20250301", KEY)]


def test_distrust_holds_up_readiness_until_it_is_over(probe):
    server = Server(DISTRUST, DISTRUST, {})
    made, clock, _ = probe(server, KEY)
    verdict = until(made, clock, "not trusted")
    assert not verdict.ok
    until(made, clock, "was answered")
    assert len(server.asked) == 3


def test_distrust_that_stays_is_shown_and_stops_holding_up_readiness(probe):
    made, clock, _ = probe(Server(DISTRUST), KEY)
    until(made, clock, "not trusted")
    clock.advance(120)
    verdict = made()
    assert verdict.ok
    assert "not trusted" in str(verdict)


@pytest.mark.parametrize(
    "error", [TransportError("refused"), ApiError("no endpoints available", status=503)]
)
def test_who_cannot_be_reached_before_it_is_ready_is_ready(probe, error):
    """The Service lists us only then."""
    made, clock, _ = probe(Server(error), KEY)
    assert until(made, clock, "was not answered: see the log").ok


def test_an_object_that_goes_meanwhile_is_no_answer(probe):
    server = Server(NotFoundError("gone", status=404), {})
    made, clock, _ = probe(server, KEY)
    assert until(made, clock, "was answered").ok
    assert len(server.asked) == 2


def test_nothing_is_asked_where_there_is_no_object(probe):
    server = Server({})
    made, clock, cache = probe(server, synced=False)
    until(made, clock, "being listed")
    assert not made._result.ok
    cache.synced = True
    assert until(made, clock, "no object").ok
    assert server.asked == []


def test_kinds_that_are_not_converted_are_not_asked_about(probe):
    server = Server({})
    made, clock, _ = probe(server, KEY, version=VNET.version())
    assert until(made, clock, "no object").ok
    assert server.asked == []
