"""An application of one's own, run in this process against the embedded API server."""

import socket
import ssl
import threading
import urllib.error
import urllib.request
from queue import Queue

import pytest
from applications import Applications, Noting, until

from asoreconcile.base.errors import StoppedError, TerminalError
from asoreconcile.base.objects import ObjectKey
from asoreconcile.cache.informer import Informer
from asoreconcile.cache.scope import Scope
from asoreconcile.kube.cluster import KubeConfigError
from asoreconcile.kube.config import load
from asoreconcile.kube.owners import set_owner
from asoreconcile.kube.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    LEASES,
    NAMESPACES,
    SECRETS,
    ApiResource,
)
from asoreconcile.runtime.application import Application
from asoreconcile.runtime.detached import NotReadyError
from asoreconcile.runtime.handlers import map_to
from asoreconcile.runtime.health import CheckResult
from asoreconcile.runtime.leaderelection.lease import LeaderElectionOptions, LeaseTiming
from asoreconcile.runtime.manager import ManagerError
from asoreconcile.runtime.options import ControllerOptions
from asoreconcile.runtime.predicates import labelled
from asoreconcile.runtime.reconciler import Request, Result
from asoreconcile.runtime.runnable import RunnableFunc, RunnableGroup
from asoreconcile.serving.listener import ListenError
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.kube import KubeServer
from asoreconcile.webhooks.admission import Allowed
from asoreconcile.webhooks.managed import ManagedCertificates

ONE = ObjectKey("default", "one")


@pytest.fixture
def server():
    with KubeServer() as server:
        yield server


@pytest.fixture
def cluster(server, tmp_path):
    server.write_kubeconfig(tmp_path / "kubeconfig")
    return str(tmp_path / "kubeconfig")


@pytest.fixture
def application(cluster):
    applications = Applications(cluster)
    yield applications
    applications.close()


def create(app, resource, namespace, name, **meta):
    meta = {"namespace": namespace, "name": name, **meta}
    return app.client.create(resource, {"metadata": meta})


def read_any(address):
    """Whatever the status is."""
    try:
        return read(address)
    except urllib.error.HTTPError as error:
        with error:
            return error.read().decode()


def read(address):
    with urllib.request.urlopen(address, timeout=10) as answer:
        return answer.read().decode()


def test_ha2_an_owned_object_brings_its_controlling_owner_back(application):
    app, noting = application.make(), Noting()
    app.reconcile(CONFIG_MAPS, noting, when=labelled("mine")).owns(SECRETS)
    codes = application.start(app)
    owner = create(app, CONFIG_MAPS, "default", "one", labels={"mine": "yes"})
    assert noting.keys.get(timeout=20) == ONE
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "one",
        "uid": owner["metadata"]["uid"],
    }
    create(app, SECRETS, "default", "stranger", ownerReferences=[reference])
    create(
        app,
        SECRETS,
        "default",
        "child",
        ownerReferences=[{**reference, "controller": True}],
    )
    assert noting.keys.get(timeout=20) == ONE
    app.stop()
    assert codes.get(timeout=20) == 0
    assert noting.keys.empty()


def test_ha2_set_owner_and_owns_are_a_pair(application):
    app, noting = application.make(), Noting()
    app.reconcile(CONFIG_MAPS, noting, when=labelled("mine")).owns(SECRETS)
    codes = application.start(app)
    owner = create(app, CONFIG_MAPS, "default", "one", labels={"mine": "yes"})
    assert noting.keys.get(timeout=20) == ONE
    child = {"metadata": {"namespace": "default", "name": "child"}}
    set_owner(child, owner)
    app.client.create(SECRETS, child)
    assert noting.keys.get(timeout=20) == ONE
    app.stop()
    assert codes.get(timeout=20) == 0


@pytest.mark.parametrize("group", [RunnableGroup.OTHERS, RunnableGroup.LEADER])
def test_mg1_a_task_may_read_the_cache_from_its_first_line(application, group):
    app, found = application.make(), Queue()
    create(app, CONFIG_MAPS, "default", "one")
    app.informer(CONFIG_MAPS)

    def read(_stop):
        found.put(app.cached.get(CONFIG_MAPS, ONE))

    app.manager.add(RunnableFunc("reader", read, clock=app.clock), group=group)
    with app.running():
        assert found.get(timeout=20)["metadata"]["name"] == "one"


