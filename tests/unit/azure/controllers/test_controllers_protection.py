"""The values of annotations that people write, and which kinds may hold a deletion."""

from types import SimpleNamespace

import pytest

from asoreconcile.azure.controllers.admission import Admission
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.deletion_guard import DeletionGuard
from asoreconcile.azure.controllers.protected_objects import ProtectedObjects
from asoreconcile.azure.reconcile.model.annotation_table import TABLE
from asoreconcile.azure.reconcile.model.annotations import (
    DELETION_PROTECTION,
    FOREIGN_TAGS,
    IGNORE_FIELDS,
    MAINTENANCE_WINDOWS,
    PAUSED,
    RECONCILE_POLICY,
    RESOURCE_ID,
    SYNC_PERIOD,
)
from asoreconcile.azure.reconcile.model.policy import Policy
from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import GroupKind, GroupVersionKind, ObjectKey
from asoreconcile.kube.errors import TransportError
from asoreconcile.webhooks.admission import AdmissionRequest, Allowed, Denied

VNET = GroupVersionKind("network.azure.com", "v20250301", "VirtualNetwork")
GROUP = "/subscriptions/s/resourceGroups/rg"
NETWORK = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/vnet"


def written(old=None, **notes):
    """The answer to a write of an object with these annotations."""

    def obj(annotations):
        meta = {"name": "it", "namespace": "ns", "annotations": annotations}
        return {"metadata": meta, "spec": {"owner": {"name": "rg"}, "location": "x"}}

    return Admission(builtin()).validate(
        AdmissionRequest(
            operation="CREATE" if old is None else "UPDATE",
            gvk=VNET,
            key=ObjectKey("ns", "it"),
            obj=obj(notes),
            old=None if old is None else obj(old),
            subresource="",
            dry_run=False,
            user={},
            options={},
        )
    )


@pytest.mark.parametrize(
    ("name", "value", "near"),
    [
        (DELETION_PROTECTION, "ture", "did you mean true?"),
        (DELETION_PROTECTION, "True", "did you mean true?"),
        (DELETION_PROTECTION, "flase", "did you mean false?"),
        (PAUSED, "ture", "did you mean true?"),
        (MAINTENANCE_WINDOWS, "0 2 * * st 4h", "did you mean sat?"),
        (SYNC_PERIOD, "often", "15m or 6h"),
        (FOREIGN_TAGS, "replcae", "did you mean replace?"),
        (IGNORE_FIELDS, "spec.tagz.a", "did you mean spec.tags?"),
    ],
)
@pytest.mark.parametrize("old", [None, {}], ids=["create", "update"])
def test_ow4_a_wrong_value_is_refused_with_the_nearest(name, value, near, old):
    refused = written(old, **{name: value})
    assert isinstance(refused, Denied)
    assert name in refused.message
    assert near in refused.message


@pytest.mark.parametrize("name", TABLE.by_name)
def test_ow4_an_empty_value_is_not_refused(name):
    assert isinstance(written(**{name: ""}), Allowed)


def test_ow4_a_value_that_was_stored_before_keeps_no_write_back():
    wrong = {DELETION_PROTECTION: "ture"}
    assert written(wrong, **wrong) == Allowed()
    assert isinstance(written({}, **wrong), Denied)


def test_ow4_a_misspelt_name_is_told():
    answer = written(**{"asoreconcile/deletion-protecton": "true"})
    assert isinstance(answer, Allowed)
    (warning,) = answer.warnings
    assert "did you mean asoreconcile/deletion-protection?" in warning
    assert written(**{"asoreconcile/observed": "{}"}) == Allowed()


# Which caches must be filled before a deletion.


def kinds(*names, synced=False):
    """A registry of kinds that have no objects."""
    informer = SimpleNamespace(has_synced=lambda: synced, by_index=lambda *_: [])
    running = {
        GroupKind(*name.split("/")): SimpleNamespace(
            version=builtin().kind(GroupKind(*name.split("/"))).version(),
            informer=informer,
        )
        for name in names
    }
    return SimpleNamespace(running=lambda: running, entries_in=lambda _: {})


@pytest.mark.parametrize(
    ("kind", "arm_id", "waits"),
    [
        ("network.azure.com/VirtualNetworksSubnet", NETWORK, True),
        ("network.azure.com/VirtualNetworksSubnet", GROUP, True),
        ("authorization.azure.com/RoleAssignment", NETWORK, True),
        ("dbforpostgresql.azure.com/User", NETWORK, True),
        ("network.azure.com/VirtualNetwork", NETWORK, True),
        ("storage.azure.com/StorageAccount", NETWORK, False),
        ("storage.azure.com/StorageAccount", "an id of Entra", False),
    ],
)
def test_ow4_a_deletion_waits_for_the_kinds_that_may_be_below_it(kind, arm_id, waits):
    if waits:
        with pytest.raises(RetryError):
            ProtectedObjects(kinds(kind))(arm_id, "uid")
    else:
        assert ProtectedObjects(kinds(kind))(arm_id, "uid") == []
    assert ProtectedObjects(kinds(kind, synced=True))(arm_id, "uid") == []


# The guard, if it cannot know.


class Unreachable:
    def get(self, _resource, _key):
        raise TransportError("no")


def not_listed(_arm_id, _uid):
    raise RetryError("no", after_seconds=1.0)


def guarded(**notes):
    meta = {"name": "it", "namespace": "ns", "annotations": notes}
    return {"metadata": {**meta, "uid": "1"}}


def test_ow4_the_webhook_leaves_to_the_reconciler_what_it_cannot_know():
    guard = DeletionGuard(Unreachable(), Policy.MANAGE, not_listed)
    assert guard.why_refused(guarded(**{RESOURCE_ID: NETWORK})) == ""
    own = {RESOURCE_ID: NETWORK, DELETION_PROTECTION: "true"}
    assert DELETION_PROTECTION in guard.why_refused(guarded(**own))
    detached = {**own, RECONCILE_POLICY: "detach-on-delete"}
    assert guard.why_refused(guarded(**detached)) == ""
