"""Refusals of requests that Azure's published types exclude, in Azure's words.

Codes and messages are Azure's if they were recorded; else the error is the one that ARM
or most providers use for that mistake.
"""

from collections.abc import Iterator

import attrs

from asoreconcile.base.objects import JsonObject, dig
from asoreconcile.testing.arm.address import ArmAddress, parse
from asoreconcile.testing.arm.locations import REGIONS, normalized
from asoreconcile.testing.arm.operations import Operations
from asoreconcile.testing.arm.refusals import RefusedError
from asoreconcile.testing.arm.resources import Resources
from asoreconcile.testing.arm.type_facts import BrokenRule, PublishedTypes

_BAD_NAMES = {
    "microsoft.storage/storageaccounts": "AccountNameInvalid",
    "microsoft.keyvault/vaults": "VaultNameNotValid",
}
# The error for a change of a member that cannot change, by provider.
_FIXED: dict[str, tuple[int, str]] = {
    "microsoft.compute": (409, "PropertyChangeNotAllowed"),
    "microsoft.containerservice": (400, "PropertyChangeNotAllowed"),
    "microsoft.storage": (409, "AccountPropertyCannotBeUpdated"),
}
_GONE = (404, "NotFound")
# The error for a reference to a resource that does not exist, by the type that refers
# or its provider.
_MISSING: dict[str, tuple[int, str]] = {
    "microsoft.compute": _GONE,
    "microsoft.insights/datacollectionrules": (400, "WorkspaceNotFound"),
    "microsoft.network/networkwatchers/flowlogs": (
        400,
        "NetworkSecurityGroupNotFoundForFlowLog",
    ),
    "microsoft.network/publicipaddresses": _GONE,
    "microsoft.web": _GONE,
}
_BUSY = (429, "ReferencedResourceNotProvisioned")
# The error for a reference to a resource that is still being made, for the
# types for which this was recorded.
_NOT_READY: dict[tuple[str, str], tuple[int, str]] = {
    (f"microsoft.{type_}", f"microsoft.{referred}"): error
    for type_, referred, error in (
        ("compute/virtualmachines", "network/networkinterfaces", _GONE),
        (
            "insights/datacollectionrules",
            "operationalinsights/workspaces",
            _MISSING["microsoft.insights/datacollectionrules"],
        ),
        ("network/bastionhosts", "network/virtualnetworks/subnets", _BUSY),
        ("network/loadbalancers", "network/publicipaddresses", _BUSY),
        ("network/natgateways", "network/publicipaddresses", _BUSY),
        ("network/networkinterfaces", "network/virtualnetworks/subnets", _BUSY),
        (
            "network/networkwatchers/flowlogs",
            "storage/storageaccounts",
            (400, "StorageProvisioningStateNotSucceeded"),
        ),
        ("network/privatelinkservices", "network/loadbalancers", _BUSY),
        ("network/publicipaddresses", "network/publicipprefixes", _GONE),
        (
            "network/virtualnetworks/virtualnetworkpeerings",
            "network/virtualnetworks",
            (400, "ReferencedResourceNotProvisioned"),
        ),
        ("web/sites", "web/serverfarms", _GONE),
    )
}