def test_mg7_it_is_waited_for_until_it_is_ready(application):
    """Readiness as `/readyz` says it, caches and own checks included."""
    app, ready = application.make(), threading.Event()
    create(app, CONFIG_MAPS, "default", "one")
    config_maps = app.informer(CONFIG_MAPS)
    app.readyz.add("mine", lambda: CheckResult(ready.is_set(), ("on its way",)))
    with app.running() as running:
        with pytest.raises(NotReadyError, match=r"(?s)\[-\]mine failed.*on its way"):
            running.wait_until_ready(timeout_seconds=0.1)
        ready.set()
        running.wait_until_ready()
        assert config_maps.get(ONE) is not None


def test_who_waited_needs_no_time_of_a_clock_that_stands_still(application, server):
    """Else a kind that syncs after its controller was started is noticed once the clock
    moves, and a test's first object is not reconciled before that; nor does a task run
    that waits for the caches.
    """
    app, noting = application.make(clock=FakeClock()), Noting()
    app.reconcile(CONFIG_MAPS, noting)
    ran = threading.Event()
    app.manager.add(RunnableFunc("mine", lambda _: ran.set(), clock=app.clock))
    create(app, CONFIG_MAPS, "default", "one")
    held = server.faults.hold(method="GET", path="/configmaps")
    with app.running():
        assert app.manager.started.wait(20)
        held.release()
        app.wait_until_ready()
        assert noting.keys.get(timeout=20) == ONE
        assert ran.wait(20)


def test_nobody_waits_for_an_application_that_ends(application):
    app = application.make()
    with pytest.raises(NotReadyError, match=r"call run\(\)"):
        app.wait_until_ready(timeout_seconds=0.01)
    app.readyz.add("never", lambda: CheckResult(ok=False))
    codes = application.start(app)
    app.manager.started.wait(20)
    threading.Timer(0.05, app.stop).start()
    with pytest.raises(NotReadyError, match="stopped before it was ready"):
        app.wait_until_ready()
    assert codes.get(timeout=20) == 0


def test_what_failed_to_start_is_said_to_who_waits(application):
    app = application.make()
    app.manager.add(
        RunnableFunc("broken", lambda _: 1 / 0, clock=app.clock),
        group=RunnableGroup.OTHERS,
    )
    app.readyz.add("never", lambda: CheckResult(ok=False))
    codes = application.start(app)
    with pytest.raises(NotReadyError, match="because of ZeroDivisionError"):
        app.wait_until_ready()
    assert codes.get(timeout=20) == 1


def test_it_runs_for_a_block(application):
    app, noting = application.make(), Noting()
    app.reconcile(CONFIG_MAPS, noting)
    with app.running() as running:
        assert running is app
        create(app, CONFIG_MAPS, "default", "one")
        assert noting.keys.get(timeout=20) == ONE
    with pytest.raises(StoppedError):
        app.client.get(CONFIG_MAPS, ONE)


def test_a_block_that_it_did_not_run_well_for_says_so(application):
    app = application.make()

    def fail(_stop):
        raise ZeroDivisionError

    app.manager.add(RunnableFunc("broken", fail, clock=app.clock))
    with pytest.raises(RuntimeError, match="ZeroDivisionError"), app.running():
        until(lambda: app.manager.failure)


def test_mg3_a_second_run_is_refused_and_leaves_the_first_as_it_is(application):
    app = application.make()
    with app.running():
        app.wait_until_ready()
        with pytest.raises(ManagerError, match="make another Application"):
            app.run(signals=False)
        with pytest.raises(ManagerError, match="once"), app.running():
            pass
        assert app.client.list_all(NAMESPACES), "its client is open"
        assert not app.manager.stopping.is_set()


@pytest.mark.parametrize("error", [ValueError("no such zone"), SystemExit("no zone")])
def test_a_block_is_told_what_its_first_steps_raised(application, error):
    """At once, in place of after the whole wait, with nothing but a stack trace."""

    def step():
        raise error

    app = application.make()
    app.before_start("look", step)
    with pytest.raises(NotReadyError, match="zone"), app.running():
        app.wait_until_ready()
    app = application.make()
    app.before_start("look", step)
    with pytest.raises(RuntimeError, match="zone") as raised, app.running():
        app.manager.stopping.wait(20)
    assert raised.value.__cause__ is error


def test_ct2_a_kind_may_be_added_while_it_runs(application):
    app, first, late = application.make(), Noting(), Noting()
    app.reconcile(SECRETS, first)
    create(app, SECRETS, "default", "one")
    application.start(app)
    first.keys.get(timeout=20)

    create(app, NAMESPACES, "", "west")
    app.reconcile(CONFIG_MAPS, late).watches(
        NAMESPACES, map_to(lambda entry: [Request(ObjectKey("", entry.key.name))])
    )
    seen = {late.keys.get(timeout=20).name for _ in range(5)}
    assert seen == {"default", "west"} | {
        f"kube-{n}" for n in ("node-lease", "public", "system")
    }


