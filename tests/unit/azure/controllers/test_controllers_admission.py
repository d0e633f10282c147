"""What admission leaves alone, and how much it says."""

import json

import pytest

from asoreconcile.azure.catalogue.problems import Problem
from asoreconcile.azure.controllers.admission import LAST_APPLIED, Admission
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.base.objects import GroupVersionKind, ObjectKey, copy_json
from asoreconcile.webhooks.admission import AdmissionRequest, Allowed, Denied

VNET = GroupVersionKind("network.azure.com", "v20250301", "VirtualNetwork")
STORED = "v20250301storage"
WRONG = {"owner": {}}


def request(spec, *, gvk=VNET, subresource="", old=None, **metadata):
    obj = {"metadata": {"name": "it", "namespace": "ns", **metadata}, "spec": spec}
    return AdmissionRequest(
        operation="CREATE" if old is None else "UPDATE",
        gvk=gvk,
        key=ObjectKey("ns", "it"),
        obj=obj,
        old=old,
        subresource=subresource,
        dry_run=False,
        user={},
        options={},
    )


@pytest.fixture
def admission():
    return Admission(builtin())


LEFT_ALONE = {
    "subresource": {"subresource": "status"},
    "on its way out": {"deletionTimestamp": "2026-01-01T00:00:00Z"},
    "unknown version": {"gvk": GroupVersionKind(VNET.group, "v1", VNET.kind)},
    "unknown kind": {"gvk": GroupVersionKind(VNET.group, "v1", "Widget")},
}


@pytest.mark.parametrize("more", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_r10_1_what_is_not_for_us_is_let_in_as_it_is(admission, more):
    asked = request(WRONG, **more)
    before = copy_json(asked.obj)
    assert admission.validate(asked) == Allowed()
    assert admission.mutate(asked) == before
    assert isinstance(admission.validate(request(WRONG)), Denied)
    assert admission.mutate(request(WRONG)) != before


def test_r10_1_a_stored_form_is_judged_and_gets_no_defaults(admission):
    stored = {"gvk": GroupVersionKind(VNET.group, STORED, VNET.kind)}
    asked = request(WRONG, **stored)
    asked.obj.update(apiVersion=f"{VNET.group}/{STORED}", kind=VNET.kind)
    before = copy_json(asked.obj)
    assert "owner" in admission.validate(asked).message
    assert admission.mutate(asked) == before


@pytest.mark.parametrize("count", [19, 20, 21, 25])
def test_at_most_twenty_problems_are_told(count):
    problems = [Problem(f"spec.field{n}", "is wrong") for n in range(count)]
    admission = Admission(builtin(), lambda _version, _obj: problems)
    denied = admission.validate(request({"owner": {"name": "rg"}}))
    told = denied.message.split("; ")
    shown = min(count, 20)
    assert told[:shown] == [str(problem) for problem in problems[:shown]]
    assert told[shown:] == ([f"and {count - 20} more"] if count > 20 else [])


def test_r10_3_a_name_that_is_given_anew_stays(admission):
    """Validation judges whether it may change; nothing is put in its place."""
    gvk = GroupVersionKind("authorization.azure.com", "v20220401", "RoleAssignment")
    old = {"metadata": {"name": "it"}, "spec": {"azureName": "before"}}
    asked = request({"azureName": "now", "owner": {"name": "x"}}, gvk=gvk, old=old)
    assert admission.mutate(asked)["spec"]["azureName"] == "now"


POLICY = "serviceoperator.azure.com/reconcile-policy"
MODE = "asoreconcile/sync-mode"
RIGHT = {"owner": {"name": "rg"}}


def annotated(admission, before, after, **metadata):
    """The decision about a change of annotations alone; before: None at a create."""
    old = None
    if before is not None:
        old = request(RIGHT, annotations=before, **metadata).obj
    return admission.validate(request(RIGHT, old=old, annotations=after, **metadata))


@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [
        (POLICY, "detach-on-delte", "detach-on-delete"),
        (POLICY, "Skip", "skip"),
        (POLICY, "mange", "manage"),
        (MODE, "reprot", "report"),
    ],
)
def test_r1_7_a_misspelt_protecting_value_is_refused_where_it_is_new(
    admission, name, value, meant
):
    for before in (None, {}, {name: meant}, {name: f"{value}x"}):
        denied = annotated(admission, before, {name: value})
        assert denied.code == 422
        assert f"did you mean {meant}?" in denied.message
        assert annotated(admission, before, {name: meant}) == Allowed()