@attrs.frozen
class TypeChecks:
    """The checks by published types. The caller holds the server's lock."""

    types: PublishedTypes
    resources: Resources
    operations: Operations

    def check_request(self, address: ArmAddress, api_version: str) -> None:
        """Check what every request has: the api-version, and for types that refuse a
        wrong name at every verb the name. Raises RefusedError 400.
        """
        for broken in self._in_request(address, api_version):
            if broken.rule == "version" or address.type in _BAD_NAMES:
                raise _refused(address, broken)

    def check_write(
        self,
        address: ArmAddress,
        body: JsonObject,
        api_version: str,
        present: JsonObject | None,
    ) -> None:
        """Check a PUT, or the result of a PATCH. Raises RefusedError.

        present: the body that a read shows now; None for a new resource.
        """
        for broken in self.violations(address, body, api_version, present):
            raise _refused(address, broken)
        facts = self.types.find(address.type)
        for found in facts.body_findings(body, api_version) if facts else ():
            if found.rule == "reference":
                self._check_provisioned(address, found)

    def violations(
        self,
        address: ArmAddress,
        body: JsonObject,
        api_version: str,
        present: JsonObject | None = None,
    ) -> Iterator[BrokenRule]:
        """Yield the rules that a write breaks. Arguments are those of `check_write`."""
        yield from self._in_request(address, api_version)
        location = body.get("location")
        if location and normalized(str(location)) not in REGIONS:
            yield BrokenRule("location", "location", location, tuple(sorted(REGIONS)))
        facts = self.types.find(address.type)
        resource = self.resources.find(address.id)
        if facts and resource:
            yield from facts.change_findings(body, resource.sent, resource.body)
        for found in facts.body_findings(body, api_version) if facts else ():
            broken: BrokenRule | None = found
            if found.rule == "readOnly" and _is_shown(found, present):
                continue
            if found.rule == "reference":
                broken = self._broken_reference(address, found, body)
            if broken is not None and facts and broken.key not in facts.dropped:
                yield broken

    def _in_request(
        self, address: ArmAddress, api_version: str
    ) -> Iterator[BrokenRule]:
        facts = self.types.find(address.type)
        if facts is None:
            return
        version = BrokenRule("version", "", api_version, tuple(sorted(facts.versions)))
        if api_version not in facts.versions and version.key not in facts.dropped:
            yield version
        yield from facts.name_findings(address.name)

    def _broken_reference(
        self, address: ArmAddress, found: BrokenRule, body: JsonObject
    ) -> BrokenRule | None:
        """Return the rule that a reference breaks, or None."""
        to = parse(found.value)
        if to is None:
            return attrs.evolve(found, rule="idForm")
        if found.expected and to.type not in found.expected:
            return attrs.evolve(found, rule="idType")
        is_held = bool(to.group) and self.resources.find(to.group) is not None
        if not is_held or self._exists(to, address, body):
            return None
        return attrs.evolve(found, rule="exists", expected=(to.type,))

    def _exists(self, to: ArmAddress, address: ArmAddress, body: JsonObject) -> bool:
        """Return whether `to` is a resource, or a part of another resource's body.

        address, body: the write that is being checked.
        """
        if to.key == address.key or self.resources.find(to.id) is not None:
            return True
        above = parse(to.parent)
        while above is not None:
            holder = self.resources.find(above.id)
            own = holder.sent if holder is not None else None
            if above.key == address.key:
                own = body
            if own is not None:
                named = _part_is_named(own, above, to)
                return self.types.find(to.type) is None if named is None else named
            above = parse(above.parent)
        return False

    def _check_provisioned(self, address: ArmAddress, broken: BrokenRule) -> None:
        """Refuse a reference to a resource that is still being made, for the types that
        were recorded to do so.
        """
        to = parse(str(broken.value))
        if to is None or self.operations.running(to.key) is None:
            return
        wanted = _NOT_READY.get((address.type, to.type))
        if wanted is None:
            return
        status, code = wanted
        message = (
            f"Cannot proceed with operation because resource {to.id} used by resource "
            f"{address.id} is not in Succeeded state. Resource is in Updating state."
        )
        if status == 429:
            raise RefusedError(
                status,
                "RetryableError",
                "A retryable error occurred.",
                from_gateway=False,
                extra={"details": [{"code": code, "message": message}]},
            )
        raise RefusedError(status, code, message, from_gateway=False)


