"""Writes of a CustomResourceDefinition: it is checked, completed, then established.

A CRD whose names are taken in its group is stored but not served. The server records
whether they are free by a write of its own, after the client's. Raises StatusError 400
and 422.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from asoreconcile.base import jsontext
from asoreconcile.base.lru import LruCache
from asoreconcile.base.objects import JsonObject, metadata, spec
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.resources.crds.cause import invalid as _invalid
from asoreconcile.resources.crds.definition import definition_causes
from asoreconcile.testing.kube.crds import shapes
from asoreconcile.testing.kube.crds.values import CrdValues
from asoreconcile.testing.kube.wire.status import bad_request, invalid

_KIND, _GROUP = "CustomResourceDefinition", "apiextensions.k8s.io"
_ESTABLISHED = ("InitialNamesAccepted", "the initial names have been accepted")
_NOT_ESTABLISHED = ("NotAccepted", "not all names are accepted")
_TERMINATING = (
    "InstanceDeletionPending",
    (
        "CustomResourceDefinition marked for deletion; CustomResource deletion will "
        "begin soon"
    ),
)
# Digests of CRDs without mistakes. Checking one takes a tenth of a second, and tests
# install the same few in hundreds of servers.
_SOUND = LruCache[bytes, bool](4096)


def admit_crd(obj: JsonObject, before: JsonObject | None) -> JsonObject:
    """Return the CRD as a client's write stores it.

    before: the CRD that is replaced, or None.
    """
    digest = _digest(obj)
    is_sound = digest in _SOUND
    _check_shape(obj, is_sound=is_sound)
    name = str(metadata(obj).get("name") or "")
    content = spec(obj)
    names = content.setdefault("names", {})
    if names.get("kind"):
        names["singular"] = names.get("singular") or names["kind"].lower()
        names["listKind"] = names.get("listKind") or names["kind"] + "List"
    for empty in [key for key, value in names.items() if value in ("", [], None)]:
        del names[empty]
    content.setdefault("conversion", {"strategy": "None"})
    found = [*_changes(obj, before)]
    if not found and not is_sound:
        found = [*definition_causes(obj, CrdValues())]
    if found:
        raise invalid(_KIND, _GROUP, name, found)
    _SOUND.put(digest, True)
    stored = [v["name"] for v in content["versions"] if v.get("storage")]
    known = (obj.get("status") or {}) if before is not None else {}
    # Every version that was ever the storage version stays listed, whatever the client
    # writes, because objects may still be stored in it.
    listed = known.get("storedVersions") or []
    obj["status"] = {
        "acceptedNames": known.get("acceptedNames") or {"plural": "", "kind": ""},
        "conditions": known.get("conditions"),
        "storedVersions": [*listed, *(v for v in stored if v not in listed)],
    }
    return obj


def settled(crd: JsonObject, others: Iterable[JsonObject], now: str) -> JsonObject:
    """Return a stored CRD with the conditions that follow from its names."""
    known = crd.get("status") or {}
    return {**crd, "status": {**known, **_names_status(spec(crd), known, others, now)}}


def terminating(crd: JsonObject, now: str) -> JsonObject:
    """Return the status of a CRD that is being deleted."""
    known: JsonObject = crd.get("status") or {}
    kept = [c for c in known.get("conditions") or () if c.get("type") != "Terminating"]
    going = _condition(known, "Terminating", True, _TERMINATING, now)
    return {**known, "conditions": [*kept, going]}


def is_established(crd: JsonObject) -> bool:
    """Return whether a CRD's kind is served."""
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(
        c.get("type") == "Established" and c.get("status") == "True" for c in conditions
    )


