"""Chains: order, selection, guards and what is shown of them."""

import contextlib
import functools

import attrs
import pytest
from prometheus_client import CollectorRegistry

from asoreconcile.azure.arm.classification import Classification
from asoreconcile.azure.arm.condition_error import RetryClass
from asoreconcile.azure.middleware import chain as chain_module
from asoreconcile.azure.middleware.chain import (
    ChainRow,
    ExtensionFailedError,
    Extensions,
)
from asoreconcile.azure.middleware.context import ResourceRead, SuboperationPending
from asoreconcile.azure.middleware.extension_points import (
    CLASSIFY_ERROR,
    DELETE,
    EVERY_SUCCESS,
    EXPORT_CONFIG_MAPS,
    EXPORT_SECRETS,
    GET,
    IMPORT,
    MODIFY_PAYLOAD,
    POINTS,
    POST_RECONCILE,
    PRE_RECONCILE,
    PRE_RECONCILE_OWNER,
    PUT,
)
from asoreconcile.azure.middleware.extension_set import (
    ANY_ARM_KIND,
    ANY_KIND,
    ExtensionError,
    ExtensionSet,
)
from asoreconcile.azure.middleware.metrics import ExtensionMetrics
from asoreconcile.azure.middleware.requests import (
    Block,
    ClassifyError,
    DeleteRequest,
    Export,
    ExportConfigMaps,
    ExportSecrets,
    GetRequest,
    Import,
    Imported,
    InProgress,
    ModifyPayload,
    NotReady,
    Postpone,
    PostReconcile,
    PreReconcile,
    PreReconcileOwner,
    Proceed,
    PutRequest,
    Ready,
    ResourceDeleted,
    SecretExport,
    Skipped,
    Success,
)
from asoreconcile.azure.testing.extensions import ARM_ID, FakeArm, arm_fault, fake_ctx
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import GroupKind

THING = GroupKind("sample.azure.com", "Thing")
OTHER = GroupKind("sample.azure.com", "Other")
KINDS = (THING, OTHER)
each_point = pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)


def appending(text):
    """A modifier that shows where in the chain it stands."""

    def modify(req, call_next):
        payload = call_next(req)
        return {**payload, "trail": [*payload.get("trail", []), text]}

    return modify


def trail(extensions, kind=THING):
    request = ModifyPayload(fake_ctx(), {}, {"name": "a"})
    return extensions.chain(MODIFY_PAYLOAD, kind)(request).get("trail", [])


def tagging(name, order, *kinds, texts=None):
    one = ExtensionSet(name, order)
    for text in texts or [name]:
        one.on(MODIFY_PAYLOAD, *kinds)(appending(text))
    return one


def test_sets_of_higher_order_wrap_lower_ones_then_by_name_then_by_registration():
    sets = [
        tagging("builtin", 0, THING, texts=["builtin-outer", "builtin-inner"]),
        tagging("beta", 100, THING),
        tagging("alpha", 100, THING),
    ]
    extensions = Extensions.compose(sets, kinds=KINDS)
    # The trail is written on the way out: innermost first.
    assert trail(extensions) == ["builtin-inner", "builtin-outer", "beta", "alpha"]


def test_a_chain_is_that_of_its_kind_alone():
    extensions = Extensions.compose([tagging("set", 0, THING)], kinds=KINDS)
    assert (trail(extensions, THING), trail(extensions, OTHER)) == (["set"], [])
    assert extensions.has(MODIFY_PAYLOAD, THING)
    assert not extensions.has(MODIFY_PAYLOAD, OTHER)
    assert not extensions.has(PRE_RECONCILE, THING)


def test_the_wildcard_kind_joins_every_chain():
    sets = [tagging("policy", 100, ANY_ARM_KIND), tagging("builtin", 0, THING)]
    extensions = Extensions.compose(sets, kinds=KINDS)
    assert trail(extensions, THING) == ["builtin", "policy"]
    assert trail(extensions, OTHER) == ["policy"]
    assert extensions.has(MODIFY_PAYLOAD, OTHER)


NEEDS_ARM = {GET, MODIFY_PAYLOAD, PUT, EXPORT_SECRETS, EXPORT_CONFIG_MAPS, IMPORT}


def passing(point, kind):
    one = ExtensionSet("set")
    one.on(point, kind)(lambda req, call_next: call_next(req))
    return [one]


