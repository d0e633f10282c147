"""Tell refusals by management locks from others, and name the locks."""

import json

import pytest

from asoreconcile.azure.arm import error_body
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.management_locks import (
    is_locked,
    lock_names,
    locked_scopes,
)

GROUP = "/subscriptions/s/resourceGroups/rg"
NETWORK = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/vnet"
LOCKS = "providers/Microsoft.Authorization/locks"
SENTENCE = (
    f"The scope '{NETWORK}' cannot perform delete operation because following scope(s) "
    f"are locked: '{NETWORK}', '{GROUP}'. Please remove the lock and try again."
)


def refused(document, status=409):
    return ArmError(error_body.of(document), status=status, body=json.dumps(document))


def of(code, message, **more):
    return refused({"error": {"code": code, "message": message, **more}})


WRAPPED = of(
    "ResourceGroupDeletionBlocked",
    "The group is blocked",
    details=[{"code": "ScopeLocked", "message": SENTENCE}],
)
QUOTED = of("Conflict", f"A call failed: {SENTENCE}")
NAMED = of("OperationNotAllowed", f"Locked by {GROUP}/{LOCKS}/keep it.")


@pytest.mark.parametrize(
    "error",
    [of("ScopeLocked", "no"), of("scopelocked", ""), WRAPPED, QUOTED, NAMED],
    ids=["code", "other case", "nested", "quoted", "lock id"],
)
def test_ow4_a_lock_is_recognised_in_each_envelope(error):
    assert is_locked(error)


@pytest.mark.parametrize(
    "error",
    [
        of("Conflict", "Another operation is running"),
        of("AccountLocked", "The account is locked by a policy"),
        of("InUseSubnetCannotBeDeleted", f"'{NETWORK}' is in use"),
    ],
    ids=["conflict", "another lock", "in use"],
)
def test_ow4_other_refusals_are_no_locks(error):
    assert not is_locked(error)


@pytest.mark.parametrize("error", [of("ScopeLocked", SENTENCE), WRAPPED, QUOTED])
def test_ow4_the_locked_scopes_are_those_after_the_colon(error):
    assert locked_scopes(error) == (NETWORK, GROUP)


class Locks:
    """Answer lists of locks: with those of the scope, and those below it."""

    def list(self, path, _api_version):
        return iter(
            [
                {
                    "id": f"{scope}/{LOCKS}/{name}",
                    "name": name,
                    "properties": {"level": level},
                }
                for scope, name, level in [
                    (GROUP, "keep", "CanNotDelete"),
                    (NETWORK.upper(), "net", "ReadOnly"),
                ]
                if f"{scope}/".lower().startswith(
                    path.lower().partition(LOCKS.lower())[0]
                )
            ]
        )


def test_ow4_each_lock_is_named_once_with_its_own_scope():
    assert lock_names(of("ScopeLocked", SENTENCE), Locks()) == (
        f"lock net (ReadOnly) of {NETWORK}, lock keep (CanNotDelete) of {GROUP}"
    )
    assert lock_names(of("ScopeLocked", "no scope"), Locks()) == ""
    assert lock_names(NAMED, Locks()).startswith("lock keep")
