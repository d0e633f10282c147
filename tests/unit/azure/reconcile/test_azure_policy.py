import pytest

from asoreconcile.azure.reconcile.model.annotation_table import needs_reconcile
from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY
from asoreconcile.azure.reconcile.model.policy import Policy, policy_of


def annotated(value):
    return {} if value is None else {RECONCILE_POLICY: value}


@pytest.mark.parametrize(
    ("obj", "namespace", "default", "expected"),
    [
        (None, None, Policy.MANAGE, Policy.MANAGE),
        ("skip", "manage", Policy.MANAGE, Policy.SKIP),
        (None, "detach-on-delete", Policy.MANAGE, Policy.DETACH_ON_DELETE),
        ("", "skip", Policy.MANAGE, Policy.SKIP),
        ("manage", "skip", Policy.SKIP, Policy.MANAGE),
        (None, None, Policy.DETACH_ON_DELETE, Policy.DETACH_ON_DELETE),
    ],
)
def test_r1_7_object_wins_over_namespace_over_default(
    obj, namespace, default, expected
):
    assert policy_of(annotated(obj), annotated(namespace), default) is expected


@pytest.mark.parametrize("value", ["Skip", "managed", " skip"])
def test_r1_7_an_unknown_value_is_no_policy(value):
    for default in Policy:
        assert policy_of(annotated(value), annotated("skip"), default) is None
        assert policy_of({}, annotated(value), default) is None


@pytest.mark.parametrize(
    ("before", "after", "wakes", "wakes_deleting"),
    [
        (None, "skip", True, True),
        ("skip", "manage", True, True),
        ("skip", "skip", False, False),
        (None, "detach-on-delete", False, True),
        ("detach-on-delete", "manage", False, True),
        (None, "", False, False),
        (None, "Skip", True, True),
        ("Skip", "manage", True, True),
        ("Skip", "skipp", True, True),
    ],
)
def test_r6_1_only_changes_to_and_from_skip_or_nonsense_wake_what_stays(
    before, after, wakes, wakes_deleting
):
    change = annotated(before), annotated(after)
    assert needs_reconcile(*change, deleting=False) is wakes
    assert needs_reconcile(*change, deleting=True) is wakes_deleting
