"""BackupVaultsBackupInstance: ready once its protection has settled."""

import json

import pytest
from extensions_chains import cr, default, group_kind, version

from asoreconcile.azure.arm.outcomes import OperationDone
from asoreconcile.azure.arm.outcomes import Pending as Running
from asoreconcile.azure.arm.tokens import RESOURCE, Token, TokenShape, loads
from asoreconcile.azure.middleware.context import MemoryOperations, SuboperationPending
from asoreconcile.azure.middleware.extension_points import POST_RECONCILE
from asoreconcile.azure.middleware.requests import NotReady, PostReconcile, Ready
from asoreconcile.azure.testing.extensions import ARM_ID, FakeArm, fake_ctx

TOKEN = Token(
    TokenShape.LOCATION, RESOURCE, "https://arm.test/operations/1", "InProgress"
)
KIND = "dataprotection/BackupVaultsBackupInstance"
SYNC_RESPONSE = "BackupInstancesClientSyncBackupInstanceResponse"
BI_TOKEN = "serviceoperator.azure.com/bi-poller-resume-token"
VAULT = {"kind": "BackupVault", "metadata": {"name": "v"}}


def protection(state, code=None, **status):
    details = {"errorDetails": {"code": code}} if code else {}
    return {
        "id": ARM_ID,
        "properties": {"protectionStatus": {"status": state, **details}},
        **status,
    }


def checked(status, arm=None, operations=None, owner=VAULT):
    chain = default().chain(POST_RECONCILE, group_kind(KIND))
    ctx = fake_ctx(version(KIND), arm=arm, operations=operations)
    return chain(PostReconcile(ctx, cr(KIND, status=status), owner))


@pytest.mark.parametrize(
    "state",
    [
        "ConfiguringProtectionFailed",
        "Invalid",
        "NotProtected",
        "ProtectionConfigured",
        "PROTECTIONCONFIGURED",
        "SoftDeleted",
        "ProtectionStopped",
        "BackupSchedulesSuspended",
        "RetentionSchedulesSuspended",
    ],
)
def test_protection_that_has_settled_is_ready(state):
    assert checked(protection(state)) == Ready()


@pytest.mark.parametrize(
    ("status", "owner"),
    [
        (protection("ConfiguringProtection"), None),
        (protection("ConfiguringProtection", id=None), VAULT),
        ({"id": ARM_ID}, VAULT),
        ({"id": ARM_ID, "properties": {"protectionStatus": None}}, VAULT),
    ],
    ids=["no owner", "no id", "no properties", "no protection status"],
)
def test_what_cannot_be_judged_goes_on(status, owner):
    assert checked(status, owner=owner) == Ready()


@pytest.mark.parametrize(
    ("state", "code"),
    [("ConfiguringProtection", None), ("ProtectionError", "CloudInternalError")],
)
def test_protection_under_way_is_not_ready_and_not_synced(state, code):
    answer = checked(protection(state, code), FakeArm())
    assert isinstance(answer, NotReady)
    assert f'"{state}"' in answer.message


def test_a_users_error_is_synced_over_passes_and_judged_afterwards():
    operations = MemoryOperations()
    status = protection("ProtectionError", "UserErrorMissingPermission")
    arm = FakeArm().on("POST", "/sync", "2024-04-01", Running(TOKEN, 5.0))
    with pytest.raises(SuboperationPending):
        checked(status, arm, operations)
    assert arm.sent == [("POST", f"{ARM_ID}/sync", "2024-04-01")]
    assert arm.bodies == [{"syncType": "Default"}]
    kept = loads(operations.tokens[BI_TOKEN], type_name=SYNC_RESPONSE)
    assert kept.url == TOKEN.url

    arm = FakeArm().on("POLL", TOKEN.url, "", OperationDone())
    answer = checked(status, arm, operations)
    assert isinstance(answer, NotReady)
    assert operations.tokens == {}

    assert checked(protection("ProtectionConfigured"), FakeArm(), operations) == Ready()


def test_a_sync_that_aso_began_goes_on():
    """Its token, as ASO's own SDK writes it: the cluster changed hands meanwhile."""
    inner = {
        "asyncURL": "https://arm.test/operations/7",
        "locURL": "https://arm.test/results/7",
        "origURL": f"https://arm.test{ARM_ID}/sync?api-version=2024-04-01",
        "method": "POST",
        "finalState": "location",
        "state": "InProgress",
    }
    operations = MemoryOperations()
    written = json.dumps({"type": SYNC_RESPONSE, "token": inner})
    operations.save(BI_TOKEN, written)
    token = loads(written, type_name=SYNC_RESPONSE)
    arm = FakeArm().on("POLL", "/operations/7", "", Running(token, 5.0))
    status = protection("ProtectionError", "UserErrorMissingPermission")
    with pytest.raises(SuboperationPending):
        checked(status, arm, operations)
    assert [method for method, *_ in arm.sent] == ["POLL"]
    assert json.loads(operations.tokens[BI_TOKEN]) == json.loads(written)


def test_a_sync_left_running_is_forgotten_once_protection_has_settled():
    operations = MemoryOperations()
    operations.save(BI_TOKEN, "token")
    checked(protection("ProtectionConfigured"), operations=operations)
    assert operations.tokens == {}
