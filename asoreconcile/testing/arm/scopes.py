"""ARM's own checks of a request, before a provider sees it.

ARM checks the subscription, the group and the parent, in this order (V3), and also
names, api-versions and the outer form of bodies.
"""

import re
from datetime import date

from asoreconcile.base.objects import JsonObject
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
    """The subscriptions of a tenant and their contents."""

    def __init__(
        self, subscriptions: frozenset[str], resources: Resources, styles: Styles
    ) -> None:
        """Make the checks.

        subscriptions: ids in lower case.
        """
        self._subscriptions = subscriptions
        self._resources = resources
        self._styles = styles

    def check_subscription(self, address: ArmAddress) -> None:
        """Check that the subscription exists. Raises RefusedError 404 (V3)."""
        subscription = address.subscription.lower()
        if subscription and subscription not in self._subscriptions:
            raise subscription_not_found(address.subscription)

    def check(self, address: ArmAddress, method: str) -> None:
        """Check that everything above a resource exists. Raises RefusedError 404."""
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
            return  # Locations always exist.
        if self._resources.find(base.id) is None:
            raise resource_not_found(base)

    def check_collection(self, path: str) -> None:
        """Check that the parent of a collection exists. Raises RefusedError 404."""
        address = parse(f"{path}/any")
        if address is None:
            raise RefusedError(404, "NotFound", f"There is nothing at '{path}'.")
        self.check(address, "GET")

    def check_group(self, path: str) -> None:
        """Check that the group or subscription exists. Raises RefusedError 404."""
        self.check_collection(f"{path}/providers/Microsoft.Resources/any")

    def subscriptions(self) -> list[str]:
        """Return the ids of the subscriptions."""
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
    """Check that the request has an api-version. Raises RefusedError 400."""
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
    """Check a body against its path, and against the resource's location.

    Raises RefusedError.
    """
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
    """Refuse a provisioningState that was read earlier and no longer holds (V2)."""
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
