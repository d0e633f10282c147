"""Recognise refusals by management locks of Azure, and find the locks' names.

A lock of a scope, `CanNotDelete` or `ReadOnly`, also holds for everything below it.
Azure's refusal names the locked scopes, and only sometimes the locks. Rule: OW-4.
"""

import re
import string
from collections.abc import Sequence

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.arm.text_bounds import ARM_ID, NAME
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import JsonObject, dig

_log = Logger(__name__)

LOCKED_SECONDS = 300.0
"""The least pause after a refusal: a person must remove the lock first."""

_TYPE = "Microsoft.Authorization/locks"
_API_VERSION = "2020-05-01"
_CODES = frozenset({"scopelocked", "linkedscopelocked", "resourcelocked"})
# The sentence of ARM itself, which providers pass on in envelopes of their own.
# Possessive: the time is in proportion to the length of the text.
_SENTENCE = re.compile(
    r"scope\(s\) are locked:((?:\s*+(?:,\s*+)?+'/[^']++')++)", re.IGNORECASE
)
_SCOPE = re.compile(r"'(/[^']++)'")
_LOCKS = "/providers/microsoft.authorization/locks/"
# The parts of a lock's id before and after `_LOCKS`; the first one is read backwards.
_ABOVE, _LOCK = re.compile(r"[\w./()-]*+"), re.compile(r"[\w.()-]++")
_MOST_SCOPES = 3
_FOLDED = {ord(one): one.lower() for one in string.ascii_uppercase}


def is_locked(error: ArmError) -> bool:
    """Return whether a management lock is the reason for a refusal. Pure."""
    if any(code.lower() in _CODES for code in (error.code, *error.codes)):
        return True
    return bool(_SENTENCE.search(error.body) or _lock_in(error.body))


def locked_scopes(error: ArmError) -> Sequence[str]:
    """Return the locked scopes that a refusal names, each once. Pure."""
    found = _SENTENCE.search(error.message) or _SENTENCE.search(error.body)
    scopes = _SCOPE.findall(found.group(1)) if found else []
    return tuple(dict.fromkeys(scopes))


def _lock_in(text: str) -> tuple[str, str] | None:
    """Return the locked scope and the name of the first lock whose id is in a text."""
    # Letters that fold to several would move the places.
    folded = text.lower() if text.isascii() else text.translate(_FOLDED)
    at = folded.find(_LOCKS)
    while at >= 0:
        before = text[max(0, at - ARM_ID.most) : at]
        match = _ABOVE.match(before[::-1])
        run = before[len(before) - match.end() :] if match else ""
        scope = run[run.find("/") :] if "/" in run else ""
        name = _LOCK.match(text, at + len(_LOCKS), at + len(_LOCKS) + NAME.most)
        named = name[0].rstrip(".") if name else ""
        if len(scope) > 1 and named:
            return scope, named
        at = folded.find(_LOCKS, at + len(_LOCKS))
    return None


def lock_names(error: ArmError, lister: ArmClient) -> str:
    """Return the locks behind a refusal as a clause, such as `lock keep (CanNotDelete)
    of /subscriptions/...`; "" if Azure does not tell.

    Blocking: one list for each scope, three at most.
    """
    if found := _lock_in(error.body):
        return f"lock {found[1]} of {found[0]}"
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
