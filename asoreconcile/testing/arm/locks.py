"""Management locks, which forbid changes or deletions while they exist (E5).

A lock is a resource like any other,
`{scope}/providers/Microsoft.Authorization/locks/{name}` with `properties.level`. It
holds for its scope and everything below.
"""

from asoreconcile.testing.arm.address import ArmAddress
from asoreconcile.testing.arm.refusals import RefusedError
from asoreconcile.testing.arm.resources import ArmResource, Resources

_LOCKS = "microsoft.authorization/locks"
VERBS = {"PUT": "write", "PATCH": "write", "DELETE": "delete", "POST": "action"}


def check_locks(resources: Resources, address: ArmAddress, method: str) -> None:
    """Check that no lock forbids the request. Raises RefusedError 409."""
    if address.type == _LOCKS or method not in VERBS:
        return
    locks = resources.of_type(_LOCKS)
    found = [lock for lock in locks if _forbids(lock, address, method)]
    if not found:
        return
    scopes = ", ".join(f"'{lock.address.scope}'" for lock in found)
    raise RefusedError(
        409,
        "ScopeLocked",
        f"The scope '{address.id}' cannot perform {VERBS[method]} operation because "
        f"following scope(s) are locked: {scopes}. Please remove the lock and try "
        "again.",
    )


def _forbids(lock: ArmResource, address: ArmAddress, method: str) -> bool:
    level = str((lock.body.get("properties") or {}).get("level", "")).lower()
    if level != "readonly" and method != "DELETE":
        return False
    scope, key = lock.address.scope.lower(), address.key
    if key == scope or key.startswith(f"{scope}/"):
        return True
    # A single locked resource prevents the deletion of the group that it is in.
    return method == "DELETE" and scope.startswith(f"{key}/")
