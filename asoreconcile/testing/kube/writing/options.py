"""The options of a write, from its query, headers and body. Pure.

Raises StatusError 422 for invalid options.
"""

from collections.abc import Mapping
from typing import Any

import attrs

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.testing.http import HttpRequest
from asoreconcile.testing.kube.access.attributes import is_true
from asoreconcile.testing.kube.access.users import ADMIN, User
from asoreconcile.testing.kube.wire import bodies, complaints
from asoreconcile.testing.kube.wire.status import bad_request, invalid

_GROUP = "meta.k8s.io"
_LONGEST_MANAGER = 128
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_POLICIES = ("Foreground", "Background", "Orphan")
_TYPES: dict[str, tuple[type, str]] = {
    "gracePeriodSeconds": (int, "int64"),
    "preconditions": (dict, "v1.Preconditions"),
    "preconditions.uid": (str, "types.UID"),
    "preconditions.resourceVersion": (str, "string"),
    "orphanDependents": (bool, "bool"),
    "propagationPolicy": (str, "v1.DeletionPropagation"),
    "dryRun": (list, "[]string"),
}


@attrs.frozen
class WriteOptions:
    """The options of a write.

    manager: field manager, for managedFields.
    force: whether to take over fields of other managers.
    repeated: paths that occur twice in the body.
    """

    manager: str = "unknown"
    dry_run: bool = False
    force: bool = False
    field_validation: str = "Warn"
    repeated: tuple[str, ...] = ()
    user: User = ADMIN


@attrs.frozen
class DeleteOptions:
    """The options of a deletion.

    propagation: "" for the default of the kind, which is background for all kinds here.
    grace_seconds: grace period of a Pod on a node; if None, the Pod's own.
    """

    preconditions: Mapping[str, str] = attrs.field(factory=dict)
    propagation: str = ""
    dry_run: bool = False
    user: User = ADMIN
    grace_seconds: int | None = None


def write_options(
    request: HttpRequest, kind: str, *, user: User, applies: bool = False
) -> WriteOptions:
    """Return the options of a write.

    kind: Create, Update or Patch, for messages.
    applies: whether this is a server-side apply.
    """
    query = request.query
    found = [*_dry_run_causes(_dry_runs(query, {}))]
    manager, force = query.get("fieldManager", ""), query.get("force", "")
    if force and not applies:
        why = "Forbidden: may not be specified for non-apply patch"
        found.append(Cause("force", "FieldValueForbidden", why))
    if applies and not manager:
        why = "Required value: is required for apply patch"
        found.append(Cause("fieldManager", "FieldValueRequired", why))
    if len(manager) > _LONGEST_MANAGER:
        why = f"Too long: may not be more than {_LONGEST_MANAGER} bytes"
        found.append(Cause("fieldManager", "FieldValueTooLong", why))
    validation = query.get("fieldValidation", "")
    if validation and validation not in _VALIDATIONS:
        found.append(_unsupported("fieldValidation", validation, _VALIDATIONS))
    if found:
        raise invalid(f"{kind}Options", _GROUP, "", found)
    agent = request.headers.get("user-agent", "").partition("/")[0]
    return WriteOptions(
        manager=manager or agent[:_LONGEST_MANAGER] or "unknown",
        dry_run=bool(query.get("dryRun")),
        force=is_true(query, "force"),
        field_validation=validation or "Warn",
        user=user,
    )


def delete_options(request: HttpRequest, *, user: User) -> DeleteOptions:
    """Return the options of a DELETE, from its body or, without one, from its query."""
    body = bodies.options(request)
    _check_types(body)
    query = {} if request.body else request.query
    dry_runs = _dry_runs(query, body)
    propagation = _text(body.get("propagationPolicy") or query.get("propagationPolicy"))
    found = [*_dry_run_causes(dry_runs)]
    orphans = body.get("orphanDependents")
    if orphans is not None:
        if propagation:
            both = "orphanDependents and deletionPropagation cannot be both set"
            why = f'Invalid value: "{propagation}": {both}'
            found.append(Cause("propagationPolicy", "FieldValueInvalid", why))
        propagation = "Orphan" if orphans else "Background"
    if propagation and propagation not in _POLICIES:
        found.append(
            _unsupported("propagationPolicy", propagation, (*_POLICIES, "nil"))
        )
    if found:
        raise invalid("DeleteOptions", _GROUP, "", found)
    preconditions = body.get("preconditions") or {}
    grace = body.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
    return DeleteOptions(
        preconditions={
            name: str(value)
            for name, value in preconditions.items()
            if value is not None
        },
        propagation=propagation,
        dry_run=bool(dry_runs),
        user=user,
        grace_seconds=None if grace is None else int(grace),
    )


def _check_types(body: JsonObject) -> None:
    """Check the types of DeleteOptions. Raises StatusError 400 for the
    first mistake.
    """
    stated: list[tuple[str, Any]] = list(body.items())
    if isinstance(body.get("preconditions"), dict):
        inner = body["preconditions"].items()
        stated += [(f"preconditions.{name}", value) for name, value in inner]
    for field, value in stated:
        if value is None or field not in _TYPES:
            continue
        type_, name = _TYPES[field]
        if isinstance(value, bool) is not (type_ is bool) or not isinstance(
            value, type_
        ):
            where = f"DeleteOptions.{field}"
            raise bad_request(complaints.of_field(value, where, name))


def _dry_runs(query: Mapping[str, str], body: JsonObject) -> list[str]:
    stated = body.get("dryRun") or []
    return [str(one) for one in stated] or [
        one for one in (query.get("dryRun"),) if one
    ]


def _dry_run_causes(stated: list[str]) -> list[Cause]:
    if all(one == "All" for one in stated):
        return []
    texts = ", ".join(f'"{one}"' for one in stated)
    why = f'Unsupported value: [{texts}]: supported values: "All"'
    return [Cause("dryRun", "FieldValueNotSupported", why)]


def _unsupported(field: str, value: str, supported: tuple[str, ...]) -> Cause:
    allowed = ", ".join(f'"{one}"' for one in supported)
    why = f'Unsupported value: "{value}": supported values: {allowed}'
    return Cause(field, "FieldValueNotSupported", why)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
