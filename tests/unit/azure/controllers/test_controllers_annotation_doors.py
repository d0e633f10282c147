"""Each annotation, own or of the Namespace, at each place that must know annotations.

A made-up annotation goes through the same tests: the row is enough.
"""

from datetime import UTC, datetime
from enum import Enum

import attrs
import pytest
from annotationsamples import SAMPLES as OF_ALL

from asoreconcile.azure.catalogue.manifests import Manifest
from asoreconcile.azure.catalogue.render import RenderError, render
from asoreconcile.azure.catalogue.resolution import Resolution
from asoreconcile.azure.cmd.render import further_problems
from asoreconcile.azure.controllers.admission import Admission
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.diagnosis import checks
from asoreconcile.azure.controllers.event_mapping import EventMapping
from asoreconcile.azure.controllers.kind_registry import needs_reconcile
from asoreconcile.azure.reconcile.model import annotation_table
from asoreconcile.azure.reconcile.model.annotation_row import (
    Annotation,
    Whose,
    choice,
)
from asoreconcile.azure.reconcile.model.annotation_table import TABLE, AnnotationTable
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.planning.change_plan import Planner
from asoreconcile.azure.reconcile.planning.explanation import explain
from asoreconcile.azure.reconcile.planning.exported_manifest import exported_manifest
from asoreconcile.azure.reconcile.state.dependency_index import DependencyIndex
from asoreconcile.azure.reconcile.state.waiting import Waiting
from asoreconcile.base.objects import annotations, gvk_of, key_of
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Updated
from asoreconcile.webhooks.admission import AdmissionRequest, Allowed, Denied

SUB = "00000000-0000-0000-0000-000000000000"


class Speed(Enum):
    SLOW = "slow"
    FAST = "fast"


MADE_UP: Annotation[Speed] = Annotation(
    "asoreconcile/made-up-speed",
    says="how fast the resource turns",
    effect="the resource stands still",
    parse=choice(Speed),
    holds_writes=True,
)
SAMPLES = {**OF_ALL, MADE_UP.name: ("slow", "fast", "Fast", "faast")}
ROWS = (*TABLE.rows, MADE_UP)
OF_OBJECTS = [row for row in ROWS if row.whose is not Whose.NAMESPACE]
OF_NAMESPACES = [row for row in ROWS if row.whose is not Whose.OBJECT]


def wrong_values(rows):
    return [(row, text) for row in rows for text in SAMPLES[row.name][2:]]


def ids(value):
    return value.name if isinstance(value, Annotation) else value[:20]


@pytest.fixture(autouse=True)
def _made_up(monkeypatch):
    monkeypatch.setattr(annotation_table, "TABLE", AnnotationTable(ROWS))


def network(own=None, **meta):
    return {
        "apiVersion": "network.azure.com/v20250301",
        "kind": "VirtualNetwork",
        "metadata": {
            "name": "vnet",
            "namespace": "ns",
            "annotations": own or {},
            **meta,
        },
        "spec": {
            "owner": {"armId": f"/subscriptions/{SUB}/resourceGroups/rg"},
            "location": "westeurope",
            "addressSpace": {"addressPrefixes": ["10.0.0.0/16"]},
        },
    }


def namespace(inherited=None):
    meta = {"name": "ns", "annotations": inherited or {}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}


# The webhook.


def admitted(own, old=None, **meta):
    obj = network(own, **meta)
    return Admission(builtin()).validate(
        AdmissionRequest(
            operation="CREATE" if old is None else "UPDATE",
            gvk=gvk_of(obj),
            key=key_of(obj),
            obj=obj,
            old=None if old is None else network(old, **meta),
            subresource="",
            dry_run=False,
            user={},
            options={},
        )
    )


@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_the_webhook_takes_right_values_and_empty_ones(row):
    for text in (*SAMPLES[row.name][:2], ""):
        answer = admitted({row.name: text})
        assert isinstance(answer, Allowed), text
        is_misplaced = row.whose is Whose.NAMESPACE and (text or row.counts_empty)
        assert bool(answer.warnings) == bool(is_misplaced)


