"""What a developer's code says wrong is refused where it is said, not when it is used."""

from datetime import timedelta

import pytest

from asoreconcile.base.backoff import ItemExponential, TokenBucket
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.objects import GroupKind, ObjectKey
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added
from asoreconcile.kube.finalizers import add_finalizer
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.runtime.application import Application
from asoreconcile.runtime.detached import NotReadyError
from asoreconcile.runtime.handlers import enqueue_owner, map_to
from asoreconcile.runtime.leaderelection.lease import LeaderElectionOptions, LeaseTiming
from asoreconcile.runtime.manager import Manager, ManagerError
from asoreconcile.runtime.options import ClientOptions, ControllerOptions
from asoreconcile.runtime.predicates import concerns, generation_changed, labelled
from asoreconcile.runtime.reconciler import Request, Result
from asoreconcile.runtime.runnable import RunnableFunc, RunnableHooks
from asoreconcile.runtime.sources import Watch
from asoreconcile.testing.clock import FakeClock
from asoreconcile.webhooks.admission import Allowed, Denied
from asoreconcile.webhooks.configurations import WebhookRules
from asoreconcile.webhooks.managed import ManagedCertificates

CLOCK = FakeClock()


def takes_nothing():
    return []


def takes_a_request(_request):
    return Result()


class DelayOnly:
    def delay(self, key, error=None):
        return 1.0


class NoError(DelayOnly):
    def delay(self, key):
        return 1.0


@pytest.fixture
def kubeconfig(tmp_path):
    """Of a server that is not there: making an application sends nothing."""
    path = tmp_path / "kubeconfig"
    path.write_text(
        "{clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}], contexts: "
        "[{name: a, context: {cluster: a}}], current-context: a}"
    )
    return path


@pytest.fixture
def app(kubeconfig):
    made = Application("wrong", cluster=str(kubeconfig))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"resync_seconds": "5m"}, "resync_seconds is '5m': give a number of seconds"),
        ({"resync_seconds": timedelta(minutes=5)}, "give a number of seconds"),
        ({"resync_seconds": -1}, "resync_seconds is -1: give 0 or more"),
        ({"when": labelled}, r"labelled is no predicate, labelled\(\.\.\.\) is one"),
        ({"when": concerns}, r"concerns is no predicate, concerns\(\.\.\.\) is one"),
        ({"when": [generation_changed]}, "is no predicate: it cannot be called"),
        ({"when": lambda old, new: True}, r"is called with \(event\)"),
        ({"handler": "users"}, "users' is no handler: it cannot be called"),
        ({"handler": takes_nothing}, r"is called with \(event\)"),
    ],
)
def test_a_watch_that_could_make_no_request(options, said):
    with pytest.raises((TypeError, ValueError), match=said):
        Watch(object(), **options)


def test_handlers_may_be_generator_functions():
    def users(entry):
        yield Request(entry.key)

    def handler(event):
        yield from map_to(users)(event)

    added = Added(Entry({"metadata": {"namespace": "ns", "name": "a"}}))
    (found,) = Watch(object(), handler).requests(added)
    assert found.key == ObjectKey("ns", "a")


@pytest.mark.parametrize("make", [map_to, concerns])
def test_what_looks_at_an_entry_has_to_take_one(make):
    with pytest.raises(TypeError, match=r"is called with \(entry\)"):
        make(takes_nothing)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limiter": 3}, "limiter is 3, without a method `delay`"),
        ({"limiter": ItemExponential}, "limiter is the class ItemExponential"),
        ({"limiter": DelayOnly()}, "without a method `forget`"),
        ({"limiter": NoError()}, r"is called with \(key, error\)"),
        ({"throttle": TokenBucket(1, 1, clock=CLOCK)}, "give Throttle"),
        ({"fairness": "namespace"}, "is no group of a key"),
    ],
)
def test_what_a_worker_would_fail_with_at_an_object(options, said):
    with pytest.raises(TypeError, match=said):
        ControllerOptions(**options)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: TokenBucket(0, 1, clock=CLOCK), "qps is 0: give more than 0"),
        (lambda: TokenBucket("5", 1, clock=CLOCK), "qps is '5': give a number"),
        (lambda: TokenBucket(1, 0, clock=CLOCK), "burst is 0: give 1 or more"),
        (lambda: ItemExponential("1s", 9, clock=CLOCK), "base_seconds is '1s'"),
        (lambda: ItemExponential(-1, 9, clock=CLOCK), "base_seconds is -1"),
        (lambda: ItemExponential(1, None, clock=CLOCK), "max_seconds is None"),
        (lambda: ClientOptions(qps=0), "qps is 0: give more than 0"),
        (lambda: ClientOptions(qps=1, burst=0), "burst is 0: give 1 or more"),
        (lambda: ClientOptions(max_retries=-1), "max_retries is -1"),
        (lambda: Result(True), "requeue_after_seconds is True"),
        (lambda: LeaseTiming("15s"), "lease_seconds is '15s'"),
        (lambda: LeaderElectionOptions(""), "needs the name of a lease"),
    ],
)
def test_times_rates_and_names_that_are_none(wrong, said):
    with pytest.raises((TypeError, ValueError), match=said):
        wrong()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"client": {"qps": 3}}, r"client is \{'qps': 3\}: give ClientOptions"),
        ({"cache": ["default"]}, r"cache is \['default'\]: give CacheOptions"),
        ({"leader_election": True}, "is True: give str or LeaderElectionOptions"),
        ({"leader_election": ""}, "needs the name of a lease"),
    ],
)
def test_options_of_an_application_are_of_their_classes(kubeconfig, options, said):
    with pytest.raises((TypeError, ValueError), match=said):
        Application("wrong", cluster=str(kubeconfig), **options)


