"""Explains a Ready condition: its cause in one sentence, and advice to a person. Pure.

Reasons are the operator's own or Azure's error codes. The advice repeats the names,
actions and ids in Azure's message. The texts are in `advice.json`.
"""

import re
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from asoreconcile.azure.arm.text_bounds import FOREIGN_MESSAGE
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
_ASSIGNMENT = re.compile(r'"policyAssignment":\s*{"name":\s*"([^"]*)"')
_POLICY = re.compile(r"\(policy: ([^)]*+)\)")
# Kubernetes' own limit.
_MOST_REASON = 1024
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
    # Another client may have written the condition that both are in.
    reason, message = reason[:_MOST_REASON], FOREIGN_MESSAGE.cut(message)
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
    client, after_client = _quoted(message, "client '")
    id_, _ = _quoted(message, " with object id '", after_client, at_once=True)
    action, after_action = _quoted(message, "perform action '", after_client)
    scope, _ = _quoted(message, "scope '", after_action)
    if None in (client, action, scope):
        return (
            "Give the identity that the message names a role with the action on the "
            "scope that it names."
        )
    linked, after_linked = _quoted(message, "action(s) '")
    on, _ = _quoted(message, " on the linked scope(s) '", after_linked, at_once=True)
    if linked is not None and on is not None:
        action, scope = linked, on
    named = f"the client {client}"
    if id_:
        named += f" (object id {id_})"
    return (
        f"Give {named} a role with the action {action} on {scope}, or use another "
        "credential. New roles are effective after some minutes."
    )


def _quoted(
    message: str, words: str, start: int = 0, *, at_once: bool = False
) -> tuple[str | None, int]:
    """Return the text between words that end with a quote and the next quote, and the
    position behind it; None if there is none.

    at_once: whether the words must be at the start of the search. A search by one
    pattern for several quoted texts would take the cube of the message's length.
    """
    at = start if at_once else message.find(words, start)
    if at < 0 or not message.startswith(words, at):
        return None, start
    begin = at + len(words)
    end = message.find("'", begin)
    return (None, start) if end < 0 else (message[begin:end], end + 1)


def _policy(message: str) -> str:
    # No name ends after the last bracket: the search for one does not begin there.
    end = message.rfind(")") + 1
    names = [*_ASSIGNMENT.findall(message), *_POLICY.findall(message, 0, end)]
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