@each_point
@pytest.mark.parametrize("kind", [ANY_KIND, OTHER], ids=["any", "database"])
def test_an_extension_that_would_not_reach_a_kind_is_refused(point, kind):
    """Databases and groups of Entra have no body, exports or import."""

    def compose():
        return Extensions.compose(
            passing(point, kind), kinds=KINDS, without_arm=[OTHER]
        )

    if point in NEEDS_ARM:
        with pytest.raises(
            ExtensionError, match=r"not reach Other\.sample|for ANY_ARM"
        ):
            compose()
    else:
        assert compose().has(point, OTHER)


@each_point
def test_an_extension_of_any_kind_of_arm_leaves_the_others_alone(point):
    composed = Extensions.compose(
        passing(point, ANY_ARM_KIND), kinds=KINDS, without_arm=[OTHER]
    )
    assert composed.has(point, THING)
    assert not composed.has(point, OTHER)


CTX = fake_ctx(arm=FakeArm(unknown="404"))


@pytest.mark.parametrize(
    ("point", "request_", "expected"),
    [
        (PRE_RECONCILE_OWNER, PreReconcileOwner(CTX, {}), Proceed()),
        (PRE_RECONCILE, PreReconcile(CTX, {}), Proceed()),
        (MODIFY_PAYLOAD, ModifyPayload(CTX, {}, {"a": 1}), {"a": 1}),
        (POST_RECONCILE, PostReconcile(CTX, {}), Ready()),
        (EXPORT_SECRETS, ExportSecrets(CTX, {}), SecretExport()),
        (EXPORT_CONFIG_MAPS, ExportConfigMaps(CTX, {}), ()),
        (EVERY_SUCCESS, Success(CTX, {}), {}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_without_extensions_a_point_does_what_the_reconciler_would(
    point, request_, expected
):
    assert Extensions.compose(kinds=KINDS).chain(point, THING)(request_) == expected


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_every_point_has_a_terminal(point):
    assert callable(point.default)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(None, ResourceDeleted()), (arm_fault(404, "NotFound"), ResourceDeleted())],
    ids=["done", "404"],
)
def test_the_delete_terminal_deletes_the_resource(answer, expected):
    arm = FakeArm().on("DELETE", ARM_ID, "2024-01-01", answer)
    chain = Extensions.compose(kinds=KINDS).chain(DELETE, THING)
    assert chain(DeleteRequest(fake_ctx(arm=arm), {})) == expected
    assert arm.sent == [("DELETE", ARM_ID, "2024-01-01")]


def test_a_terminal_can_be_replaced():
    ends = {DELETE: lambda req: InProgress(7.0)}
    extensions = Extensions.compose(kinds=KINDS, ends=ends)
    answer = extensions.chain(DELETE, THING)(DeleteRequest(fake_ctx(), {}))
    assert answer == InProgress(7.0)


REQUESTS = {
    PRE_RECONCILE_OWNER: lambda ctx: PreReconcileOwner(ctx, {}),
    PRE_RECONCILE: lambda ctx: PreReconcile(ctx, {}),
    GET: lambda ctx: GetRequest(ctx, {}),
    MODIFY_PAYLOAD: lambda ctx: ModifyPayload(ctx, {}, {"name": "a"}),
    PUT: lambda ctx: PutRequest(ctx, {}, {"name": "a"}),
    CLASSIFY_ERROR: lambda ctx: ClassifyError(ctx.version, arm_fault(400, "Bad")),
    POST_RECONCILE: lambda ctx: PostReconcile(ctx, {}),
    EXPORT_SECRETS: lambda ctx: ExportSecrets(ctx, {}),
    EXPORT_CONFIG_MAPS: lambda ctx: ExportConfigMaps(ctx, {}),
    EVERY_SUCCESS: lambda ctx: Success(ctx, {}),
    DELETE: lambda ctx: DeleteRequest(ctx, {}),
    IMPORT: lambda ctx: Import(ctx.version, {}),
}


def reached(point, run):
    """Run one extension; return its result and how often the default ran."""
    runs = []

    def default(req):
        runs.append(req)
        return point.default(req)

    one = ExtensionSet("odd-set")
    one.on(point, THING)(run)
    ends = {point: default}
    chain = Extensions.compose([one], kinds=KINDS, ends=ends).chain(point, THING)
    arm = FakeArm(unknown="404").on("PUT", ARM_ID, "2024-01-01", {})
    return chain(REQUESTS[point](fake_ctx(arm=arm))), len(runs)


def returning(value):
    def odd_result(req, call_next):
        call_next(req)
        return value

    return odd_result


def named(point, function):
    """Match an error that names function, module, set and point."""
    return rf"{function}.*{__name__}:\d+, set odd-set.*at point {point.name}$"


@each_point
@pytest.mark.parametrize("odd", [None, True, "x", 5, [], object], ids=str)
def test_a_result_of_another_type_is_an_error_that_names_the_extension(point, odd):
    with pytest.raises(ExtensionFailedError, match=named(point, "odd_result")):
        reached(point, returning(odd))


@pytest.mark.parametrize(
    ("point", "odd", "problem"),
    [
        (MODIFY_PAYLOAD, {}, "an empty body"),
        (GET, ResourceRead({}), "no body of a resource"),
        (GET, ResourceRead("x"), "no body of a resource"),
        (GET, ResourceRead(None), "not that it is absent"),
        (EXPORT_CONFIG_MAPS, ("x",), "a str among its exports"),
        (EXPORT_SECRETS, SecretExport([]), "a list of secrets"),
        (EXPORT_SECRETS, SecretExport((None,)), "None among its exports"),
        (EXPORT_SECRETS, SecretExport((), {"a": 5}), "no mapping of strings"),
        (EVERY_SUCCESS, {"a": None}, "no mapping of strings"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_the_parts_of_a_result_are_checked_too(point, odd, problem):
    with pytest.raises(ExtensionFailedError, match=problem):
        reached(point, returning(odd))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Block(None),
        lambda: Block(""),
        lambda: Block("no", retry="soon"),
        lambda: Postpone("soon"),
        lambda: Postpone(float("nan")),
        lambda: Postpone(-1),
        lambda: NotReady(None),
        lambda: NotReady("no", severity="Fatal"),
        lambda: NotReady("no", reason="not a word"),
        lambda: NotReady("no", severity="Info", reason="Reconciling"),
        lambda: Ready("x"),
        lambda: InProgress(None),
        lambda: Imported(None),
        lambda: Skipped(None),
        lambda: Export("a", "b", None),
        lambda: Export("a", "b", "c", labels={"a": 1}),
    ],
)
def test_a_result_with_a_wrong_field_is_an_error_of_the_extension_that_makes_it(make):
    def maker(req, call_next):
        return make()

    with pytest.raises(ExtensionFailedError, match=named(PRE_RECONCILE, "maker")) as e:
        reached(PRE_RECONCILE, maker)
    assert isinstance(e.value.__cause__, TypeError | ValueError)


def test_an_export_of_no_string_shows_no_value():
    with pytest.raises(TypeError) as raised:
        Export("a", "b", 987654321)
    assert "987654321" not in str(raised.value)


@each_point
def test_calling_next_twice_is_refused_before_anything_happens_twice(point):
    runs = []

    def greedy(req, call_next):
        runs.append(call_next(req))
        runs.append(call_next(req))

    with pytest.raises(ExtensionFailedError, match=named(point, "greedy")) as raised:
        reached(point, greedy)
    assert "twice" in str(raised.value)
    assert len(runs) == 1


@each_point
def test_an_extension_cannot_hide_that_it_called_next_twice(point):
    def greedy(req, call_next):
        result = call_next(req)
        with contextlib.suppress(Exception):
            call_next(req)
        return result

    with pytest.raises(ExtensionFailedError, match="twice"):
        reached(point, greedy)


@each_point
def test_next_takes_the_request_of_its_point_only(point):
    def careless(req, call_next):
        with contextlib.suppress(Exception):
            call_next(None)
        return point.default(req)

    with pytest.raises(ExtensionFailedError, match="a request of type NoneType"):
        reached(point, careless)


# What lets a request through, or takes the place of what inner links add.
LETS_THROUGH = [
    (PRE_RECONCILE_OWNER, Proceed()),
    (PRE_RECONCILE, Proceed()),
    (MODIFY_PAYLOAD, {"name": "mine"}),
    (POST_RECONCILE, Ready()),
    (EXPORT_SECRETS, SecretExport()),
    (EXPORT_CONFIG_MAPS, ()),
    (EVERY_SUCCESS, {}),
    (DELETE, ResourceDeleted()),
    (IMPORT, Imported({})),
]
STOPS = [
    (PRE_RECONCILE_OWNER, Block("no")),
    (PRE_RECONCILE, Postpone(5.0)),
    (POST_RECONCILE, NotReady("not yet")),
    (DELETE, InProgress(5.0)),
    (IMPORT, Skipped("no")),
    (CLASSIFY_ERROR, Classification("Warning", RetryClass.SLOW, "x", "y")),
]
by_point = {"ids": lambda value: getattr(value, "name", "")}


@pytest.mark.parametrize(("point", "result"), LETS_THROUGH, **by_point)
def test_what_lets_a_request_through_needs_a_result_of_the_next_link(point, result):
    def alone(req, call_next):
        return result

    def swallowing(req, call_next):
        try:
            return call_next(attrs.evolve(req))
        except AsoreconcileError:
            return result

    def broken(req, call_next):
        raise arm_fault(500, "InternalServerError")

    match = "without a result of its next link at point " + point.name
    with pytest.raises(ExtensionFailedError, match=match):
        reached(point, alone)
    sets = [ExtensionSet("outer", 2), ExtensionSet("inner", 1)]
    for one, run in zip(sets, (swallowing, broken), strict=True):
        one.on(point, THING)(run)
    chain = Extensions.compose(sets, kinds=KINDS).chain(point, THING)
    with pytest.raises(ExtensionFailedError, match=r"swallowing.*without a result"):
        chain(REQUESTS[point](fake_ctx()))


@pytest.mark.parametrize(("point", "result"), STOPS, **by_point)
def test_what_stops_a_request_needs_no_next_link(point, result):
    assert reached(point, lambda req, call_next: result) == (result, 0)


def test_a_link_may_not_catch_the_wait_of_its_next_link():
    def hasty(req, call_next):
        with contextlib.suppress(SuboperationPending):
            call_next(req)
        return Block("whatever")

    def waits(req, call_next):
        raise SuboperationPending("purge", after_seconds=5.0)

    sets = [ExtensionSet("outer", 2), ExtensionSet("inner", 1)]
    for one, run in zip(sets, (hasty, waits), strict=True):
        one.on(PRE_RECONCILE, THING)(run)
    chain = Extensions.compose(sets, kinds=KINDS).chain(PRE_RECONCILE, THING)
    with pytest.raises(ExtensionFailedError, match=r"hasty.*caught the wait"):
        chain(PreReconcile(fake_ctx(), {}))


@each_point
def test_an_error_that_is_not_this_project_s_names_the_extension_once(point):
    def crashes(req, call_next):
        return {}["missing"]

    def passes(req, call_next):
        return call_next(req)

    sets = [ExtensionSet("outer", 2), ExtensionSet("odd-set", 1)]
    for one, run in zip(sets, (passes, crashes), strict=True):
        one.on(point, THING)(run)
    chain = Extensions.compose(sets, kinds=KINDS).chain(point, THING)
    with pytest.raises(ExtensionFailedError, match=named(point, "crashes")) as raised:
        chain(REQUESTS[point](fake_ctx()))
    assert "raised KeyError" in str(raised.value)
    assert isinstance(raised.value.__cause__, KeyError)


def test_an_error_of_the_default_is_not_the_extension_s():
    def default(req):
        raise ZeroDivisionError

    one = ExtensionSet("set")
    one.on(DELETE, THING)(lambda req, call_next: call_next(req))
    ends = {DELETE: default}
    chain = Extensions.compose([one], kinds=KINDS, ends=ends).chain(DELETE, THING)
    with pytest.raises(ZeroDivisionError):
        chain(DeleteRequest(fake_ctx(), {}))


async def later(req, call_next):
    return call_next(req)


async def later_generator(req, call_next):
    yield call_next(req)


def lazy(req, call_next):
    yield call_next(req)


class CallsLater:
    async def __call__(self, req, call_next):
        return call_next(req)

    async def method(self, req, call_next):
        return call_next(req)


@pytest.mark.parametrize(
    "run",
    [
        later,
        later_generator,
        lazy,
        CallsLater(),
        CallsLater().method,
        functools.partial(later),
        None,
        lambda req: req,
        lambda: None,
    ],
    ids=[
        *("async", "async generator", "generator", "instance", "method", "partial"),
        *("nothing", "one argument", "no argument"),
    ],
)
@each_point
def test_a_function_that_returns_no_result_at_once_is_refused_at_registration(
    point, run
):
    with pytest.raises(ExtensionError, match=f"set 'a', point {point.name}"):
        ExtensionSet("a").on(point, THING)(run)


@each_point
def test_a_coroutine_that_a_wrapper_hides_is_no_result(point):
    def wrapped(req, call_next):
        return later(req, call_next)

    with pytest.raises(ExtensionFailedError, match="returned a coroutine"):
        reached(point, wrapped)


def test_the_guard_counts_each_run_anew():
    extensions = Extensions.compose([tagging("set", 0, THING)], kinds=KINDS)
    assert trail(extensions) == trail(extensions) == ["set"]


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ([ExtensionSet("a"), ExtensionSet("a")], "'a' is there twice"),
        ([ExtensionSet("a", api=99)], "'a' is written for api level 99"),
        (
            [tagging("a", 0, GroupKind("sample.azure.com", "Thnig"))],
            r"'a' \(.*\) names Thnig.sample.azure.com, which is no known kind",
        ),
    ],
    ids=["same name", "api level", "unknown kind"],
)
def test_sets_that_do_not_fit_stop_the_start(sets, message):
    with pytest.raises(ExtensionError, match=message):
        Extensions.compose(sets, kinds=KINDS)


