"""What must be there before a request gets to a provider, and how it must look.

The subscription, the group, the parent, in this order (V3); names, api-versions and the
envelope of bodies.
"""

import re
from datetime import date

from asoreconcile.objects import JsonObject
from asoreconcile.testing.arm.address import ArmAddress, parse
from asoreconcile.testing.arm.refusals import (
    RefusedError,
    group_not_found,
    parent_not_found,
    resource_not_found,
    subscription_not_found,
)
from asoreconcile.testing.arm.resources import ArmResource, Resources
from asoreconcile.testing.arm.shapes import check_name_form, check_shape
from asoreconcile.testing.arm.styles import Styles

_API_VERSION = re.compile(
    r"^(\d{4}-\d{2}-\d{2})(-(preview|alpha|beta|rc|privatepreview))?$"
)


class Scopes:
    """The subscriptions of a tenant and what is in them."""

    def __init__(
        self, subscriptions: frozenset[str], resources: Resources, styles: Styles
    ) -> None:
        """subscriptions: ids in lower case."""
        self._subscriptions = subscriptions
        self._resources = resources
        self._styles = styles

    def check_subscription(self, address: ArmAddress) -> None:
        """Nothing, if there is such a subscription; else RefusedError 404 (V3)."""
        subscription = address.subscription.lower()
        if subscription and subscription not in self._subscriptions:
            raise subscription_not_found(address.subscription)

    def check(self, address: ArmAddress, method: str) -> None:
        """What is above a resource must exist. Raises RefusedError 404."""
        self.check_subscription(address)
        if (
            address.group
            and not address.is_group
            and self._resources.find(address.group) is None
        ):
            raise group_not_found(address.group_name)
        self._check_parent(address, method)
        base = parse(address.scope) if "/providers/" in address.scope.lower() else None
        if base is None or base.type.endswith("/locations"):
            return  # locations are always there
        if self._resources.find(base.id) is None:
            raise resource_not_found(base)

    def check_collection(self, path: str) -> None:
        """What a collection's path hangs on must exist. Raises RefusedError 404."""
        address = parse(f"{path}/any")
        if address is None:
            raise RefusedError(404, "NotFound", f"There is nothing at '{path}'.")
        self.check(address, "GET")

    def check_group(self, path: str) -> None:
        """A group must exist, or the subscription. Raises RefusedError 404."""
        self.check_collection(f"{path}/providers/Microsoft.Resources/any")

    def subscriptions(self) -> list[str]:
        """The ids of those that there are."""
        return sorted(self._subscriptions)

    def _check_parent(self, address: ArmAddress, method: str) -> None:
        missing = None
        above = parse(address.parent)
        while above is not None and self._resources.find(above.id) is None:
            missing = above
            above = parse(above.parent)
        if missing is None:
            return
        if method != "PUT" and self._styles[address.type].orphan == "ResourceNotFound":
            raise resource_not_found(missing)
        raise parent_not_found(address, missing, method)


def check_api_version(api_version: str) -> None:
    """Nothing, if the request names an api-version; else raises RefusedError 400."""
    if not api_version:
        raise RefusedError(
            400,
            "MissingApiVersionParameter",
            "The api-version query parameter (?api-version=) is required for all "
            "requests.",
        )
    match = _API_VERSION.match(api_version)
    if match is None or not _is_date(match[1]):
        raise RefusedError(
            400,
            "InvalidApiVersionParameter",
            f"The api-version '{api_version}' is invalid. It is a date, with "
            "'-preview' behind it or not.",
        )


def check_body(
    address: ArmAddress, body: JsonObject, present: ArmResource | None
) -> None:
    """A body must fit its path, and the place it has. Raises RefusedError."""
    check_name_form(address)
    check_shape(address, body)
    _check_identity(address, body)
    _check_state(body, present)
    location = body.get("location")
    if address.is_group and not location:
        raise RefusedError(
            400, "LocationRequired", "The location property is required."
        )
    before = (present.body.get("location") or "") if present else ""
    if before and location and _place(before) != _place(str(location)):
        raise RefusedError(
            409,
            "InvalidResourceLocation",
            f"The resource '{address.name}' already exists in location '{before}'. "
            "A resource with the same name cannot be created in location "
            f"'{location}'.",
        )


def _check_state(body: JsonObject, present: ArmResource | None) -> None:
    """A state that was read before and sent back must still hold (V2)."""
    given = (body.get("properties") or {}).get("provisioningState")
    if given and present is not None and given != present.state:
        raise RefusedError(
            400,
            "InvalidRequestContent",
            f"The provisioningState '{given}' is read-only, and is '{present.state}'.",
        )


def _check_identity(address: ArmAddress, body: JsonObject) -> None:
    said = {
        "id": (body.get("id"), address.id),
        "name": (str(body.get("name") or "").rpartition("/")[2], address.name),
        "type": (body.get("type"), address.type),
    }
    for field, (given, wanted) in said.items():
        if given and str(given).lower() != wanted.lower():
            raise RefusedError(
                400,
                "InvalidRequestContent",
                f"The request content's {field} '{given}' does not match the "
                f"resource '{address.id}' of the request.",
            )


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _place(location: str) -> str:
    return location.replace(" ", "").lower()
