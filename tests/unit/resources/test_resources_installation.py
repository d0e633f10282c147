"""CRDs that are not served: names that are taken, and a server that takes its time."""

import attrs
import pytest

from asoreconcile.base.clock import SystemClock
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.resources.declaration import resource
from asoreconcile.resources.installation import CrdNotEstablishedError, install_crds
from asoreconcile.resources.metadata import ObjectMeta
from asoreconcile.testing.clock import FakeClock


@resource("example.com/v1", plural="sites")
@attrs.define
class Site:
    metadata: ObjectMeta


def missing():
    return NotFoundError("not found", status=404, reason="NotFound")


class Watched(list):
    def close(self):
        pass


class Server:
    """A client of a server that answers as the test says."""

    def __init__(self, clock, *, states, unserved=0, dry_run=False):
        self.clock, self.states, self.unserved = clock, states, unserved
        self.is_dry_run = dry_run
        self.written = []

    def get(self, resource, key):
        if self.written:
            return self._next()
        raise missing()

    def patch(self, resource, key, body, **options):
        self.written.append((body, options))
        return self._next()

    def watch(self, selection, **options):
        self.clock.advance(1)
        return Watched()

    def list_page(self, resource, place):
        if self.unserved:
            self.unserved -= 1
            raise missing()

    def _next(self):
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        (body, _), *_ = self.written
        conditions = [
            {"type": name, "status": status, "message": "taken by others"}
            for name, status in state.items()
        ]
        return {**body, "status": {"conditions": conditions}}


def install(server, **options):
    return install_crds(
        server, Site, field_manager="tests", clock=server.clock, **options
    )


ESTABLISHED = {"NamesAccepted": "True", "Established": "True"}


def test_it_waits_until_the_crd_is_established():
    server = Server(FakeClock(), states=[{}, {}, ESTABLISHED])
    (crd,) = install(server)
    assert crd["status"]["conditions"][1]["status"] == "True"
    ((_, options),) = server.written
    assert options == {"kind": "apply", "field_manager": "tests", "force": True}


def test_names_that_others_have_are_said():
    server = Server(FakeClock(), states=[{}, {"NamesAccepted": "False"}])
    with pytest.raises(
        CrdNotEstablishedError, match=r"sites.example.com: taken by oth"
    ):
        install(server)


def test_a_server_that_does_not_establish_it_is_not_waited_for_for_ever():
    with pytest.raises(CrdNotEstablishedError, match="is not Established in time"):
        install(Server(FakeClock(), states=[{}]), timeout_seconds=3)


def test_it_waits_until_the_kind_is_served():
    clock = SystemClock()
    install(Server(clock, states=[ESTABLISHED], unserved=2))
    with pytest.raises(CrdNotEstablishedError, match="is not served in time"):
        install(Server(clock, states=[ESTABLISHED], unserved=9), timeout_seconds=0)


def test_a_dry_run_waits_for_nothing():
    (crd,) = install(Server(FakeClock(), states=[{}], dry_run=True))
    assert crd["status"]["conditions"] == []
