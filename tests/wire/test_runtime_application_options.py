"""What an application is told reaches the parts that it is made of."""

import ssl
import threading
import urllib.error
import urllib.request
from datetime import datetime, timedelta

import pytest
from applications import Applications, Noting, until
from prometheus_client import generate_latest

from asoreconcile import (
    CONFIG_MAPS,
    LEASES,
    SECRETS,
    Application,
    CacheOptions,
    ClientOptions,
    ConflictError,
    ControllerOptions,
    GroupKind,
    Informer,
    LeaderElectionOptions,
    LeaseTiming,
    ListenError,
    NotCachedError,
    NotFoundError,
    NotLeadingError,
    ObjectKey,
    Request,
    Result,
    Scope,
    Watch,
    map_to,
)
from asoreconcile.kube.resources import EVENTS
from asoreconcile.kube.selection import Selection
from asoreconcile.testing.clock import FakeClock
from asoreconcile.webhooks.server import WebhookLimits

ONE = ObjectKey("default", "one")
OTHER = ObjectKey("kube-public", "other")


@pytest.fixture
def application(server, tmp_path):
    server.write_kubeconfig(tmp_path / "kubeconfig")
    applications = Applications(str(tmp_path / "kubeconfig"))
    yield applications
    applications.close()


def create(app, resource, key, **content):
    meta = {"namespace": key.namespace, "name": key.name}
    return app.client.create(resource, {"metadata": meta, **content})


def paths(server, resource):
    return {one.path for one in server.journal if one.resource == resource}


def test_ca2_only_the_namespaces_that_are_named_are_watched(application, server):
    app = application.make(cache=CacheOptions(namespaces=["kube-public"]))
    noting = Noting()
    app.reconcile(CONFIG_MAPS, noting)
    for key in (ONE, OTHER):
        create(app, CONFIG_MAPS, key)
    server.journal.clear()
    application.start(app)
    assert noting.keys.get(timeout=20) == OTHER
    assert app.cached.get(CONFIG_MAPS, OTHER)["metadata"]["name"] == "other"
    with pytest.raises(NotCachedError, match="default"):
        app.cached.get(CONFIG_MAPS, ONE)
    # The role of these namespaces is enough.
    assert all("kube-public" in path for path in paths(server, "configmaps"))


def test_ca2_a_kind_has_a_scope_and_a_transform_of_its_own(application):
    def without_data(obj):
        obj.pop("data", None)
        return obj

    mine = Scope(label_selector="app=mine", transform=without_data)
    app = application.make(cache=CacheOptions(kinds={GroupKind("", "Secret"): mine}))
    secrets, maps = app.informer(SECRETS), app.informer(CONFIG_MAPS)
    create(app, CONFIG_MAPS, ONE, data={"a": "b"})
    create(app, SECRETS, OTHER)
    labelled = {"namespace": "default", "name": "one", "labels": {"app": "mine"}}
    app.client.create(SECRETS, {"metadata": labelled, "data": {"a": "Yg=="}})
    application.start(app)
    until(lambda: secrets.has_synced() and maps.has_synced())
    assert secrets.keys() == [ONE]
    assert "data" not in secrets.get(ONE)
    assert maps.get(ONE)["data"] == {"a": "b"}


def test_ca2_the_general_transform_counts_where_a_kind_has_none(application):
    def marked(obj):
        return {**obj, "marked": True}

    app = application.make(
        cache=CacheOptions(transform=marked, streaming=False, field_selector="")
    )
    create(app, CONFIG_MAPS, ONE)
    maps = app.informer(CONFIG_MAPS)
    application.start(app)
    until(maps.has_synced)
    assert maps.get(ONE)["marked"] is True


def test_ca1_selectors_of_one_informer_make_a_cache_of_their_own(application):
    app = application.make()
    narrow = app.informer(CONFIG_MAPS, field_selector="metadata.name=one")
    assert narrow is app.informer(CONFIG_MAPS, field_selector="metadata.name=one")
    assert narrow is not app.informer(CONFIG_MAPS)
    for name in ("one", "two"):
        create(app, CONFIG_MAPS, ObjectKey("default", name))
    application.start(app)
    until(narrow.has_synced)
    assert narrow.keys("default") == [ONE]


