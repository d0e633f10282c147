"""Reports annotations with unknown values in an event and the condition. Pure.

The default is used instead (R1.7), which may be the opposite of what was meant: with a
misspelt `detach-on-delete` the resource is deleted.
"""

from collections.abc import Mapping
from enum import Enum

from asoreconcile.azure.catalogue.suggestions import hint
from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY
from asoreconcile.azure.reconcile.model.decisions import (
    AppendToMessages,
    Effect,
    EmitEvent,
    Log,
    UpdateMemory,
)
from asoreconcile.azure.reconcile.model.sync_mode import SYNC_MODE

_MOST_SHOWN = 40
# Shared by nearly all objects; an empty set takes 216 bytes.
_NONE: frozenset[str] = frozenset()
_LOGGED = {
    RECONCILE_POLICY: "Unknown reconcile-policy; using the default",
    SYNC_MODE: "Unknown sync-mode; using the default",
}


def unknown_values(
    own: Mapping[str, str],
    inherited: Mapping[str, str],
    *,
    defaults: Mapping[str, Enum],
    known: frozenset[str],
) -> tuple[Effect, ...]:
    """Append the unknown values to the conditions of this reconcile; report each once
    in an event and the log.

    own, inherited: the annotations of the object and of its Namespace. defaults: of
    each annotation. known: sentences that were reported before.
    """
    found = {
        name: sentence
        for name, default in defaults.items()
        if (sentence := not_understood(name, default, own, inherited))
    }
    events: list[Effect] = []
    for name, sentence in found.items():
        if sentence not in known:
            events.append(EmitEvent("Warning", "UnknownAnnotationValue", sentence))
            events.append(Log("warning", _LOGGED[name], sentence))
    sentences = found.values()
    remember = UpdateMemory(unknown_values=frozenset(sentences) if found else _NONE)
    return *events, remember, AppendToMessages("; ".join(sentences))


def not_understood(
    name: str, default: Enum, own: Mapping[str, str], inherited: Mapping[str, str]
) -> str:
    """The sentence about an annotation, or "" when its value is one of the default's
    kind. Pure.

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
        f"{default.value} is used{hint(_shown(value).strip().lower(), known)}"
    )


def _shown(value: str) -> str:
    return value if len(value) <= _MOST_SHOWN else value[:_MOST_SHOWN] + "..."