def test_all_that_does_not_fit_is_said_at_once():
    sets = [tagging("a", 0, GroupKind("x", "X")), ExtensionSet("b", api=0)]
    with pytest.raises(ExtensionError) as raised:
        Extensions.compose(sets, kinds=KINDS)
    assert "X.x" in str(raised.value)
    assert "'b'" in str(raised.value)


def test_registering_needs_a_kind():
    with pytest.raises(ExtensionError, match="at least one kind"):
        ExtensionSet("a").on(PRE_RECONCILE)


def test_a_set_in_use_takes_no_more_extensions():
    one = tagging("a", 0, THING)
    Extensions.compose([one], kinds=KINDS)
    with pytest.raises(ExtensionError, match="in use"):
        one.on(PRE_RECONCILE, THING)(lambda req, call_next: call_next(req))


def test_a_bound_method_is_an_extension():
    class Counting:
        def __init__(self):
            self.calls = 0

        def check(self, req, call_next):
            self.calls += 1
            return call_next(req)

    counting = Counting()
    one = ExtensionSet("counting")
    one.on(PRE_RECONCILE, THING)(counting.check)
    chain = Extensions.compose([one], kinds=KINDS).chain(PRE_RECONCILE, THING)
    chain(PreReconcile(fake_ctx(), {}))
    assert counting.calls == 1


