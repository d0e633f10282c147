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


SECRET = ObjectKey("ns", "certificate")


def watch(**options):
    return lambda app: Watch(object(), **options)


def options_of(**options):
    return lambda app: ControllerOptions(**options)


def handles(*handler, **options):
    return lambda app: app.informer(CONFIG_MAPS).add_handler(*handler, **options)


def webhooks(app):
    certificates = ManagedCertificates(app.client, SECRET, ["a"], clock=CLOCK)
    return app.webhooks("0", certificates=certificates)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        # A watch that could make no request
        (watch(resync_seconds="5m"), "resync_seconds is '5m': give a number of sec"),
        (watch(resync_seconds=timedelta(minutes=5)), "give a number of seconds"),
        (watch(resync_seconds=-1), "resync_seconds is -1: give 0 or more"),
        (watch(when=labelled), r"labelled is no predicate, labelled\(\.\.\.\) is one"),
        (watch(when=concerns), r"concerns is no predicate, concerns\(\.\.\.\) is one"),
        (watch(when=[generation_changed]), "is no predicate: it cannot be called"),
        (watch(when=lambda old, new: True), r"is called with \(event\)"),
        (watch(handler="users"), "users' is no handler: it cannot be called"),
        (watch(handler=takes_nothing), r"is called with \(event\)"),
        (lambda app: map_to(takes_nothing), r"is called with \(entry\)"),
        (lambda app: concerns(takes_nothing), r"is called with \(entry\)"),
        (lambda app: labelled({"greet": "yes"}), r"name is .*: give str"),
        # An owner is a kind: no reference would be of a resource.
        (lambda app: enqueue_owner("ConfigMap"), "owner is 'ConfigMap': give GroupKind"),
        # A worker would fail at an object
        (options_of(limiter=3), "limiter is 3, without a method `delay`"),
        (options_of(limiter=ItemExponential), "limiter is the class ItemExponential"),
        (options_of(limiter=DelayOnly()), "without a method `forget`"),
        (options_of(limiter=NoError()), r"is called with \(key, error\)"),
        (options_of(throttle=TokenBucket(1, 1, clock=CLOCK)), "give Throttle"),
        (options_of(fairness="namespace"), "is no group of a key"),
        (lambda app: app.reconcile(CONFIG_MAPS, takes_a_request, options={"limiter": None}),
         "give ControllerOptions"),
        # An informer would
        (handles(None), "None is no handler"),
        (handles(lambda old, new: 0), r"called with \(event\)"),
        (handles(print, resync_seconds="5s"), "resync_seconds is '5s'"),
        (lambda app: app.informer(CONFIG_MAPS).add_index("mine", None),
         "None is no function of an Entry"),
        # Times, rates and names
        (lambda app: TokenBucket(0, 1, clock=CLOCK), "qps is 0: give more than 0"),
        (lambda app: TokenBucket("5", 1, clock=CLOCK), "qps is '5': give a number"),
        (lambda app: TokenBucket(1, 0, clock=CLOCK), "burst is 0: give 1 or more"),
        (lambda app: ItemExponential("1s", 9, clock=CLOCK), "base_seconds is '1s'"),
        (lambda app: ItemExponential(-1, 9, clock=CLOCK), "base_seconds is -1"),
        (lambda app: ItemExponential(1, None, clock=CLOCK), "max_seconds is None"),
        (lambda app: ClientOptions(qps=0), "qps is 0: give more than 0"),
        (lambda app: ClientOptions(qps=1, burst=0), "burst is 0: give 1 or more"),
        (lambda app: ClientOptions(max_retries=-1), "max_retries is -1"),
        (lambda app: Result(True), "requeue_after_seconds is True"),
        (lambda app: LeaseTiming("15s"), "lease_seconds is '15s'"),
        (lambda app: LeaderElectionOptions(""), "needs the name of a lease"),
        (lambda app: FakeClock().advance(-1), "seconds is"),
        (lambda app: FakeClock().advance(timedelta(seconds=1)), "seconds is"),
        (lambda app: FakeClock().advance("1"), "seconds is"),
        (lambda app: app.wait_until_ready("5s"), "timeout_seconds is '5s'"),
        (lambda app: app.wait_until_ready(0), r"call run\(\), or wait in"),
        # Kinds and selectors
        *((lambda app, kind=kind: app.informer(kind),
           "is no kind: give an ApiResource, such as")
          for kind in ("configmaps", GroupKind("", "ConfigMap"), None, 3)),
        # It was left alone, and whole objects were cached.
        (lambda app: app.informer(Request, metadata_only=True),
         r"give resource_of\(Request\) for metadata"),
        (lambda app: app.informer(CONFIG_MAPS, label_selector={"app": "mine"}),
         "write it as a text, such as 'app=mine"),
        # Steps and services
        *((lambda app, add=add, step=step: getattr(app, add)("mine", step), "is no step")
          for add in ("before_start", "when_leading")
          for step in (None, lambda stop: None, "install")),
        *((lambda app, step=step: app.on_close(step), "is no function to close with")
          for step in (None, lambda stop: None, "install")),
        (lambda app: RunnableFunc("mine", lambda: None, clock=CLOCK),
         r"is no task: it is called with \(stop\)"),
        *((lambda app, service=service: Manager(clock=SystemClock()).add(service),
           r"is no service: .* RunnableFunc\(name")
          for service in (lambda: None, RunnableFunc, "mine")),
        # Children and calls that the server need not see
        (lambda app: app.apply(None, {"metadata": {"namespace": "ns", "name": "a"}}),
         "child ns/a needs apiVersion and kind"),
        (lambda app: app.apply(None, {"metadata": {"namespace": "ns"}}, resource=CONFIG_MAPS),
         "ConfigMap in ns needs a name"),
        (lambda app: app.apply(ObjectKey("ns", "a"), {}, resource=CONFIG_MAPS),
         r"name='a'\) is not an object: give a dict"),
        (lambda app: app.client.get(CONFIG_MAPS, ObjectKey("", "a")),
         "ConfigMap 'a' needs a namespace"),
        (lambda app: app.client.create(CONFIG_MAPS, {"metadata": {"name": "a"}}),
         "ConfigMap 'a' needs a namespace"),
        (lambda app: app.client.get(CONFIG_MAPS, ObjectKey("ns", "")),
         "ConfigMap in ns needs a name"),
        (lambda app: app.client.delete(CONFIG_MAPS, {}), r"key is .*: give ObjectKey"),
        (lambda app: app.client.patch(CONFIG_MAPS, None, {}, kind="ssa"),
         "'ssa' is no kind of patch: give one of"),
        (lambda app: app.client.watch(CONFIG_MAPS, timeout_seconds="5s"),
         "timeout_seconds is '5s'"),
        *((lambda app, name=name: add_finalizer({"metadata": {}}, name),
           "is no finalizer: give a domain and")
          for name in ("", "cleanup", "/cleanup", "example.com/")),
        # A text where each of its letters would be a group, or a host's name
        (lambda app: app.client_as("bob", groups="team-a"), "groups is 'team-a': give a list"),
        (lambda app: ManagedCertificates(app.client, SECRET, "mine.ns.svc", clock=CLOCK),
         r"hosts is 'mine.ns.svc': give a list"),
        (lambda app: ManagedCertificates(app.client, SECRET, ["a"], clock=CLOCK, targets=["b"]),
         "is no function of targets"),
        # Webhooks that ask about nothing
        (lambda app: WebhookRules("configmaps"), "'configmaps' is no kind"),
        (lambda app: WebhookRules(WebhookRules), "is no kind: give an ApiResource"),
        (lambda app: WebhookRules(["pods"]), "a kind is 'pods': give ApiResource"),
        (lambda app: WebhookRules(CONFIG_MAPS, operations="CREATE"), "give a list"),
        (lambda app: WebhookRules(CONFIG_MAPS, operations=["create"]), "no operations"),
        (lambda app: webhooks(app).validate(CONFIG_MAPS, lambda request: Allowed()),
         r"is no path: give one, and the kinds by on="),
        (lambda app: webhooks(app).validate("/a", lambda request: Allowed(), on=CONFIG_MAPS),
         r"on is .*: give WebhookRules"),
    ],
)  # fmt: skip
def test_a_wrong_use_is_refused_with_the_right_one(app, wrong, said):
    with pytest.raises((TypeError, ValueError, NotReadyError), match=said):
        wrong(app)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"client": {"qps": 3}}, r"client is \{'qps': 3\}: give ClientOptions"),
        ({"cache": ["default"]}, r"cache is \['default'\]: give CacheOptions"),
        ({"leader_election": True}, "is True: give str or LeaderElectionOptions"),
        ({"leader_election": ""}, "needs the name of a lease"),
        ({"cluster": 5}, "cluster is 5: give the path of a kubeconfig"),
    ],
)
def test_options_of_an_application_are_of_their_classes(kubeconfig, options, said):
    with pytest.raises((TypeError, ValueError), match=said):
        Application("wrong", **{"cluster": str(kubeconfig), **options})


