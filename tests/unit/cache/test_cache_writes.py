"""Who hears of a write's answer, and of a server that streams nothing."""

import pytest
from scriptedapi import Script, config_map, initial_end

from asoreconcile.base.objects import ObjectKey
from asoreconcile.cache.client import CachedClient
from asoreconcile.cache.informers import Informers
from asoreconcile.kube.errors import ApiError
from asoreconcile.kube.resources import CONFIG_MAPS, SECRETS
from asoreconcile.testing.clock import FakeClock

KEY = ObjectKey("n", "a")


class Server(Script):
    """Answers each write with what the test says."""

    is_dry_run = False
    answer = None

    def send(self, write):
        return self.answer


@pytest.fixture
def caching():
    """Make and start informers over a script: (server, informers, cached client)."""
    made = []

    def build(*steps):
        server = Server(*steps)
        informers = Informers(server, clock=FakeClock())
        made.append(informers)
        informers.start()
        return server, informers, CachedClient(server, informers)

    yield build
    for informers in made:
        assert informers.stop(10) == []


def watched(server, informers, **options):
    server.dry.clear()
    server.steps.append([initial_end(3)])
    informer = informers.of(CONFIG_MAPS, **options)
    assert server.dry.wait(10)
    return informer


def test_d21_every_cache_of_the_kind_hears_of_a_write(caching):
    server, informers, client = caching()
    whole = watched(server, informers)
    partial = watched(server, informers, metadata_only=True)
    server.answer = {"kind": "ConfigMap", **config_map("a", 7, v="1")}
    client.create(CONFIG_MAPS, config_map("a", ""))
    assert whole.get(KEY)["data"] == {"v": "1"}
    assert "data" not in partial.get(KEY)
    uid = server.answer["metadata"]["uid"]
    server.answer = {"kind": "Status", "details": {"uid": uid}}
    client.delete(CONFIG_MAPS, KEY)
    assert (whole.get(KEY), partial.get(KEY)) == (None, None)


HELD = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("method", "last", "lives"),
    [
        pytest.param("delete", {}, False, id="deleted"),
        pytest.param("delete", {**HELD, "finalizers": ["a/b"]}, True, id="finalizer"),
        pytest.param(
            "delete", {**HELD, "deletionGracePeriodSeconds": 30}, True, id="grace"
        ),
        pytest.param(
            "delete", {**HELD, "deletionGracePeriodSeconds": 0}, False, id="no grace"
        ),
        pytest.param("delete a namespace", HELD, True, id="namespace"),
        pytest.param("patch", HELD, False, id="last finalizer taken off"),
        pytest.param("patch", {**HELD, "finalizers": ["a/b"]}, True, id="one is left"),
        pytest.param("patch", {}, True, id="changed"),
    ],
)
def test_d21_an_answer_with_the_object_says_whether_it_is_still_there(
    caching, method, last, lives
):
    """Services, ServiceAccounts and claims are deleted with the object as the answer."""
    server, informers, client = caching()
    informer = watched(server, informers)
    server.answer = {"kind": "ConfigMap", **config_map("a", 7)}
    client.create(CONFIG_MAPS, config_map("a", ""))
    server.answer = {"kind": "ConfigMap", **config_map("a", 8)}
    server.answer["metadata"].update(last)
    if "namespace" in method:
        server.answer["spec"] = {"finalizers": ["kubernetes"]}
    if method.startswith("delete"):
        client.delete(CONFIG_MAPS, KEY)
    else:
        client.patch(CONFIG_MAPS, KEY, {})
    assert (informer.get(KEY) is not None) is lives
    assert (KEY in informer.keys(None)) is lives


def test_d21_the_answer_of_a_subresource_of_another_kind_is_no_state(caching):
    server, informers, client = caching()
    informer = watched(server, informers)
    server.answer = {"kind": "Scale", **config_map("a", 7)}
    client.patch(CONFIG_MAPS, KEY, {"spec": {"replicas": 2}}, subresource="scale")
    assert informer.get(KEY) is None


@pytest.mark.parametrize("status", [400, 422])
def test_rf11_one_kinds_refusal_of_a_stream_is_its_own(caching, status):
    server, informers, _ = caching(ApiError("no streams here", status=status))
    informers.of(CONFIG_MAPS)
    assert server.dry.wait(10)
    server.dry.clear()
    informers.of(SECRETS)
    assert server.dry.wait(10)
    asked = [
        (options["resource"].plural, options.get("initial_events", verb))
        for verb, options in server.calls
    ]
    assert asked[0] == ("configmaps", True)
    assert ("secrets", True) in asked
