"""Key Vault create modes: recover, purge over several passes, faults."""

import pytest
from extensions_chains import SUBSCRIPTION, cr, default, group_kind, version

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.arm.outcomes import OperationDone
from asoreconcile.azure.arm.outcomes import Pending as Running
from asoreconcile.azure.arm.tokens import RESOURCE, Token, TokenShape
from asoreconcile.azure.middleware.context import MemoryOperations, SuboperationPending
from asoreconcile.azure.middleware.extension_points import MODIFY_PAYLOAD
from asoreconcile.azure.middleware.requests import ModifyPayload
from asoreconcile.azure.testing.extensions import FakeArm, arm_fault, fake_ctx

API = "2024-11-01"
VAULT_ID = (
    f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg"
    "/providers/Microsoft.KeyVault/vaults/azure-name"
)
# B8: by the Azure name, and the location as ARM writes it in paths (I5).
DELETED = (
    f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.KeyVault"
    "/locations/westus2/deletedVaults/azure-name"
)
TOKEN = Token(
    TokenShape.LOCATION, RESOURCE, "https://arm.test/operations/1", "InProgress"
)
ABSENT = arm_fault(404, "DeletedVaultNotFound")
NO_VAULT = arm_fault(404, "ResourceNotFound")


def deleted(resource_group="rg"):
    return {"properties": {"vaultId": VAULT_ID.replace("/rg/", f"/{resource_group}/")}}


def modified(mode, arm, operations=None, *, is_first=True, there=NO_VAULT, events=None):
    """The mode that is sent. there: Azure's answer to a GET of the vault itself."""
    payload = {"location": "West US 2", "properties": {"createMode": mode, "sku": 1}}
    if mode is None:
        del payload["properties"]["createMode"]  # type: ignore[attr-defined]
    arm.on("GET", VAULT_ID, version("keyvault/Vault").api_version, there)
    ctx = fake_ctx(
        version("keyvault/Vault"),
        arm=arm,
        arm_id=VAULT_ID,
        operations=operations,
        events=events,
    )
    obj = cr("keyvault/Vault", name="kubernetes-name")
    chain = default().chain(MODIFY_PAYLOAD, group_kind("keyvault/Vault"))
    result = chain(ModifyPayload(ctx, obj, payload, is_first=is_first))
    arm.sent = [one for one in arm.sent if one[1] != VAULT_ID]
    assert payload["properties"].get("createMode") == mode  # type: ignore[attr-defined]
    assert result["properties"]["sku"] == 1
    return result["properties"].get("createMode")


@pytest.mark.parametrize("mode", [None, "default", "recover"])
def test_azures_own_modes_go_through_without_a_request(mode):
    arm = FakeArm()
    assert modified(mode, arm) == mode
    assert arm.sent == []


MODES = pytest.mark.parametrize("mode", ["createOrRecover", "purgeThenCreate"])


@MODES
def test_only_the_first_creation_recovers_or_purges(mode):
    """A vault that somebody deletes later is left to people."""
    arm, events = FakeArm(), []
    assert modified(mode, arm, is_first=False, events=events) == "default"
    assert (arm.sent, events) == ([], [])


@MODES
def test_a_vault_that_is_there_is_neither_recovered_nor_purged(mode):
    arm = FakeArm()
    assert (
        modified(mode, arm, there={"id": VAULT_ID, "name": "azure-name"}) == "default"
    )
    assert arm.sent == []


@MODES
def test_a_404_that_does_not_say_that_the_vault_is_gone_purges_nothing(mode):
    arm = FakeArm()
    unclear = arm_fault(404, "OddNotFound")
    assert modified(mode, arm, there=unclear) == "default"
    assert arm.sent == []


@pytest.mark.parametrize(
    ("mode", "event"),
    [
        (
            "createOrRecover",
            ("Normal", "DeletedVaultRecovered", f"Recovering {DELETED}"),
        ),
        (
            "purgeThenCreate",
            ("Warning", "DeletedVaultPurged", f"Purging {DELETED} for good"),
        ),
    ],
)
def test_an_event_tells_of_a_recovery_and_of_a_purge(mode, event):
    arm, events = FakeArm().on("GET", DELETED, API, deleted()), []
    arm.on("POST", f"{DELETED}/purge", API, OperationDone())
    modified(mode, arm, events=events)
    assert events == [event]


