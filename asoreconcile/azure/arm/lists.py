"""Reads many resources by few requests: those of a group, subscription or parent.

For callers that read hundreds of resources, such as an import: whole bodies of one
type, or the headers of all that have a location. Pages are read as they are consumed,
one request each. Rules: Q1-Q3.

Resource Graph is not used here. It lags behind ARM, shows no secrets, lacks many nested
types, and takes only three queries a second. `headers` gets the same from ARM: which
resources exist and when each was changed, many with each page.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import attrs

from asoreconcile.azure.arm.ids import RESOURCES
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject

# An api-version of Microsoft.Resources: the first with the time of the last change.
_HEADERS_API_VERSION = "2021-04-01"
_EXPANDED = "createdTime,changedTime,provisioningState"
_TYPE = re.compile(r"[A-Za-z0-9.]+(/[A-Za-z0-9-]+)+")
_GROUPS = f"{RESOURCES}/resourceGroups".lower()


class ListError(AsoreconcileError):
    """ARM has no such list; the message says which to ask for instead."""


class Lister(Protocol):
    """Reads a list page by page (`arm.client.ArmClient`)."""

    def list(
        self, path: str, api_version: str, *, query: Mapping[str, str] | None = None
    ) -> Iterator[JsonObject]:
        """Items, page by page as the iteration gets there. Blocks; raises ArmError."""


@attrs.frozen
class Header:
    """The data of a resource that ARM has without a request to its provider.

    changed: the time of the last write, in ARM's format, or "". Only a hint: providers
    also change resources by themselves.
    """

    id: str
    type: str
    location: str = ""
    created: str = ""
    changed: str = ""
    provisioning_state: str = ""


def in_subscription(
    client: Lister, subscription_id: str, arm_type: str, api_version: str
) -> Iterator[JsonObject]:
    """All resources of a top-level type in a subscription, whole. Rule: Q3.

    arm_type: `Microsoft.Network/virtualNetworks`. Raises ListError for a nested type,
    and what `ArmClient.list` raises.
    """
    scope = f"/subscriptions/{subscription_id}"
    if arm_type.lower() == _GROUPS:
        return client.list(f"{scope}/resourcegroups", api_version)
    return client.list(f"{scope}/providers/{_top_level(arm_type)}", api_version)


def in_group(
    client: Lister, group_id: str, arm_type: str, api_version: str
) -> Iterator[JsonObject]:
    """All resources of a top-level type in a resource group, whole.

    group_id: `/subscriptions/{s}/resourceGroups/{name}`. Raises as `in_subscription`.
    """
    return client.list(f"{group_id}/providers/{_top_level(arm_type)}", api_version)


def below(
    client: Lister, parent_id: str, collection: str, api_version: str
) -> Iterator[JsonObject]:
    """All resources of a nested type below one parent: `subnets` of a network.

    Raises what `ArmClient.list` raises.
    """
    return client.list(f"{parent_id}/{collection}", api_version)


def headers(client: Lister, scope_id: str, arm_type: str = "") -> Iterator[Header]:
    """The headers of the resources in a subscription or resource group. Rule: Q2.

    scope_id: of either. arm_type: list only this type; it may be nested. ARM lists only
    resources with a location. Raises what `ArmClient.list` raises, and ListError.
    """
    query = {"$expand": _EXPANDED}
    if arm_type:
        query = {"$filter": f"resourceType eq '{_checked(arm_type)}'", **query}
    path = f"{scope_id}/resources"
    for entry in client.list(path, _HEADERS_API_VERSION, query=query):
        yield Header(
            id=_text(entry, "id"),
            type=_text(entry, "type"),
            location=_text(entry, "location"),
            created=_text(entry, "createdTime"),
            changed=_text(entry, "changedTime"),
            provisioning_state=_text(entry, "provisioningState"),
        )


def _top_level(arm_type: str) -> str:
    if _checked(arm_type).count("/") > 1:
        raise ListError(
            f"{arm_type} is nested: ARM lists it below one parent at a time"
        )
    return arm_type


def _checked(arm_type: str) -> str:
    if not _TYPE.fullmatch(arm_type):
        raise ListError(f"{arm_type!r} is no resource type")
    return arm_type


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    return value if isinstance(value, str) else ""
