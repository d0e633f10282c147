"""Reports annotations with unknown values in an event and the condition. Pure.

A value that was meant to protect a resource does so even if it is misspelt: with an
unknown reconcile policy nothing is written or deleted (R1.7), and with an unknown sync
mode syncs only report.
"""

from collections.abc import Iterator, Mapping
from enum import Enum

from asoreconcile.azure.catalogue.suggestions import hint
from asoreconcile.azure.reconcile.model.annotations import (
    DELETION_PROTECTION,
    FOREIGN_TAGS,
    ON_IMMUTABLE,
    PAUSED,
    RECONCILE_POLICY,
    WAIT_FOR_REFERENCES,
)
from asoreconcile.azure.reconcile.model.decisions import (
    AppendToMessages,
    Effect,
    EmitEvent,
    Log,
    UpdateMemory,
)
from asoreconcile.azure.reconcile.model.if_exists import (
    IF_EXISTS,
)
from asoreconcile.azure.reconcile.model.policy import Policy
from asoreconcile.azure.reconcile.model.sync_mode import SYNC_MODE, SyncMode

_MOST_SHOWN = 40
# Shared by nearly all objects; an empty set takes 216 bytes.
_NONE: frozenset[str] = frozenset()
_EFFECTS = {
    RECONCILE_POLICY: "nothing is written or deleted in Azure",
    SYNC_MODE: "syncs only report",
    DELETION_PROTECTION: "the resource is protected",
    PAUSED: "the object is paused",
    FOREIGN_TAGS: "foreign tags are kept",
    IF_EXISTS: "a resource that is there is left alone",
    ON_IMMUTABLE: "no resource is made again",
    WAIT_FOR_REFERENCES: "the object waits for what it refers to",
}
_LOGGED = {
    RECONCILE_POLICY: "Unknown reconcile-policy; nothing is written",
    SYNC_MODE: "Unknown sync-mode; syncs only report",
}


def unknown_values(
    own: Mapping[str, str],
    inherited: Mapping[str, str],
    *,
    defaults: Mapping[str, Enum],
    wrong: Mapping[str, str],
    known: frozenset[str],
) -> tuple[Effect, ...]:
    """Append the unknown values to the conditions of this reconcile; report each once
    in an event and the log.

    own, inherited: the annotations of the object and of its Namespace. defaults:
    defaults by annotation. wrong: sentences about other annotations, by name. known:
    sentences that were reported before.
    """
    found = {
        name: sentence
        for name, default in defaults.items()
        if (sentence := not_understood(name, default, own, inherited))
    } | dict(wrong)
    events: list[Effect] = []
    for name, sentence in found.items():
        if sentence not in known:
            events.append(EmitEvent("Warning", "UnknownAnnotationValue", sentence))
            log = _LOGGED.get(name, "Unknown value of an annotation")
            events.append(Log("warning", log, sentence))
    sentences = found.values()
    remember = UpdateMemory(unknown_values=frozenset(sentences) if found else _NONE)
    return *events, remember, AppendToMessages("; ".join(sentences))


def not_understood(
    name: str, default: Enum, own: Mapping[str, str], inherited: Mapping[str, str]
) -> str:
    """Return the sentence about an annotation, or "" when its value is one of the
    default's kind. Pure.

    own, inherited: the annotations of the object and of its Namespace.
    """
    value = own.get(name) or inherited.get(name)
    if not value:
        return ""
    known = [str(one.value) for one in type(default)]
    if value in known:
        return ""
    whose = "annotation" if own.get(name) else "the Namespace's annotation"
    return (
        f"{whose} {name} is {_shown(value)!r}, which is none of {', '.join(known)}: "
        f"until it is, {_EFFECTS[name]}{hint(_shown(value).strip().lower(), known)}"
    )


def unreadable_policy(own: Mapping[str, str], inherited: Mapping[str, str]) -> str:
    """Return the sentence about an unknown reconcile policy, or "". Pure.

    own, inherited: the annotations of the object and of its Namespace.
    """
    return not_understood(RECONCILE_POLICY, Policy.MANAGE, own, inherited)


def new_unknown_values(
    own: Mapping[str, str], before: Mapping[str, str]
) -> Iterator[str]:
    """Yield a sentence for each annotation of an object that was set to an unknown
    value, or changed to one. Pure.
    """
    defaults: tuple[tuple[str, Enum], ...] = (
        (RECONCILE_POLICY, Policy.MANAGE),
        (SYNC_MODE, SyncMode.COMPARE),
    )
    for name, default in defaults:
        if own.get(name) == before.get(name):
            continue
        if sentence := not_understood(name, default, own, {}):
            yield sentence


def _shown(value: str) -> str:
    return value if len(value) <= _MOST_SHOWN else value[:_MOST_SHOWN] + "..."
