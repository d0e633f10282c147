"""Explains a Ready condition: its cause in one sentence, and advice to a person. Pure.

Reasons are the operator's own or Azure's error codes. The advice repeats the names,
actions and ids in Azure's message. The texts are in `advice.json`.
"""

import re
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY
from asoreconcile.azure.reconcile.model.conditions import ready_of
from asoreconcile.base.jsontext import loads
from asoreconcile.base.objects import JsonObject, generation, is_deleting

_DATA: Mapping[str, Any] = loads(
    (files("asoreconcile.azure.reconcile.planning") / "advice.json").read_bytes()
)
ADVICE: Mapping[str, str] = {n: one["advice"] for n, one in _DATA["reasons"].items()}
"""What to do, by the reason of a Ready condition; "" where nothing is to be done."""

CAUSES: Mapping[str, str] = {n: one["cause"] for n, one in _DATA["reasons"].items()}
"""The cause in one sentence, by the reason of a Ready condition."""

UNSEEN: Mapping[str, tuple[str, str]] = {
    state: (one["cause"], one["advice"]) for state, one in _DATA["unseen"].items()
}
"""By a state that no Ready condition shows: its cause, and what to do."""

BESIDE_READY: Mapping[str, str] = _DATA["besideReady"]
"""What to do about a condition other than Ready, by its type."""

_THROTTLED, _BUSY = (frozenset(_DATA[name]) for name in ("throttled", "busy"))
_NOTHING_TO_DO = "Nothing to do: it mends itself"
_DETACH = f"set the annotation {RECONCILE_POLICY}: detach-on-delete"
_SKIP = f"set the annotation {RECONCILE_POLICY}: skip"
_AZURE: Mapping[str, str] = {
    **_DATA["azure"],
    **dict.fromkeys(_DATA["azureMissing"]["codes"], _DATA["azureMissing"]["advice"]),
}
# Codes differ by service; their words say what is to be done.
_BY_WORDS: Mapping[str, str] = {
    **_DATA["azureWords"],
    "AuthenticationToken|AuthenticationFailed": ADVICE["CredentialError"],
}
_REFUSED = (
    "Do what the message says. The request is repeated by itself, and at once when the "
    "spec changes."
)
_AUTHORIZATION = re.compile(
    r"client '(?P<client>[^']*)'(?: with object id '(?P<id>[^']*)')?.*?"
    r"perform action '(?P<action>[^']*)'.*?scope '(?P<scope>[^']*)'",
    re.DOTALL,
)
_LINKED = re.compile(
    r"action\(s\) '(?P<action>[^']*)' on the linked scope\(s\) '(?P<scope>[^']*)'"
)
_POLICY = re.compile(r'"policyAssignment":\s*{"name":\s*"([^"]*)"|\(policy: ([^)]*)\)')
_LOCKED = re.compile(r"scope\(s\) are locked: '([^']*)'")
_ARM_ID = re.compile(r"/subscriptions/[^\s,;'\"\])]+")


def unseen(obj: JsonObject) -> str:
    """Return why the Ready condition is out of date, as a key of `UNSEEN`; "" if it is
    about the present object.
    """
    condition = ready_of(obj)
    if not condition:
        return "no condition yet"
    if condition.get("severity") == "Info":
        return ""  # work that goes on is finished before a change is looked at
    if condition.get("status") == "True" and is_deleting(obj):
        return "in deletion"
    if condition.get("observedGeneration", generation(obj)) != generation(obj):
        return "changed since the last look"
    return ""


def cause_of(reason: str, *, deleting: bool) -> str:
    """Return the cause in one sentence; "" without a reason."""
    if reason in CAUSES or not reason:
        return CAUSES.get(reason, "")
    if reason in _THROTTLED:
        return f"The operator sent more requests than Azure allows ({reason})."
    if reason in _BUSY:
        return f"Azure cannot do it at the moment ({reason})."
    refused = f"Azure refuses the {'deletion' if deleting else 'request'}"
    return f"{_DATA['azureCauses'].get(reason, refused)} ({reason})."


def advice_on(
    reason: str, severity: str, message: str, *, deleting: bool, next_try: str = ""
) -> str:
    """Return what a person can do, in whole sentences; "" if the object is in order.

    next_try: time at which the operator tries again by itself, such as `at 14:05:10
    UTC`.
    """
    if reason in ADVICE and not (reason == "Failed" and deleting):
        return ADVICE[reason]
    if reason in _BUSY | _THROTTLED:
        return f"{_NOTHING_TO_DO}, next try {next_try or 'within minutes'}."
    if reason == "ScopeLocked" and deleting:
        return _lock(message, _DETACH)
    if reason in _PARSED and (found := _PARSED[reason](message)):
        return found
    if deleting:
        return _deletion(message)
    if reason in _AZURE:
        return _AZURE[reason]
    for words, text in _BY_WORDS.items():
        if re.search(words, reason):
            return text
    if severity == "Info":
        return f"{_NOTHING_TO_DO}."
    if severity == "Warning":
        return _REFUSED
    return ADVICE["Failed"] if reason else ""


def _authorization(message: str) -> str:
    who = _AUTHORIZATION.search(message)
    what = _LINKED.search(message) or who
    if who is None or what is None:
        return (
            "Give the identity that the message names a role with the action on the "
            "scope that it names."
        )
    named = f"the client {who['client']}"
    if who["id"]:
        named += f" (object id {who['id']})"
    return (
        f"Give {named} a role with the action {what['action']} on {what['scope']}, or "
        "use another credential. New roles are effective after some minutes."
    )


def _policy(message: str) -> str:
    names = [one or other for one, other in _POLICY.findall(message)]
    named = f"policy {', '.join(names)}" if names else "policy that the message names"
    return (
        f"Change the spec so that it fits the Azure {named}, or ask its owner for an "
        "exemption."
    )


def _lock(message: str, other: str = _SKIP) -> str:
    locked = _LOCKED.search(message)
    place = locked[1] if locked else "the resource or its group"
    return f"Remove the management lock on {place}, or {other}."


def _deletion(message: str) -> str:
    blockers = sorted(set(_ARM_ID.findall(message)))
    which = f": {', '.join(blockers)}" if blockers else ""
    return (
        f"Delete or detach what blocks the deletion{which}. To remove the object and "
        f"leave the resource in Azure, {_DETACH}."
    )


_PARSED: Mapping[str, Callable[[str], str]] = {
    "AuthorizationFailed": _authorization,
    "CannotDeleteResource": _deletion,
    "InUseSubnetCannotBeDeleted": _deletion,
    "LinkedAuthorizationFailed": _authorization,
    "PublicIPAddressCannotBeDeleted": _deletion,
    "RequestDisallowedByPolicy": _policy,
    "ScopeLocked": _lock,
}
