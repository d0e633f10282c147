"""The properties of groups, applications and service principals, and the values that
Graph refuses.
"""

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.graph.answers import bad_request

Collection = Literal["applications", "groups", "servicePrincipals"]
RESOURCES: Mapping[Collection, str] = {
    "applications": "Application",
    "groups": "Group",
    "servicePrincipals": "ServicePrincipal",
}
REQUIRED = ("displayName", "mailEnabled", "mailNickname", "securityEnabled")
IMMUTABLE = ("id", "appId", "isAssignableToRole", "uniqueName", "securityIdentifier")
_TYPES = frozenset({"DynamicMembership", "Unified"})
_NOT_IN_NICKNAMES = frozenset('@()\\[]";:<>, ')
_MAX_NAME, _MAX_NICKNAME = 256, 64
_AUDIENCES = frozenset(
    {
        "AzureADMyOrg",
        "AzureADMultipleOrgs",
        "AzureADandPersonalMicrosoftAccount",
        "PersonalMicrosoftAccount",
    }
)
# The other collections' properties with the values of a new object.
_REDIRECTS: JsonObject = {"redirectUris": []}
_OTHERS: Mapping[Collection, JsonObject] = {
    "applications": {
        "displayName": None,
        "description": None,
        "signInAudience": "AzureADMyOrg",
        "identifierUris": [],
        "web": {
            **_REDIRECTS,
            "homePageUrl": None,
            "implicitGrantSettings": {
                "enableIdTokenIssuance": False,
                "enableAccessTokenIssuance": False,
            },
        },
        "spa": _REDIRECTS,
        "publicClient": _REDIRECTS,
        "tags": [],
        "isFallbackPublicClient": None,
        "groupMembershipClaims": None,
    },
    "servicePrincipals": {"displayName": None, "tags": [], "accountEnabled": True},
}
_WRITABLE = frozenset(
    {
        *REQUIRED,
        "description",
        "groupTypes",
        "isAssignableToRole",
        "membershipRule",
        "membershipRuleProcessingState",
        "uniqueName",
        "visibility",
    }
)


def new_group(
    body: JsonObject, *, unique_name: str | None, now: datetime
) -> JsonObject:
    """Return a new group as Graph shows it after its creation.

    A Microsoft 365 group is mail-enabled, whatever the request says.
    """
    id_ = str(uuid.uuid4())
    is_unified = "Unified" in (body.get("groupTypes") or ())
    nickname = body["mailNickname"]
    return {
        "id": id_,
        "deletedDateTime": None,
        "classification": None,
        "createdDateTime": f"{now:%Y-%m-%dT%H:%M:%SZ}",
        "creationOptions": [],
        "description": body.get("description"),
        "displayName": body["displayName"],
        "expirationDateTime": None,
        "groupTypes": list(body.get("groupTypes") or ()),
        "isAssignableToRole": body.get("isAssignableToRole"),
        "mail": f"{nickname}@simulated.onmicrosoft.com" if is_unified else None,
        "mailEnabled": is_unified or bool(body["mailEnabled"]),
        "mailNickname": nickname,
        "membershipRule": body.get("membershipRule"),
        "membershipRuleProcessingState": body.get("membershipRuleProcessingState"),
        "onPremisesSyncEnabled": None,
        "proxyAddresses": [],
        "renewedDateTime": f"{now:%Y-%m-%dT%H:%M:%SZ}",
        "securityEnabled": bool(body["securityEnabled"]),
        "securityIdentifier": f"S-1-12-1-{uuid.UUID(id_).int % 10**10}",
        "theme": None,
        "uniqueName": unique_name or body.get("uniqueName"),
        "visibility": "Public" if is_unified else None,
        "onPremisesProvisioningErrors": [],
    }


def new_other(
    collection: Collection, body: JsonObject, *, unique_name: str | None
) -> JsonObject:
    """Return a new application or service principal as Graph shows it."""
    made: JsonObject = {"id": str(uuid.uuid4()), "appId": str(uuid.uuid4())}
    if collection == "applications":
        made["uniqueName"] = unique_name
    return patched({**made, **_OTHERS[collection]}, body)


def patched(present: JsonObject, body: JsonObject) -> JsonObject:
    """Return properties with those of a body; the fields of a complex value that the
    body does not have stay.
    """
    return present | {
        name: patched(present[name], value)
        if isinstance(value, dict) and isinstance(present.get(name), dict)
        else value
        for name, value in body.items()
    }


def check_created(collection: Collection, body: JsonObject) -> None:
    """Check the body of a creation. Raises GraphRefusal 400."""
    required: Mapping[Collection, tuple[str, ...]] = {
        "applications": ("displayName",),
        "groups": REQUIRED,
        "servicePrincipals": ("appId",),
    }
    for name in required[collection]:
        if body.get(name) in (None, ""):
            raise bad_request(
                f"A value is required for property '{name}' of resource "
                f"'{RESOURCES[collection]}'."
            )
    _check_body(collection, body)


def check_updated(
    collection: Collection, present: JsonObject, changes: JsonObject
) -> None:
    """Check the body of an update. Raises GraphRefusal 400."""
    _check_body(collection, changes)
    for name in IMMUTABLE:
        if name in changes and changes[name] != present.get(name):
            raise bad_request(f"Property '{name}' is read-only and cannot be set.")
    types = changes.get("groupTypes")
    if types is not None and ("Unified" in types) != (
        "Unified" in present["groupTypes"]
    ):
        raise bad_request("The groupTypes value of an existing group cannot change.")


def _check_body(collection: Collection, body: JsonObject) -> None:
    if collection == "groups":
        _check_values(body)
        return
    for name, value in body.items():
        if name not in _OTHERS[collection] and name not in IMMUTABLE:
            raise bad_request(f"Invalid property '{name}'.")
        if name == "signInAudience" and value not in _AUDIENCES:
            raise bad_request("Invalid value specified for property 'signInAudience'.")


def _check_values(body: JsonObject) -> None:
    for name in body:
        if name not in _WRITABLE and "@odata" not in name and name not in IMMUTABLE:
            raise bad_request(f"Invalid property '{name}'.")
    if "displayName" in body:
        _check_length(body, "displayName", _MAX_NAME)
    if "mailNickname" in body:
        _check_length(body, "mailNickname", _MAX_NICKNAME)
        if not _NOT_IN_NICKNAMES.isdisjoint(str(body["mailNickname"])):
            raise bad_request(
                "Invalid value specified for property 'mailNickname' of resource "
                "'Group'."
            )
    types = body.get("groupTypes") or ()
    if not _TYPES.issuperset(types):
        raise bad_request(
            "Invalid value specified for property 'groupTypes' of resource 'Group'."
        )
    if "DynamicMembership" in types and not body.get("membershipRule"):
        raise bad_request(
            "A value is required for property 'membershipRule' of resource 'Group'."
        )


def _check_length(body: JsonObject, name: str, most: int) -> None:
    text = body[name]
    if not isinstance(text, str) or not text or len(text) > most:
        raise bad_request(
            f"Invalid value specified for property '{name}' of resource 'Group'."
        )