def test_an_informer_that_many_ask_for_is_shown_once(application):
    app = application.make()
    assert app.informer(CONFIG_MAPS) is app.informer(CONFIG_MAPS)
    app.informer(CONFIG_MAPS, metadata_only=True)
    shown = app.readyz.report(verbose=True).text
    assert [line.strip() for line in shown.splitlines() if "ConfigMap" in line] == [
        "ConfigMap: not synced",
        "ConfigMap (2): not synced",
    ]


def test_a_kind_can_come_and_go_while_the_process_runs(application):
    app = application.make()
    application.start(app)
    create(app, CONFIG_MAPS, ONE)
    informer, noting = app.informer(CONFIG_MAPS), Noting()
    controller = app.controller("maps", noting)
    controller.watch(Watch(informer))
    controller.start()
    assert noting.keys.get(timeout=20) == ONE
    assert 'informer_synced{kind="ConfigMap"}' in generate_latest(app.registry).decode()
    assert controller.stop(20) == []
    assert informer.stop(20) == []
    app.release(informer)
    app.release(informer)  # once is enough
    assert "informer_synced{" not in generate_latest(app.registry).decode()
    assert "ConfigMap" not in app.readyz.report(verbose=True).text
    assert app.informer(CONFIG_MAPS) is not informer


def test_requests_carry_the_name_that_was_chosen(application, server):
    app = application.make(client=ClientOptions(user_agent="mine/1"))
    create(app, CONFIG_MAPS, ONE)
    assert server.journal[-1].user_agent == "mine/1"
    create(application.make(), CONFIG_MAPS, OTHER)
    assert server.journal[-1].user_agent.startswith("tests asoreconcile/")


def test_le5_other_clients_can_ask_what_ours_asks_before_a_write(application):
    assert application.make().fence is None
    app = application.make(leader_election="fenced")
    codes = application.start(app)
    until(lambda: app.leads)
    app.fence()
    app.stop()
    codes.get(timeout=20)
    with pytest.raises(NotLeadingError):
        app.fence()


def test_an_application_knows_until_when_the_last_one_led(application):
    assert application.make().predecessor_renewed is None
    lease = ObjectKey("kube-public", "in-turn")
    election = LeaderElectionOptions(lease.name, lease.namespace)
    first, second = (application.make(leader_election=election) for _ in range(2))
    codes = application.start(first)
    until(lambda: first.leads)
    assert first.predecessor_renewed is None
    first.stop()
    codes.get(timeout=20)
    given_back = second.client.get(LEASES, lease)["spec"]["renewTime"]
    application.start(second)
    until(lambda: second.leads)
    assert second.predecessor_renewed == datetime.fromisoformat(given_back)


def test_d21_the_cached_client_reads_what_it_wrote(application):
    app = application.make()
    seen = []

    class Reader:
        def reconcile(self, request: Request) -> Result:
            answer = app.cached.patch(CONFIG_MAPS, request.key, {"data": {"a": "b"}})
            found = app.cached.get(CONFIG_MAPS, request.key)
            seen.append(found["metadata"]["resourceVersion"])
            assert found["data"] == answer["data"]
            app.cached.delete(CONFIG_MAPS, request.key)
            with pytest.raises(NotFoundError):
                app.cached.get(CONFIG_MAPS, request.key)
            done.set()
            return Result()

    done = threading.Event()
    app.reconcile(CONFIG_MAPS, Reader(), when=lambda event: event.key == ONE)
    create(app, CONFIG_MAPS, ONE)
    application.start(app)
    assert done.wait(20)
    assert seen


def test_cl6_a_rate_of_requests_is_kept(application):
    clock = FakeClock()
    app = application.make(clock=clock, client=ClientOptions(qps=0.1, burst=1))
    create(app, CONFIG_MAPS, ONE)
    got = threading.Event()

    def get():
        app.client.get(CONFIG_MAPS, ONE)
        got.set()

    reader = threading.Thread(target=get)
    reader.start()
    clock.until_waiting()
    clock.advance(9)
    assert not got.is_set()
    clock.advance(1)
    assert got.wait(20)
    reader.join(20)


def test_cl4_writes_say_who_writes(application):
    """Who owns a field is known by its manager's name."""
    one, two = (
        application.make(client=ClientOptions(field_manager=name))
        for name in ("one", "two")
    )
    meta = {"namespace": ONE.namespace, "name": ONE.name}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
    body["data"] = {"a": "b"}
    one.client.patch(CONFIG_MAPS, ONE, body, kind="apply")
    body["data"]["a"] = "c"
    with pytest.raises(ConflictError):
        two.client.patch(CONFIG_MAPS, ONE, body, kind="apply")
    one.client.patch(CONFIG_MAPS, ONE, body, kind="apply")


