"""Connections that look alive and are not: for how long we are deaf."""

import attrs
import pytest
from applications import until
from blackhole import Blackhole
from prometheus_client import CollectorRegistry

from asoreconcile.base.clock import SystemClock
from asoreconcile.base.errors import StoppedError
from asoreconcile.cache import server_probe
from asoreconcile.cache.events import Added
from asoreconcile.cache.informers import Informers
from asoreconcile.cache.server_probe import ServerProbe
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.errors import ForbiddenError, TransportError
from asoreconcile.kube.resources import CONFIG_MAPS, NAMESPACES, SECRETS
from asoreconcile.observability.metrics import RuntimeMetrics
from asoreconcile.runtime.health import ApiServerAnswers
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.kube import KubeServer

KINDS = (CONFIG_MAPS, SECRETS, NAMESPACES)


class Scene:
    """Informers behind a proxy that can fall silent, and a client that is not."""

    def __init__(self, server, proxy, config):
        through = attrs.evolve(
            config,
            url=config.url.replace(server.url.rpartition(":")[2], str(proxy.port)),
        )
        self.proxy = proxy
        self.writer = KubeClient(config, user_agent="writer")
        self.client = KubeClient(through, user_agent="tests")
        self.prober = KubeClient(
            through, user_agent="probe", read_seconds=1, max_retries=0
        )
        self.informers = Informers(self.client, clock=SystemClock())
        self.probe = ServerProbe(
            lambda: self.prober.read("/version"),
            self.renew,
            clock=SystemClock(),
            close=self.prober.close,
        )
        self.seen = []

    def renew(self, since):
        self.client.renew_connections()
        return self.informers.renew(since)

    def begin(self):
        def note(event):
            if isinstance(event, Added):
                self.seen.append(event.entry.key.name)

        made = [self.informers.of(kind) for kind in KINDS]
        for informer in made:
            informer.add_handler(note)
        self.informers.start()
        self.probe.start()
        until(lambda: all(informer.has_synced() for informer in made))
        until(lambda: self.proxy.accepted > len(KINDS))  # the probe's is there, too

    def write(self, name):
        meta = {"namespace": "default", "name": name}
        self.writer.create(CONFIG_MAPS, {"metadata": meta})

    def end(self):
        assert self.probe.stop(10) == []
        assert self.informers.stop(10) == []
        for one in (self.writer, self.client, self.prober):
            one.close()


@pytest.fixture
def scene(tmp_path, monkeypatch):
    monkeypatch.setattr(server_probe, "_EVERY_SECONDS", 0.2)
    monkeypatch.setattr(server_probe, "_RETRY_SECONDS", 0.05)
    with KubeServer() as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        config = load(str(tmp_path / "kubeconfig"))
        with Blackhole(int(server.url.rpartition(":")[2])) as proxy:
            made = Scene(server, proxy, config)
            try:
                made.begin()
                yield made
            finally:
                made.end()


def test_rf8_watches_whose_connections_fell_silent_hear_again(scene):
    """They would be silent until they were due to end, which is in 5 to 10 minutes."""
    scene.write("before")
    until(lambda: "before" in scene.seen)
    scene.proxy.swallow()
    scene.write("during")
    until(lambda: "during" in scene.seen)
    assert scene.probe.renewed == len(KINDS)
    assert scene.probe.last_error == ""
    assert scene.seen.count("before") == 1


def test_rf8_an_outage_is_shown_and_ends_with_it(scene):
    scene.proxy.swallow(new=True)
    until(lambda: scene.probe.last_error)
    verdict = ApiServerAnswers(scene.probe, lambda: {"watch secrets": 12.4})()
    assert verdict.ok
    assert verdict.details[2] == "watch secrets: a handler has not returned for 12 s"
    assert "and does not now: " in verdict.details[0]
    scene.write("during")
    assert scene.probe.renewed == 0
    scene.proxy.heal()
    until(lambda: "during" in scene.seen)
    until(lambda: not scene.probe.last_error)
    assert ApiServerAnswers(scene.probe)().details[1].endswith(f": {len(KINDS)}")


def test_requests_after_it_use_no_connection_of_before(scene):
    """Idle ones look alive as well: each would take a request's whole time."""
    assert scene.client.list_page(CONFIG_MAPS)
    scene.proxy.swallow()
    until(lambda: scene.probe.renewed)
    assert scene.client.list_page(CONFIG_MAPS)


class Server:
    """Answers a probe as the test says, and notes what is renewed."""

    def __init__(self, clock):
        self.clock, self.error, self.takes, self.renewed = clock, None, 0.0, []

    def probe(self):
        self.clock.advance(self.takes)
        if self.error is not None:
            raise self.error

    def renew(self, since):
        self.renewed.append(since)
        return 2


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def server(clock):
    return Server(clock)


@pytest.fixture
def probe(server, clock):
    return ServerProbe(server.probe, server.renew, clock=clock)


@pytest.fixture
def shown(probe):
    """The value of a metric of the probe, as it is scraped."""
    registry = CollectorRegistry()
    RuntimeMetrics(registry).expose_server_probe(
        lambda: probe.seconds_since_answer, lambda: probe.renewed
    )
    return lambda name: registry.get_sample_value(f"asoreconcile_{name}")


def test_rf8_what_is_heard_after_the_silence_was_noticed_goes_on(
    probe, server, clock, shown
):
    probe.probe_once()
    clock.advance(15)
    server.takes, server.error = 10, TransportError("silent")
    probe.probe_once()
    noticed = clock.monotonic()
    probe.probe_once()
    assert server.renewed == []
    assert probe.seconds_since_answer == shown("api_server_silent_seconds") == 35
    server.takes, server.error = 0, None
    probe.probe_once()
    probe.probe_once()
    assert server.renewed == [noticed]
    assert (probe.renewed, probe.seconds_since_answer, probe.last_error) == (2, 0, "")
    assert shown("api_server_silent_seconds") == 0
    assert shown("watches_renewed_total") == 2


def test_an_answer_that_refuses_is_an_answer(probe, server):
    server.error = ForbiddenError("no", status=403)
    probe.probe_once()
    assert probe.last_error == ""
    assert server.renewed == []


def test_the_end_of_the_client_is_the_end_of_the_probe(probe, server):
    server.error = StoppedError("closed")
    with pytest.raises(StoppedError):
        probe.probe_once()


def test_rf8_deaf_for_less_than_a_minute():
    """From the silence to the first event: until it is asked, until that fails, again.

    A kernel that notices a dead peer, and the bookmark that a single watch misses, each
    have their own limit; these are ours.
    """
    from asoreconcile.cache import server_probe as probe

    assert probe._EVERY_SECONDS + probe.PROBE_SECONDS + 2 * probe._RETRY_SECONDS <= 30
