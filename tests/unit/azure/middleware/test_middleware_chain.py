"""Chains: order, selection, guards and what is shown of them."""

import contextlib

import pytest
from prometheus_client import CollectorRegistry

from asoreconcile.azure.middleware import chain as chain_module
from asoreconcile.azure.middleware.chain import ChainRow, Extensions, NextCalledTwice
from asoreconcile.azure.middleware.context import SuboperationPending
from asoreconcile.azure.middleware.default_handlers import DefaultHandlers
from asoreconcile.azure.middleware.extension_points import (
    DELETE,
    EVERY_SUCCESS,
    EXPORT_CONFIG_MAPS,
    EXPORT_SECRETS,
    MODIFY_PAYLOAD,
    POINTS,
    POST_RECONCILE,
    PRE_RECONCILE,
    PRE_RECONCILE_OWNER,
)
from asoreconcile.azure.middleware.extension_set import (
    ANY_KIND,
    ExtensionError,
    ExtensionSet,
)
from asoreconcile.azure.middleware.metrics import ExtensionMetrics
from asoreconcile.azure.middleware.requests import (
    Block,
    DeleteRequest,
    ExportConfigMaps,
    ExportSecrets,
    InProgress,
    ModifyPayload,
    PostReconcile,
    PreReconcile,
    PreReconcileOwner,
    Proceed,
    Ready,
    ResourceDeleted,
    SecretExport,
    Success,
)
from asoreconcile.azure.testing.extensions import ARM_ID, FakeArm, arm_fault, fake_ctx
from asoreconcile.base.objects import GroupKind

THING = GroupKind("sample.azure.com", "Thing")
OTHER = GroupKind("sample.azure.com", "Other")
KINDS = (THING, OTHER)


def appending(text):
    """A modifier that shows where in the chain it stands."""

    def modify(req, call_next):
        payload = call_next(req)
        return {**payload, "trail": [*payload.get("trail", []), text]}

    return modify


def trail(extensions, kind=THING):
    request = ModifyPayload(fake_ctx(), {}, {})
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


def test_a_link_that_does_not_call_next_replaces_all_below_it():
    veto = ExtensionSet("veto")

    @veto.on(MODIFY_PAYLOAD, THING)
    def replace(req, call_next):
        return {"trail": ["veto"]}

    extensions = Extensions.compose([tagging("builtin", 0, THING), veto], kinds=KINDS)
    assert trail(extensions) == ["veto"]


def test_a_chain_is_that_of_its_kind_alone():
    extensions = Extensions.compose([tagging("set", 0, THING)], kinds=KINDS)
    assert (trail(extensions, THING), trail(extensions, OTHER)) == (["set"], [])
    assert extensions.has(MODIFY_PAYLOAD, THING)
    assert not extensions.has(MODIFY_PAYLOAD, OTHER)
    assert not extensions.has(PRE_RECONCILE, THING)


def test_the_wildcard_kind_joins_every_chain():
    sets = [tagging("policy", 100, ANY_KIND), tagging("builtin", 0, THING)]
    extensions = Extensions.compose(sets, kinds=KINDS)
    assert trail(extensions, THING) == ["builtin", "policy"]
    assert trail(extensions, OTHER) == ["policy"]
    assert extensions.has(MODIFY_PAYLOAD, OTHER)


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
    assert callable(DefaultHandlers().of(point))


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
    terminals = DefaultHandlers(delete=lambda req: InProgress(7.0))
    extensions = Extensions.compose(kinds=KINDS, terminals=terminals)
    answer = extensions.chain(DELETE, THING)(DeleteRequest(fake_ctx(), {}))
    assert answer == InProgress(7.0)


def test_calling_next_twice_is_refused_before_anything_happens_twice():
    reached = []
    greedy = ExtensionSet("greedy")

    @greedy.on(DELETE, THING)
    def twice(req, call_next):
        call_next(req)
        return call_next(req)

    def delete(req):
        reached.append(req)
        return ResourceDeleted()

    extensions = Extensions.compose(
        [greedy], kinds=KINDS, terminals=DefaultHandlers(delete=delete)
    )
    with pytest.raises(NextCalledTwice, match=r"twice.*greedy.*delete"):
        extensions.chain(DELETE, THING)(DeleteRequest(fake_ctx(), {}))
    assert len(reached) == 1


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
            "'a' names Thnig.sample.azure.com, which is no known kind",
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
    with contextlib.suppress(SuboperationPending, ZeroDivisionError):
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
