"""The kit for tests of extensions catches what it says it catches."""

import pytest

from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.middleware.extension_points import MODIFY_PAYLOAD, PRE_RECONCILE
from asoreconcile.azure.middleware.extension_set import (
    ANY_KIND,
    ExtensionError,
    ExtensionSet,
)
from asoreconcile.azure.middleware.requests import PreReconcile, Proceed
from asoreconcile.azure.testing.extensions import (
    FakeArm,
    FakeObjects,
    check_extension_set,
    fails_if_called,
    fake_ctx,
    returns,
)
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import GroupKind, labels

THING = GroupKind("sample.azure.com", "Thing")
OWNER = {
    "apiVersion": "sample.azure.com/v1",
    "kind": "Owner",
    "metadata": {"namespace": "ns", "name": "o"},
}


def set_of(point, run):
    one = ExtensionSet("set")
    one.on(point, THING)(run)
    return one


def in_place(req, call_next):
    req.payload["properties"]["x"] = 1
    return call_next(req)


def twice(req, call_next):
    call_next(req)
    return call_next(req)


def silent(req, call_next):
    call_next(req)


def hasty(req, call_next):
    return Proceed()


def hopeful(req, call_next):
    try:
        return call_next(req)
    except AsoreconcileError:
        return Proceed()


def crashing(req, call_next):
    return req.obj["spec"]


def polite(req, call_next):
    return call_next(req)


def test_a_sound_set_passes():
    check_extension_set(set_of(PRE_RECONCILE, polite), kinds=[THING])


@pytest.mark.parametrize(
    ("point", "run", "message"),
    [
        (MODIFY_PAYLOAD, in_place, "changes its request"),
        (PRE_RECONCILE, twice, "called its next link twice"),
        (PRE_RECONCILE, silent, "returned None in place of Proceed"),
        (PRE_RECONCILE, hasty, "without a result of its next link"),
        (PRE_RECONCILE, hopeful, "without a result of its next link"),
        (PRE_RECONCILE, crashing, "raised KeyError"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_link_that_breaks_the_rules_is_caught(point, run, message):
    with pytest.raises(AssertionError, match=message):
        check_extension_set(set_of(point, run), kinds=[THING])


def test_an_async_extension_is_caught_before_the_kit_sees_it():
    async def later(req, call_next):
        return call_next(req)

    with pytest.raises(ExtensionError, match="coroutine"):
        set_of(PRE_RECONCILE, later)


def test_a_link_for_any_kind_is_tried_with_every_sample():
    def only_with_a_label(req, call_next):
        return None if labels(req.obj) else call_next(req)

    one = ExtensionSet("set")
    one.on(PRE_RECONCILE, ANY_KIND)(only_with_a_label)
    kinds = [THING, GroupKind("a.azure.com", "Other")]
    check_extension_set(one, kinds=kinds)
    sample = {
        "apiVersion": "sample.azure.com/v1",
        "kind": "Thing",
        "metadata": {"labels": {"a": "b"}},
    }
    with pytest.raises(AssertionError, match=r"only_with_a_label.*returned None"):
        check_extension_set(one, kinds=kinds, samples=[sample])


def test_a_link_registered_twice_is_caught():
    one = set_of(PRE_RECONCILE, polite)
    one.on(PRE_RECONCILE, THING)(polite)
    with pytest.raises(AssertionError, match="twice"):
        check_extension_set(one, kinds=[THING])


def test_a_kind_that_does_not_exist_is_caught():
    with pytest.raises(ExtensionError, match="no known kind"):
        check_extension_set(set_of(PRE_RECONCILE, polite), kinds=[])


def test_a_link_is_tried_with_the_samples_of_its_kind():
    def only_this_sample(req, call_next):
        if req.obj.get("spec"):
            req.obj["spec"]["touched"] = True
        return call_next(req)

    sample = {"apiVersion": "sample.azure.com/v1", "kind": "Thing", "spec": {"a": 1}}
    one = set_of(PRE_RECONCILE, only_this_sample)
    with pytest.raises(AssertionError, match="changes its request"):
        check_extension_set(one, kinds=[THING], samples=[sample])
    assert sample["spec"] == {"a": 1}


def test_fake_arm_refuses_what_is_not_registered():
    with pytest.raises(AssertionError, match="unexpected request: POST /x/listKeys"):
        FakeArm().on("POST", "/listKeys", "2024-01-01", {}).post("/x/listKeys", "2020")


def test_fake_arm_may_say_404_instead():
    arm = FakeArm(unknown="404")
    with pytest.raises(ArmError) as raised:
        arm.get("/x", "v")
    assert raised.value.status == 404
    assert list(arm.list("/x", "v")) == []


def test_fake_arm_answers_in_order_and_repeats_the_last():
    arm = FakeArm().on("GET", "/x", "v", {"n": 1}).on("GET", "/x", "v", {"n": 2})
    assert [arm.get("/x", "v")["n"] for _ in range(3)] == [1, 2, 2]


def test_next_link_stand_ins():
    request = PreReconcile(fake_ctx(), {})
    assert polite(request, returns(Proceed())) == Proceed()
    with pytest.raises(AssertionError, match="PreReconcile"):
        polite(request, fails_if_called)


def test_fake_objects_find_by_key_and_by_owner():
    objects = FakeObjects([OWNER])
    child = {"metadata": {"namespace": "ns"}, "spec": {"owner": {"name": "o"}}}
    assert objects.owner_of(child) == OWNER
    assert objects.owner_of({"metadata": {"namespace": "ns"}}) is None