def _names_status(
    content: JsonObject, known: JsonObject, others: Iterable[JsonObject], now: str
) -> JsonObject:
    names = content["names"]
    taken = _taken(content, others)
    accepted = not taken
    ours = ("NamesAccepted", "Established")
    kept = [c for c in known.get("conditions") or () if c.get("type") not in ours]
    return {
        "acceptedNames": names if accepted else {"plural": "", "kind": ""},
        "conditions": [
            _condition(
                known,
                "NamesAccepted",
                accepted,
                taken or ("NoConflicts", "no conflicts found"),
                now,
            ),
            _condition(
                known,
                "Established",
                accepted,
                _ESTABLISHED if accepted else _NOT_ESTABLISHED,
                now,
            ),
            *kept,
        ],
    }


def _taken(content: JsonObject, others: Iterable[JsonObject]) -> tuple[str, str] | None:
    """Return a name that another kind of the group has, as (reason,
    message), or None.
    """
    names = content["names"]
    for other in others:
        held = spec(other).get("names") or {}
        # Only an established CRD holds its names. If two CRDs want a name, the first
        # has it, and the other waits.
        if spec(other).get("group") != content["group"] or not is_established(other):
            continue
        words = {held.get("plural"), held.get("singular"), *held.get("shortNames", ())}
        for field in ("plural", "singular"):
            if names.get(field) in words:
                reason = f"{field.title()}Conflict"
                return reason, f'"{names[field]}" is already in use'
        for short in names.get("shortNames") or ():
            if short in words:
                return "ShortNamesConflict", f'"{short}" is already in use'
        kinds = {held.get("kind"), held.get("listKind")}
        for field, reason in (
            ("listKind", "ListKindConflict"),
            ("kind", "KindConflict"),
        ):
            if names.get(field) in kinds:
                return reason, f'"{names[field]}" is already in use'
    return None


def _condition(
    known: JsonObject, type_: str, holds: bool, why: tuple[str, str], now: str
) -> JsonObject:
    """Return a condition.

    why: reason and message.
    """
    reason, message = why
    status = "True" if holds else "False"
    since = now
    for condition in known.get("conditions") or ():
        if condition.get("type") == type_ and condition.get("status") == status:
            # This is the time of the last change of the status. Otherwise each write
            # would look like a transition.
            since = condition.get("lastTransitionTime") or now
    return {
        "type": type_,
        "status": status,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }


def _digest(obj: JsonObject) -> bytes:
    """Return a digest of all that a CRD's checks read."""
    meta = metadata(obj)
    read = [meta.get("name"), meta.get("annotations"), obj.get("spec")]
    return hashlib.sha256(jsontext.dumps(read)).digest()


def _check_shape(obj: JsonObject, *, is_sound: bool) -> None:
    content = obj.get("spec")
    if content is None:
        content = obj["spec"] = {}
    if isinstance(content, dict):
        for name in [name for name, value in content.items() if value is None]:
            del content[name]
    if not is_sound and (wrong := shapes.wrong_part(obj)):
        raise bad_request(
            f'{_KIND} in version "v1" cannot be handled as a {_KIND}: json: cannot '
            f"unmarshal into Go struct field {_KIND}.{wrong}"
        )


def _changes(obj: JsonObject, before: JsonObject | None) -> Iterator[Cause]:
    """Yield the changes of immutable parts."""
    if before is None:
        return
    fields: tuple[tuple[str, Any, Any], ...] = (
        ("spec.group", spec(obj).get("group"), spec(before).get("group")),
        ("spec.scope", spec(obj).get("scope"), spec(before).get("scope")),
    )
    for field, new, old in fields:
        if new != old:
            yield _invalid(field, str(new), "field is immutable")
    names = {version.get("name") for version in spec(obj).get("versions") or ()}
    stored = (before.get("status") or {}).get("storedVersions") or ()
    for index, name in enumerate(stored):
        if name not in names:
            why = (
                f"missing from spec.versions; {name} was previously a storage version, "
                "and must remain in spec.versions until a storage migration ensures no "
                f"data remains persisted in {name} and removes {name} from "
                "status.storedVersions"
            )
            yield _invalid(f"status.storedVersions[{index}]", name, why)