def _part_is_named(body: JsonObject, above: ArmAddress, to: ArmAddress) -> bool | None:
    """Return whether a body has the part that an id below it names; None if it has no
    such list.
    """
    collection, name = to.key[len(above.key) + 1 :].split("/")[:2]
    properties = {k.lower(): v for k, v in (body.get("properties") or {}).items()}
    parts = properties.get(collection)
    if not isinstance(parts, list):
        return None
    return any(
        isinstance(part, dict) and str(part.get("name")).lower() == name
        for part in parts
    )


def _is_shown(found: BrokenRule, present: JsonObject | None) -> bool:
    """Return whether a read-only value is the one that a read shows, or absent.

    Values inside lists are not compared.
    """
    if found.value is None or "[]" in found.path:
        return True
    return present is not None and dig(present, found.path) == found.value


def _refused(address: ArmAddress, broken: BrokenRule) -> RefusedError:
    """Return the error for a broken rule."""
    path, value = broken.path, broken.value
    wanted = ", ".join(map(str, broken.expected))
    from_gateway = broken.rule in ("version", "location")
    match broken.rule:
        case "version":
            code = "NoRegisteredProviderFound"
            message = (
                f"No registered resource provider found for API version '{value}' for "
                f"type '{address.type_name}'. The supported api-versions are "
                f"'{wanted}'."
            )
        case "location":
            subject = f"resource type '{address.type_name}'"
            code = "LocationNotAvailableForResourceType"
            if address.is_group:
                subject, code = "resource group", "LocationNotAvailableForResourceGroup"
            message = (
                f"The provided location '{value}' is not available for {subject}. List "
                f"of available regions for the {subject} is '{wanted}'."
            )
        case _ if path == "name":
            code = _BAD_NAMES.get(address.type, "InvalidResourceName")
            message = (
                f"'{value}' is not a valid name for '{address.type_name}': it needs "
                f"{wanted}."
            )
        case "required" if path == "location":
            code = "LocationRequired"
            message = "The location property is required for this definition."
        case "required":
            code = "InvalidParameter"
            message = f"Required parameter '{path}' is missing (null)."
        case "readOnly":
            code = "InvalidRequestContent"
            message = f"The property '{path}' is read-only: it cannot be set."
        case "enum" | "limit":
            code = "InvalidParameter"
            message = (
                f"The value '{value}' of parameter '{path}' is invalid. It needs "
                f"{wanted}."
            )
        case "idType" if address.namespace == "microsoft.network":
            code = "InvalidRequestFormat"
            message = (
                f"Reference Id {value} is referencing resource of a wrong type. The Id "
                f"is expected to reference resources of type {wanted}. Path {path}."
            )
        case "idForm" | "idType":
            code = "LinkedInvalidPropertyId"
            message = (
                f"Property id '{value}' at path '{path}' is invalid. Expect fully "
                "qualified resource Id that start with "
                "'/subscriptions/{subscriptionId}' or "
                "'/providers/{resourceProviderNamespace}/'."
            )
        case "immutable":
            status, code = _FIXED.get(address.namespace, (400, "BadRequest"))
            name = path.replace("/", ".")
            message = f"Changing property '{name}' is not allowed."
            return RefusedError(status, code, message, from_gateway=False)
        case "exists":
            return _missing(address, broken)
        case _:
            code = "InvalidRequestContent"
            message = (
                "The request content was invalid and could not be deserialized: 'Error "
                f"converting value. Path '{path}'.'."
            )
    return RefusedError(400, code, message, from_gateway=from_gateway)


def _missing(address: ArmAddress, broken: BrokenRule) -> RefusedError:
    """Return the error for a reference to a resource that does not exist."""
    for key in (address.type, address.namespace):
        if key in _MISSING:
            status, code = _MISSING[key]
            message = f"Resource {broken.value} not found."
            return RefusedError(status, code, message, from_gateway=False)
    return RefusedError(
        400,
        "InvalidResourceReference",
        f"Resource {broken.value} referenced by resource {address.id} was not found. "
        "Please make sure that the referenced resource exists, and that both resources "
        "are in the same region.",
        from_gateway=False,
    )