@pytest.mark.parametrize(("row", "text"), wrong_values(OF_OBJECTS), ids=ids)
def test_r1_7_the_webhook_refuses_a_value_that_becomes_wrong(row, text):
    own, right = {row.name: text}, {row.name: SAMPLES[row.name][0]}
    for old in (None, {}, right):
        answer = admitted(own, old)
        assert isinstance(answer, Denied)
        assert row.name in answer.message
    assert isinstance(admitted(own, {}, deletionTimestamp="now"), Denied)
    assert isinstance(admitted(own, own), Allowed)
    assert isinstance(admitted(right, own), Allowed)


# Wake-ups.


def change(old, new, **meta):
    meta = {"uid": "1", "generation": 1, **meta}
    return Updated(old=Entry(network(old, **meta)), new=Entry(network(new, **meta)))


# Rows of which some changes have no effect.
QUIET = {
    "serviceoperator.azure.com/reconcile-policy",
    "asoreconcile/deletion-protection",
}


@pytest.mark.parametrize("row", OF_OBJECTS, ids=ids)
def test_r6_1_an_object_s_own_value_wakes_it(row):
    first, second, *wrong = SAMPLES[row.name]
    if row.name not in QUIET:
        for old, new in (({}, first), (first, second), (second, {})):
            own = [{row.name: one} if one else {} for one in (old, new)]
            assert needs_reconcile(change(*own))
    for text in wrong:
        assert needs_reconcile(change({row.name: first}, {row.name: text}))
        assert needs_reconcile(change({row.name: text}, {row.name: first}))
        assert needs_reconcile(change({row.name: text}, {}))


@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_an_empty_value_is_none_unless_it_counts(row):
    own = {row.name: ""}
    for deleting in ({}, {"deletionTimestamp": "now"}):
        assert needs_reconcile(change({}, own, **deleting)) == row.counts_empty
    assert bool(row.stated(own, {})) is (row.counts_empty and row in OF_OBJECTS)
    (value,) = row.stated({}, {row.name: SAMPLES[row.name][0]}) or [None]
    stated = row.stated(own, {row.name: SAMPLES[row.name][0]})
    assert stated == (() if value is None else (value,))


class Kinds:
    """The objects of a Namespace, and those that were woken."""

    def __init__(self, *objects):
        self.woken = []
        self._entries = {
            ObjectReference(gvk_of(obj).group_kind, key_of(obj)): Entry(obj)
            for obj in objects
        }

    def entries_in(self, _namespace):
        return self._entries

    def wake(self, node, _changed, _version, waits):
        if waits():
            self.woken.append(node.key.name)


def woken(own, before, after, **meta):
    kinds = Kinds(network(own, **meta))
    wakeups = EventMapping(kinds, DependencyIndex(), Waiting())
    wakeups.on_namespace(
        Updated(old=Entry(namespace(before)), new=Entry(namespace(after)))
    )
    return bool(kinds.woken)


@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_r6_3_a_namespace_s_value_wakes_whom_it_concerns(row):
    first, second, *wrong = SAMPLES[row.name]
    changes = [({}, text) for text in wrong] + [(text, second) for text in wrong]
    if row.name not in QUIET:
        changes += [({}, first), (first, second)]
    for old, new in changes:
        theirs = [{row.name: one} if one else {} for one in (old, new)]
        counts = row.whose is not Whose.OBJECT
        assert woken({}, *theirs) is counts
        assert woken({row.name: ""}, *theirs) is counts
        is_hidden = row.whose is Whose.NEAREST
        assert woken({row.name: first}, *theirs) is (counts and not is_hidden)


# Reports.


