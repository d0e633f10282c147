"""Options that can never work are refused by the argument's name as they are passed."""

import math

import pytest

from asoreconcile import (
    CONFIG_MAPS,
    ApiResource,
    Backoff,
    CacheOptions,
    ClientOptions,
    ControllerOptions,
    Denied,
    GroupVersionKind,
    HealthChecks,
    LeaderElectionOptions,
    LeaseTiming,
    Rule,
    ScalePaths,
    Scope,
    Selector,
    WebhookRules,
    WorkQueue,
    labelled,
    resource,
    webhook_path,
)
from asoreconcile.kube.selection import Selection
from asoreconcile.resources.class_fields import ResourceError
from asoreconcile.testing.clock import FakeClock


def declared(**options):
    return lambda: resource("example.com/v1", plural="things", **options)


REFUSED = {
    "attempts": lambda: Backoff(attempts=0),
    "factor": lambda: Backoff(factor=0),
    "first_seconds": lambda: Backoff(first_seconds=-1),
    "jitter": lambda: Backoff(jitter=2),
    "max_seconds": lambda: Backoff(max_seconds=math.nan),
    "needs_leader": lambda: ControllerOptions(needs_leader="no"),
    "burst": lambda: ClientOptions(burst=0),
    "field_validation": lambda: ClientOptions(field_validation="strict"),
    "user_agent": lambda: ClientOptions(user_agent="a\nb"),
    "field_manager": lambda: ClientOptions(field_manager="x" * 129),
    "dry_run": lambda: ClientOptions(dry_run="no"),
    "plural": lambda: ApiResource("g", "v1", "", "Kind"),
    "version": lambda: ApiResource("g", None, "things", "Kind"),
    "group": lambda: ApiResource("g/x", "v1", "things", "Kind"),
    "namespaced": lambda: ApiResource("g", "v1", "things", "Kind", "no"),
    "namespace": lambda: Scope(namespaces=["Bad Name"]),
    "transform": lambda: CacheOptions(transform=5),
    "label": lambda: Selector(label={"app": "x"}),
    "label_selector": lambda: Scope(label_selector="a in b"),
    "label_selector is": lambda: Selection(CONFIG_MAPS, label_selector="=x"),
    "group of a key": lambda: WorkQueue("q", clock=FakeClock(), fairness=5),
    "oldest_every": lambda: WorkQueue("q", clock=FakeClock(), oldest_every=-1),
    "lease": lambda: LeaderElectionOptions("Bad Name"),
    "timing": lambda: LeaderElectionOptions("x", timing=15),
    "identity": lambda: LeaderElectionOptions("x", identity=5),
    "lease_seconds": lambda: LeaseTiming(100_000, 10, 1),
    "code": lambda: Denied("no", code=200),
    "timeout_seconds": lambda: WebhookRules(CONFIG_MAPS, timeout_seconds=31),
    "failure_policy": lambda: WebhookRules(CONFIG_MAPS, failure_policy="fail"),
    "match_policy": lambda: WebhookRules(CONFIG_MAPS, match_policy="exact"),
    "resources": lambda: WebhookRules(()),
    "match_conditions": lambda: WebhookRules(CONFIG_MAPS, match_conditions=["x"]),
    "namespace_selector": lambda: WebhookRules(CONFIG_MAPS, namespace_selector="a=b"),
    "name": lambda: HealthChecks("x").add("", lambda: None),
    "value": lambda: labelled("a", 5),
    "verb": lambda: webhook_path("check", GroupVersionKind("", "v1", "A")),
    "expression": lambda: Rule(" "),
    "spec_replicas": lambda: ScalePaths(spec_replicas="spec.replicas"),
    "categories": declared(categories="all"),
    "short_names": declared(short_names="th"),
    "selectable": declared(selectable=".spec.x"),
    "columns": declared(columns=["x"]),
    "rules": declared(rules=["x"]),
    "scale": declared(scale=True),
    "deprecated": declared(deprecated=True),
    "kind": declared(kind="bad kind"),
}


@pytest.mark.parametrize(("named", "call"), REFUSED.items(), ids=REFUSED)
def test_an_option_that_cannot_work_is_refused_by_name(named, call):
    with pytest.raises((TypeError, ValueError, ResourceError), match=named):
        call()