@pytest.mark.parametrize("kind", ["configmaps", GroupKind("", "ConfigMap"), None, 3])
def test_what_is_no_kind_is_told_what_is_one(app, kind):
    with pytest.raises(TypeError, match="is no kind: give an ApiResource, such as"):
        app.informer(kind)


def test_objects_of_a_class_are_not_metadata_alone(app):
    """It was left alone, and whole objects were cached."""
    with pytest.raises(TypeError, match=r"give resource_of\(Request\) for metadata"):
        app.informer(Request, metadata_only=True)


def test_selectors_are_texts(app):
    with pytest.raises(TypeError, match="write it as a text, such as 'app=mine"):
        app.informer(CONFIG_MAPS, label_selector={"app": "mine"})


def test_options_of_a_controller_are_one_value(app):
    with pytest.raises(TypeError, match="give ControllerOptions"):
        app.reconcile(CONFIG_MAPS, lambda request: Result(), options={"limiter": None})


@pytest.mark.parametrize("step", [None, lambda stop: None, "install"])
def test_steps_are_functions_without_arguments(app, step):
    for add in (app.before_start, app.when_leading):
        with pytest.raises(TypeError, match=r"is no step"):
            add("mine", step)
    with pytest.raises(TypeError, match="is no function to close with"):
        app.on_close(step)


def test_steps_may_answer_what_they_like(app):
    app.before_start("mine", lambda: ["a CRD"])
    RunnableHooks("mine", lambda: 1).start()


def test_a_task_is_given_its_stop():
    with pytest.raises(TypeError, match=r"is no task: it is called with \(stop\)"):
        RunnableFunc("mine", lambda: None, clock=CLOCK)


@pytest.mark.parametrize("service", [lambda: None, RunnableFunc, "mine"])
def test_a_manager_says_what_a_service_is(service):
    with pytest.raises(TypeError, match=r"is no service: .* RunnableFunc\(name"):
        Manager(clock=SystemClock()).add(service)


def test_a_child_says_what_it_is(app):
    with pytest.raises(ValueError, match="child ns/a needs apiVersion and kind"):
        app.apply(None, {"metadata": {"namespace": "ns", "name": "a"}})
    with pytest.raises(ValueError, match="ConfigMap in ns needs a name"):
        app.apply(None, {"metadata": {"namespace": "ns"}}, resource=CONFIG_MAPS)
    with pytest.raises(TypeError, match=r"name='a'\) is not an object: give a dict"):
        app.apply(ObjectKey("ns", "a"), {}, resource=CONFIG_MAPS)


def test_calls_of_the_client_that_the_server_need_not_see(app):
    with pytest.raises(ValueError, match="ConfigMap 'a' needs a namespace"):
        app.client.get(CONFIG_MAPS, ObjectKey("", "a"))
    with pytest.raises(ValueError, match="ConfigMap 'a' needs a namespace"):
        app.client.create(CONFIG_MAPS, {"metadata": {"name": "a"}})
    with pytest.raises(ValueError, match="ConfigMap in ns needs a name"):
        app.client.get(CONFIG_MAPS, ObjectKey("ns", ""))
    with pytest.raises(TypeError, match=r"key is .*: give ObjectKey"):
        app.client.delete(CONFIG_MAPS, {})
    with pytest.raises(ValueError, match="'ssa' is no kind of patch: give one of"):
        app.client.patch(CONFIG_MAPS, None, {}, kind="ssa")
    with pytest.raises(TypeError, match="timeout_seconds is '5s'"):
        app.client.watch(CONFIG_MAPS, timeout_seconds="5s")
    with pytest.raises(TypeError, match="timeout_seconds is '5s'"):
        app.wait_until_ready("5s")