def test_r1_7_an_object_that_has_a_misspelt_value_stays_manageable(admission):
    """Such as for the removal of our finalizer; but it may not be set then, either."""
    wrong, deleting = {POLICY: "skp"}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert annotated(admission, wrong, {**wrong, "a": "b"}) == Allowed()
    assert annotated(admission, wrong, wrong, **deleting) == Allowed()
    assert annotated(admission, wrong, {}) == Allowed()
    assert isinstance(annotated(admission, {}, wrong, **deleting), Denied)


@pytest.mark.parametrize(("owner", "allowed"), [("same", True), ("other", False)])
def test_r10_2_an_owner_may_be_replaced_by_one_of_the_same_id(owner, allowed):
    ids = {"rg": "/subscriptions/s/resourceGroups/a", "other": "/b", "unknown": ""}
    ids["same"] = ids["rg"].upper()
    admission = Admission(
        builtin(), owner_id=lambda _version, obj: ids[obj["spec"]["owner"]["name"]]
    )
    claimed = {"annotations": {RESOURCE_ID: f"{ids['rg']}/it"}}
    old = {"metadata": claimed, "spec": {"owner": {"name": "rg"}}}
    asked = request({"owner": {"name": owner}}, old=old, **claimed)
    assert isinstance(admission.validate(asked), Allowed) is allowed


def test_ft2_a_long_text_is_refused_where_it_is_new(admission):
    """An object that has one stays manageable: only its reconcile holds it."""
    owner = {"owner": {"name": "group"}}
    long, longer = {"location": "w" * 129, **owner}, {"location": "x" * 129, **owner}
    (allowed, kept, changed) = (
        admission.validate(request({**after, "tags": {"a": "b"}}, old=before))
        for before, after in (
            (
                request({"location": "westeurope", **owner}).obj,
                {**owner, "location": "w"},
            ),
            (request(long).obj, long),
            (request(long).obj, longer),
        )
    )
    assert isinstance(allowed, Allowed)
    assert isinstance(kept, Allowed)
    assert "spec.location: it has 129 characters" in changed.message
    assert isinstance(admission.validate(request(long)), Denied)
    leaving = request(longer, old=request(long).obj, deletionTimestamp="2026-01-01")
    assert isinstance(admission.validate(leaving), Allowed)


def looks_made_by(monkeypatch, review):
    """Return how often a review looks for a similar word, which costs the most."""
    from asoreconcile.azure.catalogue import problems
    from asoreconcile.azure.reconcile.model import annotation_table

    made = []
    for module in (problems, annotation_table):
        monkeypatch.setattr(module, "closest", lambda *_, **__: made.append(1) or [])
    review()
    return len(made)


@pytest.mark.parametrize("count", [500, 4000])
@pytest.mark.parametrize("which", ["annotations", "dropped fields"])
def test_th7_a_review_does_a_bounded_number_of_dear_things(
    admission, monkeypatch, which, count
):
    notes = {f"asoreconcile/x{n}": "y" for n in range(count)}
    if which == "dropped fields":
        lost = {f"lost{n}": 1 for n in range(count)}
        written = {"apiVersion": f"{VNET.group}/{VNET.version}", "kind": VNET.kind}
        notes = {LAST_APPLIED: json.dumps({**written, "spec": lost})}
    asked = request(RIGHT, annotations=notes)
    looks = looks_made_by(monkeypatch, lambda: admission.validate(asked))
    assert 0 < looks <= 200