WIDGETS = ApiResource("demo.example.com", "v1", "widgets", "Widget")


def definition():
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.demo.example.com"},
        "spec": {
            "group": WIDGETS.group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def test_ct2_a_kind_that_is_not_there_yet_holds_up_no_other(application):
    """Its controller waits, is named in readiness, and starts with the CRD."""
    app = application.make(health_address="127.0.0.1:0")
    widgets, maps = Noting(), Noting()
    app.reconcile(WIDGETS, widgets)
    app.reconcile(CONFIG_MAPS, maps)
    create(app, CONFIG_MAPS, "default", "one")
    (endpoints,) = app.endpoints.values()
    application.start(app)
    assert maps.keys.get(timeout=20) == ONE
    report = read_any(f"http://127.0.0.1:{endpoints.port}/readyz?verbose")
    assert "    ConfigMap: synced" in report
    assert "    Widget.demo.example.com: not synced: " in report
    app.client.create(CUSTOM_RESOURCE_DEFINITIONS, definition())
    widget = {"apiVersion": "demo.example.com/v1", "kind": "Widget"}
    meta = {"namespace": "default", "name": "one"}
    app.client.create(WIDGETS, {**widget, "metadata": meta})
    assert widgets.keys.get(timeout=20) == ONE
    app.client.delete(CUSTOM_RESOURCE_DEFINITIONS, ObjectKey("", definition_name()))
    assert widgets.keys.get(timeout=20) == ONE
    assert app.informer(WIDGETS).keys() == []
    create(app, CONFIG_MAPS, "default", "two")
    assert maps.keys.get(timeout=20).name == "two"


def definition_name():
    return definition()["metadata"]["name"]


def test_an_informer_of_ones_own_is_started_shown_and_stopped(application, cluster):
    app = application.make(health_address="127.0.0.1:0")
    noting, shared = Noting(), Noting()
    informer = Informer(app.client, SECRETS, Scope(["kube-public"]), clock=app.clock)
    app.reconcile(SECRETS, shared, name="shared")
    app.reconcile(informer, noting)
    create(app, SECRETS, "default", "one")
    create(app, SECRETS, "kube-public", "two")
    codes = application.start(app)
    assert noting.keys.get(timeout=20) == ObjectKey("kube-public", "two")
    assert {shared.keys.get(timeout=20).name for _ in range(2)} == {"one", "two"}

    port = app.endpoints["127.0.0.1:0"].port
    text = read(f"http://127.0.0.1:{port}/readyz?verbose")
    assert "Secret: synced" in text
    assert "Secret (2): synced" in text
    app.stop()
    assert codes.get(timeout=20) == 0
    assert noting.keys.empty()
    assert informer.join(0) == []


def test_one_address_serves_metrics_and_health(application):
    app, noting = (
        application.make(metrics_address="127.0.0.1:0", health_address="127.0.0.1:0"),
        Noting(),
    )
    app.reconcile(
        CONFIG_MAPS,
        noting,
        name="maps",
        options=ControllerOptions(max_concurrent_reconciles=3),
    )
    create(app, CONFIG_MAPS, "default", "one")
    application.start(app)
    noting.keys.get(timeout=20)
    root = f"http://127.0.0.1:{app.endpoints['127.0.0.1:0'].port}"
    metrics = read(f"{root}/metrics")
    assert (
        'controller_runtime_max_concurrent_reconciles{controller="maps"} 3.0' in metrics
    )
    assert 'informer_synced{kind="ConfigMap"} 1.0' in metrics
    assert "process_resident_memory_bytes" in metrics
    assert "[+]maps ok" in read(f"{root}/healthz?verbose")


def test_ct4_a_terminal_error_waits_for_the_next_change(application):
    app, calls = application.make(), Queue()

    class Refusing:
        def reconcile(self, request):
            calls.put(request.key)
            raise TerminalError("only a change helps")

    app.reconcile(CONFIG_MAPS, Refusing(), name="maps")
    application.start(app)
    create(app, CONFIG_MAPS, "default", "one")
    assert calls.get(timeout=20) == ONE
    app.client.patch(CONFIG_MAPS, ONE, {"data": {"a": "b"}})
    assert calls.get(timeout=20) == ONE


def test_ct8_the_name_of_a_controller_is_taken_once(application):
    app = application.make()
    app.reconcile(CONFIG_MAPS, Noting())
    with pytest.raises(ManagerError, match="configmaps"):
        app.reconcile(CONFIG_MAPS, Noting())
    app.reconcile(CONFIG_MAPS, Noting(), name="another")


def test_a_missing_configuration_and_a_bad_address_are_named(cluster, tmp_path):
    with pytest.raises(KubeConfigError, match="nothing-here"):
        Application("tests", cluster=str(tmp_path / "nothing-here"))
    with pytest.raises(ListenError, match="nonsense"):
        Application("tests", cluster=load(cluster), metrics_address="nonsense")


def test_ct7_a_standby_takes_over_warm_and_says_what_it_is(application):
    """Of two applications one works; readiness tells which, and passes for both."""
    one, two = (
        application.make(leader_election="lease", health_address="127.0.0.1:0")
        for _ in range(2)
    )
    noting = {app: Noting() for app in (one, two)}
    for app, reconciler in noting.items():
        app.reconcile(CONFIG_MAPS, reconciler)
    create(one, CONFIG_MAPS, "default", "one")
    codes = application.start(one)
    assert noting[one].keys.get(timeout=20) == ONE
    application.start(two)
    (endpoints,) = two.endpoints.values()
    until(lambda: endpoints.port)
    address = f"http://127.0.0.1:{endpoints.port}/readyz"
    until(lambda: " leads\n" in read_any(f"{address}?verbose"))
    until(lambda: read_any(address) == "ok")
    assert (one.leads, two.leads) == (True, False)
    assert noting[two].keys.empty()
    one.stop()
    assert codes.get(timeout=20) == 0
    assert noting[two].keys.get(timeout=20) == ONE
    assert "    leader: " in read(f"{address}?verbose")


def test_mg5_who_lost_the_lease_writes_no_more_and_ends_with_1(application):
    timing = LeaseTiming(
        lease_seconds=60, renew_deadline_seconds=50, retry_seconds=0.05
    )
    app = application.make(
        leader_election=LeaderElectionOptions("lease", timing=timing)
    )
    started, taken, refused = Queue(), threading.Event(), Queue()

    class Writer:
        def reconcile(self, request):
            started.put(request.key)
            taken.wait(20)
            until(lambda: not app.leads)
            try:
                app.client.patch(CONFIG_MAPS, request.key, {"data": {"late": "yes"}})
            except StoppedError as error:
                refused.put(error)
                raise
            return Result()

    app.reconcile(CONFIG_MAPS, Writer())
    create(app, CONFIG_MAPS, "default", "one")
    codes = application.start(app)
    assert started.get(timeout=20) == ONE
    thief = application.make()
    lease = ObjectKey("default", "lease")
    thief.client.patch(LEASES, lease, {"spec": {"holderIdentity": "thief"}})
    taken.set()
    assert refused.get(timeout=20)
    assert codes.get(timeout=20) == 1
    found = thief.client.get(CONFIG_MAPS, ONE)
    assert "data" not in found
    assert thief.client.get(LEASES, lease)["spec"]["holderIdentity"] == "thief"


class WithWebhooks:
    """An application that serves a webhook, from when it is ready."""

    def __init__(self, application):
        self.app = app = application.make(health_address="127.0.0.1:0")
        self.certificates = ManagedCertificates(
            app.client,
            ObjectKey("default", "certificate"),
            ["localhost"],
            clock=app.clock,
            metrics=app.webhook_metrics,
        )
        self.server = app.webhooks("127.0.0.1:0", certificates=self.certificates)
        self.server.validate("/validate", lambda _: Allowed())
        (endpoints,) = app.endpoints.values()
        self.codes = application.start(app)
        until(lambda: endpoints.port)
        self.health = f"http://127.0.0.1:{endpoints.port}"
        until(lambda: read_any(f"{self.health}/readyz/webhooks") == "ok")

    def end(self):
        self.app.stop()
        assert self.codes.get(timeout=20) == 0


def test_wh8_webhooks_run_with_the_application_and_readiness_waits_for_them(
    application,
):
    running = WithWebhooks(application)
    trusted = running.certificates.authorities.decode()
    context = ssl.create_default_context(cadata=trusted)
    request = urllib.request.Request(
        f"https://localhost:{running.server.port}/validate",
        data=b"{}",
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10, context=context) as answer:
        assert b"is no AdmissionReview" in answer.read()
    running.end()
    assert "Error" in running.server.problem()


def test_liveness_fails_once_the_webhooks_port_has_died(application):
    running = WithWebhooks(application)
    listeners = f"{running.health}/healthz/listeners"
    assert read_any(listeners) == "ok"
    listener = running.server._listener
    listener._server.socket.shutdown(socket.SHUT_RDWR)  # as if it broke
    until(listener.lost)
    assert listener.lost() in read_any(f"{running.health}/healthz?verbose")
    assert read_any(listeners) != "ok"
    running.end()