@pytest.mark.parametrize("name", ["", "cleanup", "/cleanup", "example.com/"])
def test_a_finalizer_has_a_domain(name):
    with pytest.raises(ValueError, match="is no finalizer: give a domain and"):
        add_finalizer({"metadata": {}}, name)


def test_a_label_has_a_name():
    with pytest.raises(TypeError, match=r"name is .*: give str"):
        labelled({"greet": "yes"})


def test_a_kubeconfig_may_be_a_path(kubeconfig):
    app = Application("paths", cluster=kubeconfig)
    app.cluster("east", kubeconfig)
    app.close()
    with pytest.raises(TypeError, match="cluster is 5: give the path of a kubeconfig"):
        Application("paths", cluster=5)


def test_a_second_controller_of_a_kind_needs_a_name(app):
    app.reconcile(CONFIG_MAPS, takes_a_request)
    with pytest.raises(ManagerError, match=r"configmaps is taken: give .* by name="):
        app.reconcile(CONFIG_MAPS, takes_a_request)


def test_a_wait_before_the_start_says_what_to_call(app):
    with pytest.raises(NotReadyError, match=r"call run\(\), or wait in"):
        app.wait_until_ready(0)


def test_a_closed_application_is_not_run(app):
    """None of its clients answers: it would run, and do nothing."""
    app.close()
    with pytest.raises(ManagerError, match="wrong is closed: make another"):
        app.run(signals=False)


@pytest.mark.parametrize(
    ("add", "said"),
    [
        (lambda one: one.add_handler(None), "None is no handler"),
        (lambda one: one.add_handler(lambda old, new: 0), r"called with \(event\)"),
        (
            lambda one: one.add_handler(print, resync_seconds="5s"),
            "resync_seconds is '5s'",
        ),
        (lambda one: one.add_index("mine", None), "None is no function of an Entry"),
    ],
)
def test_what_an_informer_would_fail_with_at_an_object(app, add, said):
    with pytest.raises(TypeError, match=said):
        add(app.informer(CONFIG_MAPS))


def test_an_owner_is_a_kind_by_either_name():
    """No reference would be of a resource, and no owner be woken."""
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}
    metadata = {"namespace": "ns", "name": "b", "ownerReferences": [owner]}
    event = Added(Entry({"metadata": metadata}))
    for kind in (CONFIG_MAPS, CONFIG_MAPS.group_kind):
        (found,) = enqueue_owner(kind)(event)
        assert found.key == ObjectKey("ns", "a")
    with pytest.raises(TypeError, match="owner is 'ConfigMap': give GroupKind"):
        enqueue_owner("ConfigMap")


def test_a_mistaken_text_is_no_list(app):
    """Each of its letters would be a group, or a host's name."""
    with pytest.raises(TypeError, match="groups is 'team-a': give a list"):
        app.client_as("bob", groups="team-a")
    secret = ObjectKey("ns", "certificate")
    with pytest.raises(TypeError, match=r"hosts is 'mine.ns.svc': give a list"):
        ManagedCertificates(app.client, secret, "mine.ns.svc", clock=CLOCK)
    with pytest.raises(TypeError, match="is no function of targets"):
        ManagedCertificates(app.client, secret, ["a"], clock=CLOCK, targets=["mine"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: WebhookRules("configmaps"), "'configmaps' is no kind"),
        (lambda: WebhookRules(WebhookRules), "is no kind: give an ApiResource"),
        (lambda: WebhookRules(["pods"]), "a kind is 'pods': give ApiResource"),
        (lambda: WebhookRules(CONFIG_MAPS, operations="CREATE"), "give a list"),
        (lambda: WebhookRules(CONFIG_MAPS, operations=["create"]), "no operations"),
    ],
)
def test_rules_of_webhooks_that_ask_about_nothing(wrong, said):
    with pytest.raises((TypeError, ValueError), match=said):
        wrong()


def test_a_webhook_says_where_and_about_what(app):
    secret = ObjectKey("ns", "certificate")
    certificates = ManagedCertificates(app.client, secret, ["a"], clock=CLOCK)
    server = app.webhooks("0", certificates=certificates)
    with pytest.raises(TypeError, match=r"is no path: give one, and the kinds by on="):
        server.validate(CONFIG_MAPS, lambda request: Allowed())
    with pytest.raises(TypeError, match=r"on is .*: give WebhookRules"):
        server.validate("/a", lambda request: Allowed(), on=CONFIG_MAPS)


def test_one_warning_is_one():
    assert Allowed("that is large").warnings == ("that is large",)
    assert Denied("no", warnings="that is large").warnings == ("that is large",)


@pytest.mark.parametrize("seconds", [-1, timedelta(seconds=1), "1"])
def test_time_moves_on_by_seconds(seconds):
    with pytest.raises((TypeError, ValueError), match="seconds is"):
        FakeClock().advance(seconds)
