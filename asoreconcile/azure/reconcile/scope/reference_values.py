"""Resolves a reference of a spec, given the object that it names. Pure.

`references` reads the objects. Messages are for the Ready condition: they name keys
and objects, and never quote a value.
"""

import base64
import binascii
import hashlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.catalogue.suggestions import lacking
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.azure.reconcile.model.differences import HIDDEN
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    annotations,
    resource_version,
    uid_of,
)
from asoreconcile.kube.resources import CONFIG_MAPS, SECRETS, ApiResource

_NOT_FOUND = {SECRETS: "SecretNotFound", CONFIG_MAPS: "ConfigMapNotFound"}


def target_of(ref: JsonObject) -> tuple[GroupKind, str]:
    """The kind and the name in `{group, kind, name}`. Raises ConditionError `Failed`
    where one of them is missing.
    """
    group_kind = GroupKind(str(ref.get("group", "")), str(ref.get("kind", "")))
    name = str(ref.get("name", ""))
    if not (group_kind.group and group_kind.kind and name):
        raise ConditionError(
            f"a reference is incomplete ({_shown(ref)}): give group, kind and "
            "name, or armId alone",
            reason="Failed",
            severity="Error",
        )
    return group_kind, name


def arm_id_in(
    target: JsonObject | None, group_kind: GroupKind, name: str, *, is_installed: bool
) -> str:
    """The ARM id of a target; its readiness does not matter.

    target: None if there is no such object. is_installed: whether there can be one.
    Raises ConditionError `ReferenceNotFound`.
    """
    if target is None:
        raise _missing(
            "ReferenceNotFound",
            f"{group_kind.kind} {name!r} does not exist in this namespace: create "
            "it, or correct the reference"
            if is_installed
            else f"the kind {group_kind} is not installed in this cluster: install "
            "its CRD, or refer to the resource by armId",
        )
    arm_id = annotations(target).get(RESOURCE_ID)
    # The annotation is written at the claim, before the PUT. If the resource does not
    # exist yet, Azure refuses the reference, and the object retries.
    if not arm_id:
        raise _missing(
            "ReferenceNotFound",
            f"{group_kind.kind} {name!r} has no Azure resource id yet: see its "
            "Ready condition",
        )
    return arm_id


def entry_of(
    resource: ApiResource, name: str, data: Mapping[str, str], key: str
) -> str:
    """One entry of a Secret or ConfigMap. Raises ConditionError `SecretNotFound` or
    `ConfigMapNotFound`.
    """
    if key not in data:
        raise _missing(
            _NOT_FOUND[resource],
            f"{resource.kind} {name!r} has no key {key!r}{lacking(key, data)}: add it",
        )
    return data[key]


def not_found(resource: ApiResource, name: str) -> ConditionError:
    """The condition for a missing Secret or ConfigMap."""
    return _missing(
        _NOT_FOUND[resource],
        f"{resource.kind} {name!r} does not exist in this namespace: create it",
    )


def decoded_text(name: str, key: str, value: str) -> str:
    """A Secret's entry as text. Raises ConditionError `Failed` if it is no text."""
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        # The cause would quote the value: leave it out.
        raise ConditionError(
            f"key {key!r} of Secret {name!r} is not UTF-8 text, which Azure needs "
            "here: write another value",
            reason="Failed",
            severity="Error",
        ) from None


def versions_mark(read: Mapping[tuple[str, str], JsonObject]) -> str:
    """A mark of the objects that were read, and their versions; "" is none.

    read: by kind and name. It contains no values, as everybody may read it.
    """
    versions = sorted(
        # The uid as well: a recreated object may have the same version again.
        f"{kind}/{name}={uid_of(obj)}/{resource_version(obj)}"
        for (kind, name), obj in read.items()
    )
    if not versions:
        return ""
    return hashlib.sha256("\n".join(versions).encode()).hexdigest()[:16]


def hidden(value: Any, secrets: Collection[str]) -> Any:
    """A copy of a body in which HIDDEN replaces the secrets."""
    if isinstance(value, dict):
        return {name: hidden(inner, secrets) for name, inner in value.items()}
    if isinstance(value, list):
        return [hidden(inner, secrets) for inner in value]
    if isinstance(value, str) and value in secrets:
        return HIDDEN
    return value


def _missing(reason: str, message: str) -> ConditionError:
    # Retried soon: a missing object is often applied together with the one that names
    # it.
    return ConditionError(message, reason=reason, retry=RetryClass.FAST)


def _shown(ref: JsonObject) -> str:
    names: Iterable[str] = ("group", "kind", "name")
    return ", ".join(f"{name}={ref.get(name)!r}" for name in names)
