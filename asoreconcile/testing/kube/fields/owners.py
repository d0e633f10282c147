"""The rules for `metadata.ownerReferences`: readable, allowed, each one once. Pure."""

from collections.abc import Iterator
from typing import Any

import orjson

from asoreconcile.base.objects import JsonObject, metadata
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.testing.kube.wire import complaints

_AT = "metadata.ownerReferences"
_STRINGS = ("apiVersion", "kind", "name", "uid")
_TRUTHS = ("controller", "blockOwnerDeletion")
_TYPES = {**dict.fromkeys(_STRINGS, str), **dict.fromkeys(_TRUTHS, bool)}
_GO_TYPES = {str: "string", bool: "bool"}


def unreadable(found: Any, *, in_metadata: bool) -> str:
    """Return why owners cannot be read, in the wording of Go's JSON parser, or "".

    in_metadata: if true, the path in the message begins at metadata, as for built-in
    kinds.
    """
    path = "metadata.ownerReferences" if in_metadata else "ownerReferences"
    if not isinstance(found, list):
        wanted = "[]v1.OwnerReference"
        return complaints.of_field(found, f"ObjectMeta.{path}", wanted)
    for owner in found:
        if not isinstance(owner, dict | None):
            wanted = "v1.OwnerReference"
            return complaints.of_field(owner, f"ObjectMeta.{path}", wanted)
        for name, value in (owner or {}).items():
            wanted_type = _TYPES.get(name)
            if wanted_type and not isinstance(value, wanted_type | None):
                at = f"OwnerReference.{path}.{name}"
                wanted = "types.UID" if name == "uid" else _GO_TYPES[wanted_type]
                return complaints.of_field(value, at, wanted)
    return ""


def without_repeated(obj: JsonObject, *, patched: bool) -> str:
    """Remove repeated owners; return a warning about them, or "".

    patched: if true, the object results from a patch, which has another warning.
    """
    found = metadata(obj).get("ownerReferences") or []
    kept: list[JsonObject] = []
    repeated: list[str] = []
    for owner in (one or {} for one in found):
        if owner not in kept:
            kept.append(owner)
        elif (uid := str(owner.get("uid") or "")) not in repeated:
            repeated.append(uid)
    if not found:
        return ""
    metadata(obj)["ownerReferences"] = kept
    if not repeated:
        return ""
    when = " after mutating admission happens" if patched else ""
    return (
        f".{_AT} contains duplicate entries{when}; API server dedups owner references "
        "in 1.20+, and may reject such requests as early as 1.24; please fix your "
        f"requests; duplicate UID(s) observed: {', '.join(repeated)}"
    )


def causes(found: list[JsonObject]) -> Iterator[Cause]:
    """Yield all mistakes in an object's owners."""
    first = ""
    for owner in found:
        version, kind = str(owner.get("apiVersion") or ""), owner.get("kind") or ""
        if not version or version.count("/") > 1:
            yield _invalid(".apiVersion", version, "version must not be empty")
        for field in ("kind", "name", "uid"):
            if not owner.get(field):
                yield _invalid(f".{field}", "", "must not be empty")
        if (version, kind) == ("v1", "Event"):
            why = "/v1, Kind=Event is disallowed from being an owner"
            yield _invalid("", _shown(owner), why)
        if owner.get("controller"):
            name = f"{kind}/{owner.get('name') or ''}"
            if first:
                why = (
                    "Only one reference can have Controller set to true. Found "
                    f'"true" in references for {first} and {name}'
                )
                yield _invalid("", [_shown(one) for one in found], why)
            first = first or name


def _shown(owner: JsonObject) -> JsonObject:
    """Return an owner as Go prints it: texts always, booleans only if they are set."""
    texts = {name: owner.get(name) or "" for name in _STRINGS}
    return texts | {n: owner[n] for n in _TRUTHS if owner.get(n) is not None}


def _invalid(field: str, value: Any, why: str) -> Cause:
    stated = f"Invalid value: {orjson.dumps(value).decode()}: {why}"
    return Cause(f"{_AT}{field}", "FieldValueInvalid", stated)
