"""Says which annotations have unknown values. Pure.

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
from asoreconcile.azure.reconcile.model.existence import IF_EXISTS
from asoreconcile.azure.reconcile.model.policy import Policy
from asoreconcile.azure.reconcile.model.sync_mode import SYNC_MODE, SyncMode

_MOST_SHOWN = 40
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


def unknown_values(
    own: Mapping[str, str], inherited: Mapping[str, str], defaults: Mapping[str, Enum]
) -> dict[str, str]:
    """Return a sentence for each annotation whose value is unknown, by annotation.

    own, inherited: the annotations of the object and of its Namespace. defaults:
    defaults by annotation.
    """
    return {
        name: sentence
        for name, default in defaults.items()
        if (sentence := not_understood(name, default, own, inherited))
    }


def not_understood(
    name: str, default: Enum, own: Mapping[str, str], inherited: Mapping[str, str]
) -> str:
    """Return the sentence about an annotation with an unknown value; "" if the value is
    known. Pure.

    default: a member of the enum of known values, which counts if the annotation is
    absent.

    own, inherited: the annotations of the object and of its Namespace.
    """
    value = own.get(name) or inherited.get(name)
    known = [str(one.value) for one in type(default)]
    if not value or value in known:
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