def test_cl4_a_dry_run_changes_nothing(application):
    app = application.make(client=ClientOptions(dry_run=True))
    create(app, CONFIG_MAPS, ONE)
    with pytest.raises(NotFoundError):
        app.client.get(CONFIG_MAPS, ONE)


def event_paths(server):
    return [one.path for one in server.journal if one.resource.startswith("events")]


@pytest.mark.parametrize(
    ("api", "path"), [("v1", "/api/v1/"), ("events.k8s.io/v1", "/apis/events.k8s.io/")]
)
def test_events_are_of_the_api_that_was_asked_for(application, server, api, path):
    app = application.make(event_api=api)
    made = create(app, CONFIG_MAPS, ONE)
    codes = application.start(app)
    app.recorder.event(made, "Normal", "Greeted", "hello")
    until(lambda: any(one.startswith(path) for one in event_paths(server)))
    app.stop()
    assert codes.get(timeout=20) == 0


def status(url, token=""):
    context = ssl._create_unverified_context()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10, context=context) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_mg8_metrics_are_for_whom_the_cluster_lets(application, server):
    app = application.make(
        metrics_address="127.0.0.1:0",
        health_address="localhost:0",
        secure_metrics=True,
    )
    application.start(app)
    metrics, health = app.endpoints["127.0.0.1:0"], app.endpoints["localhost:0"]
    until(lambda: metrics.port and health.port)
    url = f"https://localhost:{metrics.port}/metrics"
    assert status(url) == 401
    assert status(url, "nobody's") == 401
    assert status(url, server.token) == 200
    assert status(f"http://localhost:{health.port}/healthz") == 200


def test_mg8_probes_are_not_to_log_in(application):
    with pytest.raises(ListenError, match="an address of their own"):
        application.make(
            metrics_address=":8080", health_address=":8080", secure_metrics=True
        )


def test_mg2_what_every_replica_does_waits_for_no_lease(application):
    timing = LeaseTiming(
        lease_seconds=60, renew_deadline_seconds=50, retry_seconds=0.05
    )
    election = LeaderElectionOptions("lease", namespace="kube-public", timing=timing)
    leader, standby = (application.make(leader_election=election) for _ in range(2))
    application.start(leader)
    until(lambda: leader.leads)
    everywhere, once = Noting(), Noting()
    standby.reconcile(
        CONFIG_MAPS,
        everywhere,
        name="everywhere",
        options=ControllerOptions(needs_leader=False),
    )
    standby.reconcile(CONFIG_MAPS, once, name="once")
    create(leader, CONFIG_MAPS, ONE)
    application.start(standby)
    assert everywhere.keys.get(timeout=20) == ONE
    assert once.keys.empty()
    assert not standby.leads


def test_le5_a_step_waits_for_the_lease_and_comes_before_what_is_added_after_it(
    application,
):
    timing = LeaseTiming(
        lease_seconds=60, renew_deadline_seconds=50, retry_seconds=0.05
    )
    election = LeaderElectionOptions("lease", namespace="kube-public", timing=timing)
    leader, standby = (application.make(leader_election=election) for _ in range(2))
    application.start(leader)
    until(lambda: leader.leads)
    done = []

    def reconcile(request):
        done.append(request.key.name)
        return Result()

    standby.when_leading("first", lambda: done.append("first"))
    standby.when_leading("second", lambda: done.append("second"))
    standby.reconcile(CONFIG_MAPS, reconcile)
    create(leader, CONFIG_MAPS, ONE)
    application.start(standby)
    until(standby.manager.started.is_set)
    assert done == []
    leader.stop()
    until(lambda: len(done) == 3)
    assert done == ["first", "second", "one"]


def test_a_controller_of_no_kind_reconciles_keys_of_its_own(application):
    app = application.make()
    noting, all_of_them = Noting(), ObjectKey("", "all")
    building = app.reconcile(None, noting, name="overview")
    building.watches(CONFIG_MAPS, map_to(lambda _: (Request(all_of_them),)))
    application.start(app)
    create(app, CONFIG_MAPS, ONE)
    assert noting.keys.get(timeout=20) == all_of_them
    building.controller.enqueue(OTHER)
    until(lambda: OTHER in noting.keys.queue)
    with pytest.raises(ValueError, match="overview reconciles no kind"):
        building.owns(SECRETS)
    with pytest.raises(ValueError, match="needs a name"):
        app.reconcile(None, Noting())