@pytest.mark.parametrize(("row", "text"), wrong_values(ROWS), ids=ids)
def test_r1_7_a_wrong_value_is_reported_where_it_counts(row, text):
    version = builtin().version(gvk_of(network()))
    of_object = annotation_table.reports({row.name: text}, {}, version)[row.name]
    of_namespace = annotation_table.reports({}, {row.name: text}, version)[row.name]
    if row.whose is Whose.NAMESPACE:
        assert of_object.endswith(
            "has no effect on an object: it counts on a Namespace alone"
        )
    else:
        assert of_object.endswith(f"Until it is corrected, {row.effect}")
    if row.whose is Whose.OBJECT:
        assert "has no effect: it counts on objects alone" in of_namespace
    else:
        assert of_namespace.startswith("the Namespace's annotation")
        assert of_namespace.endswith(f"Until it is corrected, {row.effect}")
    right = {row.name: SAMPLES[row.name][0]}
    own = {} if row.whose is Whose.NAMESPACE else right
    inherited = {} if row.whose is Whose.OBJECT else right
    assert annotation_table.reports(own, inherited, version) == {}


@pytest.mark.parametrize(("row", "text"), wrong_values(OF_OBJECTS), ids=ids)
def test_doctor_names_wrong_values(row, text):
    (found,) = checks.of_annotations([network({row.name: text})], {}, builtin())
    assert row.name in found.text
    assert (found.level == "error") is row.holds_writes
    right = {row.name: SAMPLES[row.name][0]}
    assert not [*checks.of_annotations([network(right)], {}, builtin())]


# asoctl.


def rendered(own):
    manifest = Manifest("file.yaml", 1, network(own))
    return render(
        builtin(), [manifest], subscription_id=SUB, more_problems=further_problems
    )


@pytest.mark.parametrize(("row", "text"), wrong_values(OF_OBJECTS), ids=ids)
def test_render_refuses_wrong_values(row, text):
    with pytest.raises(RenderError, match=row.name):
        rendered({row.name: text})
    if row.name != "serviceoperator.azure.com/credential-from":  # needs the Secret
        assert rendered({row.name: SAMPLES[row.name][0]}).requests


@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_export_keeps_all_but_requests_for_one_action(row):
    kept = annotations(exported_manifest(network({row.name: "x"})))
    asks = {"asoreconcile/reconcile-at", "asoreconcile/rotate-secrets"}
    assert (row.name in kept) is row.is_exported is (row.name not in asks)


@attrs.frozen
class Cluster:
    """A cluster with one Namespace."""

    inherited: dict

    def get(self, _group_kind, _key):
        return None

    def namespaces_with(self, _group_kind, _name):
        return ()

    def keys_of(self, _kind, _key):
        return {}

    def events(self, _obj):
        return ()

    def namespace_annotations(self, _namespace):
        return self.inherited


def explained(own, inherited):
    made = explain(network(own), builtin(), Cluster(inherited), now=datetime.now(UTC))
    return "\n".join(made.lines())


@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_explain_shows_values_that_count_and_wrong_ones(row):
    right, _, wrong, *_ = SAMPLES[row.name]
    stated, where = {row.name: right}, "object" if row in OF_OBJECTS else "namespace"
    lines = explained(stated, {}) if row in OF_OBJECTS else explained({}, stated)
    named = (
        "named by the object" if "credential-from" in row.name else f"(of the {where})"
    )
    assert named in lines or "ignore-fields" in row.name
    assert right in lines
    wrong = explained({row.name: wrong}, {})
    # A text that is too long holds the object, whatever another wrong value does.
    effects = (row.effect, "nothing is written in Azure", "has no effect on an object")
    assert any(effect in wrong for effect in effects)


@pytest.mark.parametrize(("row", "text"), wrong_values(ROWS), ids=ids)
def test_plan_names_wrong_values(row, text):
    for own, inherited in (({row.name: text}, {}), ({}, {row.name: text})):
        skip = {"serviceoperator.azure.com/reconcile-policy": "skip"} | own
        objects = (network(skip), namespace(inherited))
        planner = Planner(
            catalogue=builtin(),
            objects=objects,
            resolution=Resolution(builtin(), objects, subscription_id=SUB),
            reads=None,
            extensions=None,
            clock=None,
        )
        (planned,) = planner.changes()
        is_hidden = "reconcile-policy" in row.name and inherited
        assert is_hidden or any(row.name in one for one in planned.remarks)
        assert planned.action == "no change"


def test_each_annotation_has_samples():
    assert SAMPLES.keys() == {row.name for row in ROWS}
