"""Many informers of one process: on a handful of threads, each on its own account."""

import socket
import sys
import threading

import pytest
from heard import Heard
from quickclock import QuickClock
from recordedthreads import RecordedThreads

from asoreconcile.base.clock import SystemClock
from asoreconcile.base.threads import Threads
from asoreconcile.cache.informers import Informers
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.resources import CONFIG_MAPS, NAMESPACES, SECRETS
from asoreconcile.testing.throwaway_certificates import certificate_authority
from asoreconcile.wire.trust import TlsTrust

WAIT_SECONDS = 30
MANY = 60


def make(client, resource, name, **labels):
    meta = {"name": name, "namespace": "default", "labels": labels}
    return client.create(resource, {"metadata": meta})


@pytest.fixture
def clock():
    return QuickClock()


@pytest.fixture
def threads(clock):
    return RecordedThreads(clock)


@pytest.fixture
def informers(client, clock, threads):
    informers = Informers(client, clock=clock, threads=threads)
    yield informers
    assert informers.stop(WAIT_SECONDS) == []


def test_many_watches_need_five_threads_and_end_with_the_informers(
    client, informers, threads
):
    made = [
        informers.of(CONFIG_MAPS, label_selector=f"of in (all,w{number})")
        for number in range(MANY)
    ]
    heard = [Heard(informer) for informer in made]
    informers.start()
    make(client, CONFIG_MAPS, "everybodys", of="all")
    for one in heard:
        one.until_named("everybodys")
    make(client, CONFIG_MAPS, "the-sevenths", of="w7")
    heard[7].until_named("the-sevenths")
    assert all(len(informer.keys()) <= 2 for informer in made)
    assert len(threads.started) <= 5, threads.started
    assert informers.stop(WAIT_SECONDS) == []
    assert threads.ended(WAIT_SECONDS)


def test_one_informer_stops_and_the_others_go_on(client, informers):
    maps, secrets = informers.of(CONFIG_MAPS), informers.of(SECRETS)
    heard = Heard(secrets)
    informers.start()
    make(client, SECRETS, "first")
    heard.until_named("first")
    assert maps.stop(WAIT_SECONDS) == []
    informers.discard(maps)
    make(client, SECRETS, "second")
    heard.until_named("second")
    again = Heard(informers.of(CONFIG_MAPS))
    make(client, CONFIG_MAPS, "third")
    again.until_named("third")


def test_a_handler_that_does_not_return_holds_up_its_own_watch_alone(client, informers):
    release, entered = threading.Event(), threading.Event()

    def slow(_event):
        entered.set()
        release.wait(WAIT_SECONDS)

    held = [
        informers.of(CONFIG_MAPS, label_selector=f"of in (all,w{number})")
        for number in range(6)
    ]
    for informer in held:
        informer.add_handler(slow)
    heard = Heard(informers.of(SECRETS))
    informers.start()
    try:
        make(client, CONFIG_MAPS, "slow", of="all")
        assert entered.wait(WAIT_SECONDS)
        make(client, SECRETS, "quick")
        heard.until_named("quick")
    finally:
        release.set()
    for informer in held:
        informer.stop(WAIT_SECONDS)


def test_a_closed_client_ends_all_watches(client, informers):
    made = [informers.of(kind) for kind in (CONFIG_MAPS, SECRETS, NAMESPACES)]
    heard = Heard(made[0])
    informers.start()
    make(client, CONFIG_MAPS, "first")
    heard.until_named("first")
    client.close()
    for informer in made:
        assert informer.join(WAIT_SECONDS) == []


def test_th10_a_watch_whose_thread_would_die_is_made_again(client, monkeypatch):
    clock = QuickClock()
    threads = Threads(clock)
    informers = Informers(client, clock=clock, threads=threads)
    informer = informers.of(CONFIG_MAPS)
    heard = Heard(informer)
    (feed,) = informer._feeds
    replace, deaths = feed.replace, [SystemExit("dead")]

    def dying(state):
        if deaths:
            raise deaths.pop()
        replace(state)

    monkeypatch.setattr(feed, "replace", dying)
    informers.start()
    try:
        make(client, CONFIG_MAPS, "first")
        heard.until_named("first")
        assert threads.crashes()["watch configmaps"].error == "SystemExit"
        assert threads.down() == []
    finally:
        assert informers.stop(WAIT_SECONDS) == []


def test_informers_come_and_go_at_any_moment(client, informers, threads):
    """At a switch interval at which threads change all the time."""
    heard = Heard(informers.of(SECRETS))
    informers.start()
    left, failures = [], []

    def work(number):
        try:
            for turn in range(5):
                informer = informers.of(CONFIG_MAPS, label_selector=f"of=w{number}")
                registration = informer.add_handler(lambda _event: None)
                while turn % 2 and not registration.has_synced():
                    threading.Event().wait(0.001)
                left.extend(informer.stop(WAIT_SECONDS))
                informers.discard(informer)
                make(client, SECRETS, f"of-{number}-{turn}")
        except BaseException as error:
            failures.append(error)
            raise

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        working = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in working:
            thread.start()
        for thread in working:
            thread.join(2 * WAIT_SECONDS)
    finally:
        sys.setswitchinterval(before)
    assert (left, failures) == ([], [])
    heard.until(lambda events: len({one.key for one in events}) == 30)
    assert threads.crashes() == {}


def test_th9_watches_of_a_server_that_never_answers_stop_at_once():
    """All but one of them wait for the first to have an answer."""
    trust = TlsTrust(certificate_authority().pem)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        deaf.settimeout(WAIT_SECONDS)
        cluster = ClusterConfig(
            url=f"https://127.0.0.1:{deaf.getsockname()[1]}",
            trust=lambda: trust,
            authorization=str,
        )
        client = KubeClient(cluster, user_agent="tests/1")
        informers = Informers(client, clock=SystemClock())
        for number in range(20):
            informers.of(CONFIG_MAPS, label_selector=f"of=w{number}")
        informers.start()
        with deaf.accept()[0] as connection:
            assert connection.recv(1)
            assert informers.stop(WAIT_SECONDS) == []
        client.close()