def test_chains_are_described_outermost_first_with_where_they_come_from():
    outer = ExtensionSet("outer")

    @outer.on(MODIFY_PAYLOAD, THING)
    def decorate(req, call_next):
        return call_next(req)

    extensions = Extensions.compose([tagging("inner", 0, THING), outer], kinds=KINDS)
    (row,) = extensions.describe()
    assert isinstance(row, ChainRow)
    assert (row.kind, row.point) == (THING, "modify-payload")
    assert [link.extension_set for link in row.links] == ["outer", "inner"]
    assert row.links[0].name.endswith("decorate")
    assert row.links[0].defined.startswith(f"{__name__}:")


def measured(run):
    """The samples of one chain run with metrics, by name and outcome."""
    registry = CollectorRegistry()
    one = ExtensionSet("set")
    one.on(PRE_RECONCILE, THING)(run)
    chain = Extensions.compose(
        [one], kinds=KINDS, metrics=ExtensionMetrics(registry)
    ).chain(PRE_RECONCILE, THING)
    with contextlib.suppress(SuboperationPending, ExtensionFailedError):
        chain(PreReconcile(fake_ctx(), {}))
    return {
        (sample.name, sample.labels.get("outcome"), sample.labels["kind"]): sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name.endswith(("_total", "_count"))
    }


