"""Parse an ARM resource id as `aso.parseResourceId` does.

The parts are those of the Azure SDK for Go, which the expressions in existing manifests
were written for: an unknown part is "", and the chain of `parent` ends at the tenant.
"""

from collections.abc import Sequence

import attrs

_TENANT = ("Microsoft.Resources", "tenants")
_SUBSCRIPTION = ("Microsoft.Resources", "subscriptions")
_RESOURCE_GROUP = ("Microsoft.Resources", "resourceGroups")
_PROVIDER = ("Microsoft.Resources", "providers")


class ResourceIdError(ValueError):
    """The text is not a resource id; the message contains no part of it."""


@attrs.frozen
class ResourceId:
    """The parts of a resource id. type: provider namespace and type path."""

    parent: "ResourceId | None"
    type: tuple[str, str]
    name: str = ""
    subscription_id: str = ""
    resource_group: str = ""
    provider: str = ""
    location: str = ""

    def child(self, type_: tuple[str, str], name: str) -> "ResourceId":
        """Return the id of a child, which inherits this id's location."""
        last = type_[1].rpartition("/")[2].lower()
        return ResourceId(
            parent=self,
            type=type_,
            name=name,
            subscription_id=(
                name if _same(type_, _SUBSCRIPTION) else self.subscription_id
            ),
            resource_group=(
                name if _same(type_, _RESOURCE_GROUP) else self.resource_group
            ),
            provider=name if _same(type_, _PROVIDER) else self.provider,
            location=name if last == "locations" else self.location,
        )

    def nested(self, segment: str, name: str) -> "ResourceId":
        """Return `<id>/<segment>/<name>`, which has no provider of its own."""
        if segment.lower() == "resourcegroups":
            return self.child(_RESOURCE_GROUP, name)
        if segment.lower() == "subscriptions" and _same(self.type, _TENANT):
            return self.child(_SUBSCRIPTION, name)
        namespace, path = self.type
        return self.child((namespace, f"{path}/{segment}"), name)


TENANT = ResourceId(parent=None, type=_TENANT)


def parse(text: str) -> ResourceId:
    """Return the parts of a resource id. Raises ResourceIdError. Pure."""
    if not text.startswith("/"):
        raise ResourceIdError("a resource id starts with a slash")
    parts = [part for part in text.split("/") if part]
    if len(parts) < 2 or parts[0].lower() not in ("subscriptions", "providers"):
        raise ResourceIdError("a resource id starts with /subscriptions or /providers")
    return _below(TENANT, parts)


def _below(parent: ResourceId, parts: Sequence[str]) -> ResourceId:
    while parts:
        if len(parts) == 1:
            return _type_alone(parent, parts[0])
        if parts[0].lower() != "providers":
            parent, parts = parent.nested(parts[0], parts[1]), parts[2:]
        elif len(parts) == 2 or parts[2].lower() == "providers":
            if not (_same(parent.type, _SUBSCRIPTION) or _same(parent.type, _TENANT)):
                raise ResourceIdError("a resource id ends on a provider without a type")
            parent, parts = parent.child(_PROVIDER, parts[1]), parts[2:]
        elif len(parts) > 3:
            parent, parts = parent.child((parts[1], parts[2]), parts[3]), parts[4:]
        else:
            raise ResourceIdError("a resource id ends on a type: add the name")
    return parent


def _type_alone(parent: ResourceId, segment: str) -> ResourceId:
    """Return an id that ends with a type of its parent, such as a collection."""
    nameless = segment.lower() in ("subscriptions", "resourcegroups")
    if nameless or _same(parent.type, _RESOURCE_GROUP):
        raise ResourceIdError("a resource id ends on a type: add the name")
    return parent.nested(segment, "")


def _same(one: tuple[str, str], other: tuple[str, str]) -> bool:
    return [part.lower() for part in one] == [part.lower() for part in other]
