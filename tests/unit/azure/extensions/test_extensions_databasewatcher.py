"""Watchers that their targets start, and connections that links approve."""

import attrs
import pytest
from extensions_chains import cr, default, group_kind, version

from asoreconcile.azure.arm.outcomes import OperationDone
from asoreconcile.azure.middleware.extension_points import POST_RECONCILE
from asoreconcile.azure.middleware.requests import NotReady, PostReconcile, Ready
from asoreconcile.azure.testing.extensions import (
    SUBSCRIPTION,
    FakeArm,
    arm_fault,
    fake_ctx,
)

TARGET, LINK = "databasewatcher/Target", "databasewatcher/SharedPrivateLink"
API = "2024-10-01-preview"
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers"
WATCHER_ID = f"{GROUP}/Microsoft.DatabaseWatcher/watchers/w"
SERVER_ID = f"{GROUP}/Microsoft.Sql/servers/shop"
SKIP = {"serviceoperator.azure.com/reconcile-policy": "skip"}
OTHER = {"serviceoperator.azure.com/credential-from": "another"}


def checked(kind, obj, arm, *, arm_id, owner=None, objects=(), reports=False):
    ctx = fake_ctx(version(kind), arm=arm, arm_id=arm_id, objects=objects)
    ctx = attrs.evolve(ctx, only_reports=reports)
    chain = default().chain(POST_RECONCILE, group_kind(kind))
    return chain(PostReconcile(ctx, obj, owner))


def watcher(notes=None, *, datastore="there", **operator_spec):
    spec = {"operatorSpec": operator_spec}
    if datastore:
        spec["datastore"] = {"kustoClusterUri": datastore}
    return {"metadata": {"name": "w", "annotations": notes or {}}, "spec": spec}


def started(state, owner, **how):
    arm = FakeArm().on("GET", "/watchers/w", API, {"properties": {"status": state}})
    arm.on("POST", "/watchers/w/start", API, OperationDone(None))
    result = checked(
        TARGET, cr(TARGET), arm, arm_id=f"{WATCHER_ID}/targets/t", owner=owner, **how
    )
    return result, [method for method, *_ in arm.sent]


def test_a_stopped_watcher_is_started():
    result, sent = started("stopped", watcher())
    assert sent == ["GET", "POST"]
    assert "is being started" in result.message
    assert started("Running", watcher()) == (Ready(), ["GET"])


@pytest.mark.parametrize("owner", [None, watcher(autoStart=False)])
def test_a_watcher_that_a_person_starts_is_not_read(owner):
    assert started("Stopped", owner) == (Ready(), [])


@pytest.mark.parametrize(
    ("state", "owner", "told"),
    [
        ("Starting", watcher(), "in state 'Starting'"),
        ("Stopped", watcher(datastore=""), "has no datastore"),
        ("Stopped", watcher(SKIP), "policy of w is skip"),
        ("Stopped", watcher(OTHER), "another value of serviceoperator"),
    ],
)
def test_a_watcher_that_may_not_be_started_is_named(state, owner, told):
    result, sent = started(state, owner)
    assert (told in result.message, sent) == (True, ["GET"])


def test_nothing_is_started_if_syncs_only_report():
    result, sent = started("Stopped", watcher(), reports=True)
    assert ("sync mode is report" in result.message, sent) == (True, ["GET"])


def connection(state, endpoint="l"):
    return {
        "id": f"{SERVER_ID}/privateEndpointConnections/l-1",
        "properties": {
            "privateEndpoint": {"id": f"/x/privateEndpoints/{endpoint}"},
            "privateLinkServiceConnectionState": {"status": state},
        },
    }


DONE = OperationDone(None)


def linked(answer, *, put=DONE, notes=None):
    reference = {"group": "sql.azure.com", "kind": "Server", "name": "shop"}
    link = cr(
        LINK,
        spec={"privateLinkResourceReference": reference},
        status={"privateLinkResourceId": SERVER_ID},
    )
    server = {
        "apiVersion": "sql.azure.com/v1api20211101preview",
        "kind": "Server",
        "metadata": {**link["metadata"], "name": "shop", "annotations": notes or {}},
    }
    at = "2021-11-01-preview"
    arm = FakeArm().on("LIST", "/shop/privateEndpointConnections", at, answer)
    arm.on("PUT", "/privateEndpointConnections/l-1", at, put)
    arm_id = f"{WATCHER_ID}/sharedPrivateLinkResources/L"
    result = checked(LINK, link, arm, arm_id=arm_id, objects=[server])
    return result, [method for method, *_ in arm.sent]


DENIED = arm_fault(403, "AuthorizationFailed")
GONE = arm_fault(400, "PrivateEndpointConnectionStatusNotPending")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ([], "has not opened"),
        ([connection("Pending", endpoint="another")], "has not opened"),
        ([connection("Disconnected")], "was disconnected"),
        ([connection("Unknown")], "in state 'Unknown'"),
        ([connection("Approved"), connection("Pending")], "2 private endpoint"),
    ],
)
def test_a_link_is_not_ready_before_its_connection_is(answer, told):
    result, sent = linked(answer)
    assert (told in result.message, sent) == (True, ["LIST"])


@pytest.mark.parametrize("answer", [DENIED, [connection("approved")] * 2])
def test_a_connection_that_is_approved_or_hidden_holds_nothing_up(answer):
    assert linked(answer) == (Ready(), ["LIST"])


@pytest.mark.parametrize(
    ("put", "told"),
    [
        (OperationDone(None), "is being approved"),
        (GONE, "is being approved"),
        (DENIED, "the credential may not approve it"),
    ],
)
def test_a_pending_connection_is_approved(put, told):
    result, sent = linked([connection("Pending")], put=put)
    assert isinstance(result, NotReady)
    assert (told in result.message, sent) == (True, ["LIST", "PUT"])


def test_a_connection_to_what_another_credential_manages_is_left_alone():
    result, sent = linked([connection("Pending")], notes=OTHER)
    assert ("waits for approval" in result.message, sent) == (True, ["LIST"])
