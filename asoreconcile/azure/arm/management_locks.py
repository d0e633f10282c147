"""Recognise refusals by management locks of Azure, and find the locks' names.

A lock of a scope, `CanNotDelete` or `ReadOnly`, also holds for everything below it.
Azure's refusal names the locked scopes, and only sometimes the locks. Rule: OW-4.
"""

import re
from collections.abc import Sequence

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import JsonObject, dig

_log = Logger(__name__)

LOCKED_SECONDS = 300.0
"""The least pause after a refusal: a person must remove the lock first."""

_TYPE = "Microsoft.Authorization/locks"
_API_VERSION = "2020-05-01"
_CODES = frozenset({"scopelocked", "linkedscopelocked", "resourcelocked"})
# The sentence of ARM itself, which providers pass on in envelopes of their own.
_SENTENCE = re.compile(r"scope\(s\) are locked:((?:\s*,?\s*'/[^']+')+)", re.IGNORECASE)
_SCOPE = re.compile(r"'(/[^']+)'")
_LOCK_ID = re.compile(
    r"(/[\w./()-]+?)/providers/microsoft\.authorization/locks/([\w.()-]*[\w()-])",
    re.IGNORECASE,
)
_MOST_SCOPES = 3


def is_locked(error: ArmError) -> bool:
    """Return whether a management lock is the reason for a refusal. Pure."""
    if any(code.lower() in _CODES for code in (error.code, *error.codes)):
        return True
    return any(found.search(error.body) for found in (_SENTENCE, _LOCK_ID))


def locked_scopes(error: ArmError) -> Sequence[str]:
    """Return the locked scopes that a refusal names, each once. Pure."""
    found = _SENTENCE.search(error.message) or _SENTENCE.search(error.body)
    scopes = _SCOPE.findall(found.group(1)) if found else []
    return tuple(dict.fromkeys(scopes))


def lock_names(error: ArmError, lister: ArmClient) -> str:
    """Return the locks behind a refusal as a clause, such as `lock keep (CanNotDelete)
    of /subscriptions/...`; "" if Azure does not tell.

    Blocking: one list for each scope, three at most.
    """
    if found := _LOCK_ID.search(error.body):
        return f"lock {found.group(2)} of {found.group(1)}"
    names = [
        f"lock {lock.get('name')} ({dig(lock, 'properties.level')}) of {scope}"
        for scope in locked_scopes(error)[:_MOST_SCOPES]
        for lock in _locks_of(scope, lister)
    ]
    return ", ".join(names)


def _locks_of(scope: str, lister: ArmClient) -> list[JsonObject]:
    """Return the locks of a scope itself; [] if they cannot be read."""
    try:
        listed = list(lister.list(f"{scope}/providers/{_TYPE}", _API_VERSION))
    except (ArmError, ArmTransportError) as error:
        # Many identities may delete and may not read locks: the scope is named anyway.
        _log.info("Cannot read the locks", armId=scope, reason=str(error))
        return []
    # A list also has the locks below the scope.
    above = f"{ids.key(scope)}/providers/{_TYPE}/".lower()
    return [
        lock
        for lock in listed
        if ids.key(str(lock.get("id") or "")).startswith(above)
        and "/" not in ids.key(str(lock["id"])).removeprefix(above)
    ]
