"""Translate the specs of an Application and of a ServicePrincipal to Microsoft Graph's
terms. Pure.
"""

from collections.abc import Mapping
from typing import Any

from asoreconcile.azure.arm.condition_error import unusable
from asoreconcile.azure.entra.desired import (
    DesiredObject,
    EntraKind,
    desired_object,
    text_in,
)
from asoreconcile.azure.graph.client import OBJECT_ID
from asoreconcile.azure.graph.collections import APPLICATIONS, SERVICE_PRINCIPALS
from asoreconcile.base.objects import JsonObject

# The fields that a spec and a status have; None is a value of no fields of its own.
_FIELDS: Mapping[str, Any] = {
    "displayName": None,
    "description": None,
    "signInAudience": None,
    "identifierUris": None,
    "web": {
        "redirectUris": None,
        "implicitGrantSettings": {
            "enableIdTokenIssuance": None,
            "enableAccessTokenIssuance": None,
        },
    },
    "spa": {"redirectUris": None},
    "publicClient": {"redirectUris": None},
    "tags": None,
    "isFallbackPublicClient": None,
    "groupMembershipClaims": None,
}
_IDS = {"entraID": "id", "appId": "appId"}
_PERMISSION = "Application.ReadWrite.All"


def desired_application(spec: JsonObject) -> DesiredObject:
    """Return the application that a spec describes.

    Raises ConditionError `Failed` (Error) for a spec that no schema has checked.
    """
    name = text_in(spec, "displayName", "an application")
    return desired_object(
        APPLICATIONS,
        spec,
        properties=_picked(spec, _FIELDS),
        search=("displayName", name),
    )


def desired_principal(spec: JsonObject) -> DesiredObject:
    """Return the service principal that a spec describes.

    Raises ConditionError `Failed` (Error) for a spec that no schema has checked.
    """
    app_id, name = str(spec.get("appId") or ""), spec.get("displayName")
    if app_id and not OBJECT_ID.fullmatch(app_id):
        raise unusable(f"spec.appId is {app_id!r}, which is no id of an application")
    if not app_id:
        name = text_in(spec, "displayName", "a service principal without appId")
    return desired_object(
        SERVICE_PRINCIPALS,
        spec,
        properties={"displayName": name} if name else {},
        at_creation={"appId": app_id},
        search=("appId", app_id) if app_id else ("displayName", str(name)),
        lacks="" if app_id else "appId",
    )


def _picked(value: JsonObject, fields: Mapping[str, Any]) -> JsonObject:
    """Return the fields of a value that are set, and of objects in it likewise."""
    return {
        name: value[name] if inner is None else _picked(value[name], inner)
        for name, inner in fields.items()
        if value.get(name) is not None
    }


def _ids(entry: JsonObject) -> JsonObject:
    return {field: entry.get(name) for field, name in _IDS.items()}


def _require_same_application(spec: JsonObject, principal: JsonObject) -> None:
    """Raise ConditionError `Failed` (Error) if a service principal is another
    application's.
    """
    wanted, found = str(spec.get("appId") or ""), str(principal.get("appId") or "")
    if wanted and wanted.lower() != found.lower():
        raise unusable(
            f"the service principal {principal['id']} is of the application {found}, "
            "which cannot change: change spec.appId back, or delete the object and "
            "create it again"
        )


APPLICATION = EntraKind(
    APPLICATIONS,
    desired=desired_application,
    shown=lambda entry: _ids(entry) | _picked(entry, _FIELDS),
    require_possible=lambda _spec, _entry: None,
    permission=_PERMISSION,
    exports=_IDS,
)
SERVICE_PRINCIPAL = EntraKind(
    SERVICE_PRINCIPALS,
    desired=desired_principal,
    shown=lambda entry: _ids(entry) | _picked(entry, {"displayName": None}),
    require_possible=_require_same_application,
    permission=_PERMISSION,
    exports=_IDS,
)