def raising(error):
    def run(req, call_next):
        raise error

    return run


@pytest.mark.parametrize(
    ("run", "outcome"),
    [
        (lambda req, call_next: call_next(req), "proceed"),
        (lambda req, call_next: Block("no"), "block"),
        (raising(SuboperationPending("x", after_seconds=1)), "pending"),
        (raising(ZeroDivisionError()), "error"),
    ],
    ids=["proceed", "block", "pending", "error"],
)
def test_runs_are_counted_by_outcome_and_timed(run, outcome):
    samples = measured(run)
    assert samples["asoreconcile_extension_runs_total", outcome, "Thing"] == 1
    assert samples["asoreconcile_extension_duration_seconds_count", None, "Thing"] == 1


def test_a_link_s_time_is_its_own_without_those_it_wraps(monkeypatch):
    """Whoever looks for what is slow must find the link, not all around it."""
    now = [0.0]
    monkeypatch.setattr(chain_module.time, "perf_counter", lambda: now[0])
    seen = {}

    class Metrics:
        def observe(self, link, set_name, /, *, outcome, seconds):
            seen[set_name] = seconds

    def taking(seconds):
        def run(req, call_next):
            now[0] += seconds
            return call_next(req)

        return run

    sets = [ExtensionSet("outer", 2), ExtensionSet("inner", 1)]
    for one, seconds in zip(sets, (1.0, 10.0), strict=True):
        one.on(PRE_RECONCILE, THING)(taking(seconds))
    composed = Extensions.compose(sets, kinds=KINDS, metrics=Metrics())
    composed.chain(PRE_RECONCILE, THING)(PreReconcile(fake_ctx(), {}))
    assert seen == {"outer": 1.0, "inner": 10.0}