def test_handlers_may_be_generator_functions():
    def users(entry):
        yield Request(entry.key)

    def handler(event):
        yield from map_to(users)(event)

    added = Added(Entry({"metadata": {"namespace": "ns", "name": "a"}}))
    (found,) = Watch(object(), handler).requests(added)
    assert found.key == ObjectKey("ns", "a")


def test_steps_may_answer_what_they_like(app):
    app.before_start("mine", lambda: ["a CRD"])
    RunnableHooks("mine", lambda: 1).start()


def test_a_kubeconfig_may_be_a_path(kubeconfig):
    app = Application("paths", cluster=kubeconfig)
    app.cluster("east", kubeconfig)
    app.close()


def test_a_second_controller_of_a_kind_needs_a_name(app):
    app.reconcile(CONFIG_MAPS, takes_a_request)
    with pytest.raises(ManagerError, match=r"configmaps is taken: give .* by name="):
        app.reconcile(CONFIG_MAPS, takes_a_request)


def test_a_closed_application_is_not_run(app):
    """None of its clients answers: it would run, and do nothing."""
    app.close()
    with pytest.raises(ManagerError, match="wrong is closed: make another"):
        app.run(signals=False)


def test_an_owner_is_a_kind_by_either_name():
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}
    metadata = {"namespace": "ns", "name": "b", "ownerReferences": [owner]}
    event = Added(Entry({"metadata": metadata}))
    for kind in (CONFIG_MAPS, CONFIG_MAPS.group_kind):
        (found,) = enqueue_owner(kind)(event)
        assert found.key == ObjectKey("ns", "a")


def test_one_warning_is_one():
    assert Allowed("that is large").warnings == ("that is large",)
    assert Denied("no", warnings="that is large").warnings == ("that is large",)