def test_in8_each_object_comes_again_at_the_time_of_a_resync(application):
    clock = FakeClock()
    app = application.make(clock=clock)
    noting = Noting()
    create(app, CONFIG_MAPS, ONE)
    informer = Informer(app.client, CONFIG_MAPS, clock=clock)
    app.reconcile(informer, noting, resync_seconds=3600)
    application.start(app)
    # The gate before the first reconcile looks again and again.
    until(lambda: clock.advance(0.1) or not noting.keys.empty())
    assert noting.keys.get(timeout=20) == ONE
    clock.advance(3000)
    assert noting.keys.empty()
    clock.advance(600)
    assert noting.keys.get(timeout=20) == ONE


def test_in10_an_object_that_cannot_be_read_is_told_so_and_holds_up_no_other(
    application,
):
    def transform(obj):
        if obj["metadata"]["name"] == "other":
            raise ValueError("broken on purpose")
        return obj

    options, found = CacheOptions(transform=transform), []
    app = application.make(cache=options)
    other = application.make(cache=options, on_unreadable=found.append)
    create(app, CONFIG_MAPS, OTHER)
    create(app, CONFIG_MAPS, ONE)
    noting = Noting()
    app.reconcile(CONFIG_MAPS, noting)
    application.start(app)
    until(lambda: noting.keys.get(timeout=10) == ONE)
    until(lambda: app.client.list_page(Selection(EVENTS, OTHER.namespace)).items)
    (event,) = app.client.list_page(Selection(EVENTS, OTHER.namespace)).items
    assert (event["type"], event["reason"]) == ("Warning", "Unreadable")
    assert "broken on purpose" in event["message"]
    assert event["involvedObject"]["name"] == "other"
    shown = generate_latest(app.registry).decode()
    assert 'informer_unreadable_objects{kind="ConfigMap"} 1.0' in shown
    other.informer(CONFIG_MAPS)
    application.start(other)
    until(lambda: found)
    assert (found[0].key, "broken on purpose" in found[0].message) == (OTHER, True)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"health_address": 8080}, ListenError, "write host:port or :port"),
        ({"metrics_address": 0}, ListenError, "write host:port or :port"),
        ({"grace_seconds": timedelta(seconds=30)}, TypeError, "grace_seconds is"),
        ({"grace_seconds": -1}, ValueError, "grace_seconds is -1: give 0 or more"),
        ({"grace_seconds": float("nan")}, ValueError, "grace_seconds is not a number"),
    ],
)
def test_what_no_application_can_be_made_with_is_refused(
    application, options, error, said
):
    with pytest.raises(error, match=said):
        application.make(**options)


def test_a_client_is_told_its_time_in_seconds():
    with pytest.raises(TypeError, match="read_seconds is"):
        ClientOptions(read_seconds=timedelta(seconds=5))


def test_an_application_has_a_name(server, tmp_path):
    server.write_kubeconfig(tmp_path / "kubeconfig")
    with pytest.raises(ValueError, match="needs a name"):
        Application("", cluster=str(tmp_path / "kubeconfig"))


def test_mg6_signals_are_for_the_main_thread_and_the_message_says_what_to_do(
    application,
):
    app, said = application.make(), []

    def run():
        try:
            app.run()
        except ValueError as error:
            said.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert said
    assert "run(signals=False)" in said[0]
    # Nothing had begun.
    with app.running():
        app.wait_until_ready()


@pytest.mark.parametrize(
    "options",
    [{"qps": 0}, {"qps": -2}, {"read_seconds": -1}, {"read_seconds": 0}],
)
def test_client_limits_below_zero_are_refused(options):
    with pytest.raises(ValueError, match="give more than 0"):
        ClientOptions(**options)


@pytest.mark.parametrize("value", [0, -1])
@pytest.mark.parametrize(
    "name",
    [
        "max_conversions",
        "max_admissions",
        "max_admission_bytes",
        "max_conversion_bytes",
    ],
)
def test_limits_of_webhooks_below_one_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} is {value}: give 1 or more"):
        WebhookLimits(**{name: value})


@pytest.mark.parametrize("qps", [None, -1, -1.0])
def test_a_rate_of_minus_one_is_no_limit(qps):
    assert ClientOptions(qps=qps)._rate is None
