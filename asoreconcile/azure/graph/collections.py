"""The collections of Microsoft Graph that the operator reads and writes. Pure.

Facts: Microsoft's reference, v1.0, of the resources group, application and
servicePrincipal.
"""

from collections.abc import Mapping
from typing import Any

import attrs

from asoreconcile.base.objects import JsonObject

_WORDS: Mapping[type, str] = {
    str: "text",
    list: "list",
    dict: "object",
    bool: "boolean",
}


@attrs.frozen
class DirectoryCollection:
    """A collection of objects of Entra.

    name: its segment of a path. noun: one of its objects, for people.
    properties: the properties that are read, with the type of each value.
    """

    name: str
    noun: str
    properties: Mapping[str, type]

    @property
    def has_unique_names(self) -> bool:
        """Return whether a client may give each object a `uniqueName`."""
        return "uniqueName" in self.properties

    @property
    def selected(self) -> str:
        """Return the value of `$select`."""
        return ",".join(self.properties)

    def problem_of(self, entry: JsonObject) -> str:
        """Return why an answer is not an object of the collection, or ""."""
        for name, type_ in self.properties.items():
            if not isinstance(entry.get(name), type_ | None):
                return f"its {name} is no {_WORDS[type_]}"
        return ""

    def filter_of(self, name: str, value: str) -> str:
        """Return the `$filter` for objects with a value, or with it in their list."""
        quoted = value.replace("'", "''")
        if self.properties[name] is list:
            return f"{name}/any(t:t eq '{quoted}')"
        return f"{name} eq '{quoted}'"


_NAMED: Mapping[str, Any] = {"id": str, "displayName": str, "description": str}

GROUPS = DirectoryCollection(
    "groups",
    "group",
    {
        **_NAMED,
        "mailNickname": str,
        "mail": str,
        "groupTypes": list,
        "securityEnabled": bool,
        "mailEnabled": bool,
        "isAssignableToRole": bool,
        "uniqueName": str,
        "onPremisesSyncEnabled": bool,
    },
)
APPLICATIONS = DirectoryCollection(
    "applications",
    "application",
    {
        **_NAMED,
        "appId": str,
        "uniqueName": str,
        "signInAudience": str,
        "identifierUris": list,
        "web": dict,
        "spa": dict,
        "publicClient": dict,
        "tags": list,
        "isFallbackPublicClient": bool,
        "groupMembershipClaims": str,
    },
)
SERVICE_PRINCIPALS = DirectoryCollection(
    "servicePrincipals",
    "service principal",
    {"id": str, "displayName": str, "appId": str, "tags": list},
)