def test_recover_when_a_deleted_vault_holds_the_name():
    arm = FakeArm().on("GET", DELETED, API, deleted())
    assert modified("createOrRecover", arm) == "recover"
    assert arm.sent == [("GET", DELETED, API)]


def test_recover_compares_resource_groups_without_case():
    arm = FakeArm().on("GET", DELETED, API, deleted("RG"))
    assert modified("createOrRecover", arm) == "recover"


def test_a_new_name_is_created():
    arm = FakeArm().on("GET", DELETED, API, ABSENT)
    assert modified("createOrRecover", arm) == "default"


@MODES
def test_a_deleted_vault_of_another_resource_group_needs_a_person(mode):
    arm = FakeArm().on("GET", DELETED, API, deleted("other"))
    with pytest.raises(ConditionError, match="'other'") as raised:
        modified(mode, arm)
    assert (raised.value.severity, raised.value.reason) == ("Error", "Failed")
    assert not [one for one in arm.sent if one[0] == "POST"]


FAULTS = [
    arm_fault(403, "AuthorizationFailed"),
    arm_fault(500, "InternalServerError"),
    ArmTransportError("reset", sent="maybe", method="GET", url="https://a"),
]


@pytest.mark.parametrize("mode", ["createOrRecover", "purgeThenCreate"])
@pytest.mark.parametrize("fault", FAULTS, ids=["403", "500", "no answer"])
def test_b9_a_lookup_that_failed_says_nothing_about_the_vault(mode, fault):
    arm = FakeArm().on("GET", DELETED, API, fault)
    with pytest.raises((ArmError, ArmTransportError)):
        modified(mode, arm)
    assert [one for one in arm.sent if one[0] != "GET"] == []


def test_purge_without_a_deleted_vault_only_looks():
    arm = FakeArm().on("GET", DELETED, API, ABSENT)
    assert modified("purgeThenCreate", arm) == "default"
    assert arm.sent == [("GET", DELETED, API)]


def test_purge_runs_over_passes_and_survives_a_restart():
    operations = MemoryOperations()
    arm = FakeArm().on("GET", DELETED, API, deleted())
    arm.on("POST", f"{DELETED}/purge", API, Running(TOKEN, 10.0))
    with pytest.raises(SuboperationPending) as raised:
        modified("purgeThenCreate", arm, operations)
    assert raised.value.after_seconds == 10.0

    # A new process knows the token only.
    arm = FakeArm().on("POLL", TOKEN.url, "", Running(TOKEN, 20.0))
    with pytest.raises(SuboperationPending):
        modified("purgeThenCreate", arm, operations)
    assert [one[0] for one in arm.sent if one[1] != VAULT_ID] == ["POLL"]

    arm = FakeArm().on("POLL", TOKEN.url, "", OperationDone())
    assert modified("purgeThenCreate", arm, operations) == "default"
    assert operations.tokens == {}


def test_b8_the_purge_goes_to_the_azure_name():
    arm = FakeArm().on("GET", DELETED, API, deleted())
    arm.on("POST", "/purge", API, OperationDone())
    assert modified("purgeThenCreate", arm) == "default"
    assert arm.sent[-1] == ("POST", f"{DELETED}/purge", API)


def test_a_purge_that_is_refused_stops_the_put():
    arm = FakeArm().on("GET", DELETED, API, deleted())
    arm.on("POST", "/purge", API, arm_fault(403, "AuthorizationFailed"))
    with pytest.raises(ArmError, match="AuthorizationFailed"):
        modified("purgeThenCreate", arm)


@pytest.mark.parametrize(
    "body",
    [
        {"properties": {"vaultId": odd}}
        for odd in (None, 5, True, ["/subscriptions/a"], {"a": 1}, "no id", "/x/y")
    ],
    ids=repr,
)
@MODES
def test_a_deleted_vault_of_which_azure_says_no_group_is_left_alone(body, mode):
    """It may be somebody else's; a person can look."""
    arm = FakeArm().on("GET", DELETED, API, body)
    with pytest.raises(ConditionError, match="does not say") as raised:
        modified(mode, arm)
    assert raised.value.severity == "Warning"
