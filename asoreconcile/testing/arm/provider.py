"""ARM and its resource providers: reads and writes of any resource type.

What ARM checks is checked first (subscription, group, parent, location), then the
provider's style says how the write is answered (`styles`).
"""

import re
from collections.abc import Mapping

import attrs

from asoreconcile.objects import JsonObject, copy_json
from asoreconcile.testing.arm import outputs
from asoreconcile.testing.arm.address import Address, parse
from asoreconcile.testing.arm.operations import (
    Failure,
    Failures,
    Operation,
    Operations,
    monitor_url,
    monitors,
)
from asoreconcile.testing.arm.refusals import (
    RefusedError,
    answer,
    group_not_found,
    parent_not_found,
    resource_not_found,
)
from asoreconcile.testing.arm.resources import EMBEDDED, Resource, Resources
from asoreconcile.testing.arm.styles import Style, style_of
from asoreconcile.testing.arm.vaults import SoftDeletedVaults
from asoreconcile.testing.http import Response

_API_VERSION = re.compile(r"^\d{4}-\d{2}-\d{2}(-[a-z]+)?$")
# Types whose resources cannot go while others point at them (DE2).
_HELD = {
    "microsoft.network/virtualnetworks": "InUseSubnetCannotBeDeleted",
    "microsoft.network/virtualnetworks/subnets": "InUseSubnetCannotBeDeleted",
    "microsoft.network/networksecuritygroups": (
        "InUseNetworkSecurityGroupCannotBeDeleted"
    ),
    "microsoft.network/routetables": "InUseRouteTableCannotBeDeleted",
    "microsoft.network/publicipaddresses": "PublicIPAddressCannotBeDeleted",
    "microsoft.network/networkinterfaces": "NicInUse",
}


@attrs.frozen
class Host:
    """What the provider is told about the server it runs in."""

    url: str
    tenant_id: str
    subscriptions: frozenset[str]
    retry_after: int | None = None


class Provider:
    """Answers GET, PUT and DELETE of resources. The caller holds the server's lock."""

    def __init__(
        self,
        host: Host,
        resources: Resources,
        operations: Operations,
        failures: Failures,
    ) -> None:
        self._host = host
        self._resources = resources
        self._operations = operations
        self._failures = failures
        self.vaults = SoftDeletedVaults()

    def get(self, address: Address) -> Response:
        """Raises RefusedError 404."""
        return answer(200, self._resources.shown(self._existing(address)))

    def put(self, address: Address, body: JsonObject, api_version: str) -> Response:
        """Create or replace. Raises RefusedError."""
        check_api_version(api_version)
        self._check_scope(address)
        present = self._resources.find(address.id)
        self._check_body(address, body, present)
        self.vaults.check_put(address, body)
        style = style_of(address.type)
        failure = self._failures.take(address.id)
        is_slow = style.is_slow and (present is None or style.slow_updates)
        if not is_slow and failure is not None:
            raise RefusedError(409, failure.code, failure.message, from_gateway=False)
        resource = self._store(address, body, present, style)
        if not is_slow:
            resource.state = "Succeeded" if style.has_state else ""
            status = style.create if present is None else style.update
            return answer(
                status,
                self._resources.shown(resource),
                {"Location": address.id} if "self" in style.monitors else None,
            )
        resource.state = style.busy_state if present is None else "Updating"
        if present is None and "self" in style.monitors:
            resource.state = ""
        operation = self._operations.begin(
            address,
            "PUT",
            api_version=api_version,
            style=style,
            failure=failure,
            finish=lambda failed: self._end_put(resource, failed),
        )
        return self._begun(operation, present is None, resource)

    def delete(self, address: Address, api_version: str) -> Response:
        """Raises RefusedError."""
        check_api_version(api_version)
        self._check_scope(address)
        resource = self._resources.find(address.id)
        if resource is None:
            return answer(204, None)
        self._check_unused(address)
        style = style_of(address.type)
        failure = self._failures.take(address.id)
        if not style.delete_monitors:
            if failure is not None:
                raise RefusedError(
                    409, failure.code, failure.message, from_gateway=False
                )
            self._remove(resource)
            return answer(style.delete, None)
        running = self._operations.running(address.key)
        if running is None or running.method != "DELETE":
            resource.state = "Deleting"
            running = self._operations.begin(
                address,
                "DELETE",
                api_version=api_version,
                style=style,
                failure=failure,
                finish=lambda failed: self._end_delete(resource, failed),
            )
        return answer(style.delete, None, self._monitors(running, deletes=True))

    def poll(self, operation: Operation, kind: str) -> Response:
        """A look at a monitor: the operation's status, or its own answer (L11, L12)."""
        operation.polls += 1
        deletes = operation.method == "DELETE"
        if kind == "operations":
            return self._status(operation, deletes=deletes)
        if not operation.is_over:
            headers = dict(self._monitors(operation, deletes=deletes))
            headers.pop("Azure-AsyncOperation", None)
            headers["Location"] = monitor_url(operation, self._host.url, kind)
            return answer(202, None, headers)
        if operation.failure is not None:
            raise RefusedError(
                409,
                operation.failure.code,
                operation.failure.message,
                from_gateway=False,
            )
        resource = self._resources.find(operation.address.id)
        if deletes or resource is None:
            return answer(200, None)
        return answer(200, self._resources.shown(resource))

    def _status(self, operation: Operation, *, deletes: bool) -> Response:
        status: JsonObject = {"name": operation.id, "status": "InProgress"}
        headers: dict[str, str] = {}
        if not operation.is_over:
            headers = dict(self._monitors(operation, deletes=deletes))
            headers.pop("Location", None)
            if not operation.style.signed:
                headers.pop("Azure-AsyncOperation", None)
        elif operation.failure is None:
            status["status"] = "Succeeded"
        else:
            status["status"] = "Failed"
            status["error"] = attrs.asdict(operation.failure)
        return answer(200, status, headers)

    def _begun(
        self,
        operation: Operation,
        is_new: bool,
        resource: Resource,
    ) -> Response:
        style = operation.style
        body: JsonObject | None = self._resources.shown(resource)
        if style.body == "empty" and is_new:
            body = None
        elif style.body == "operation":
            body = {"operation": "Upsert", "startTime": "2026-01-01T00:00:00.000Z"}
        status = style.create if is_new else style.update
        return answer(status, body, self._monitors(operation, deletes=False))

    def _monitors(self, operation: Operation, *, deletes: bool) -> Mapping[str, str]:
        style = operation.style
        seconds = style.delete_retry_after if deletes else style.retry_after
        if seconds is not None and self._host.retry_after is not None:
            seconds = self._host.retry_after
        return monitors(operation, self._host.url, deletes=deletes, retry_after=seconds)

    def _existing(self, address: Address) -> Resource:
        resource = self._resources.find(address.id)
        if resource is not None:
            return resource
        self._check_group(address)
        if address.is_group:
            raise group_not_found(address.name)
        raise resource_not_found(
            address.type, "/".join(address.names), address.group.rsplit("/", 1)[-1]
        )

    def _check_scope(self, address: Address) -> None:
        """What must exist before a resource can (V3, E7)."""
        subscription = address.subscription.lower()
        if subscription and subscription not in self._host.subscriptions:
            raise RefusedError(
                404,
                "SubscriptionNotFound",
                f"The subscription '{address.subscription}' could not be found.",
            )
        self._check_group(address)
        if address.parent and self._resources.find(address.parent) is None:
            raise parent_not_found(address.name, address.parent)
        base = parse(address.scope) if "/providers/" in address.scope.lower() else None
        if base is not None and self._resources.find(base.id) is None:
            raise resource_not_found(base.type, base.name, "")

    def _check_group(self, address: Address) -> None:
        if address.is_group or not address.group:
            return
        group = self._resources.find(address.group)
        if group is None:
            raise group_not_found(address.group.rsplit("/", 1)[-1])

    def _check_body(
        self, address: Address, body: JsonObject, present: Resource | None
    ) -> None:
        location = body.get("location")
        if address.is_group and not location:
            raise RefusedError(
                400, "LocationRequired", "The location property is required."
            )
        group = self._resources.find(address.group) if address.group else None
        if present is None and group is not None and group.state == "Deleting":
            raise RefusedError(
                409,
                "ResourceGroupBeingDeleted",
                f"The resource group '{group.address.name}' is in deprovisioning state "
                "and cannot perform this operation.",
            )
        before = (present.body.get("location") or "") if present else ""
        if before and location and _place(before) != _place(str(location)):
            raise RefusedError(
                409,
                "InvalidResourceLocation",
                f"The resource '{address.name}' already exists in location '{before}'. "
                f"A resource with the same name cannot be created in location "
                f"'{location}'.",
            )
        running = self._operations.running(address.key)
        if running is not None and (present is None or present.sent != body):
            raise RefusedError(
                409,
                "AnotherOperationInProgress",
                "Another operation on this or dependent resource is in progress.",
                from_gateway=False,
            )

    def _check_unused(self, address: Address) -> None:
        code = _HELD.get(address.type)
        users = self._resources.users(address.id) if code else []
        if code and users:
            raise RefusedError(
                400,
                code,
                f"{address.name} is in use by {users[0]} and cannot be deleted.",
                from_gateway=False,
            )

    def _store(
        self,
        address: Address,
        body: JsonObject,
        present: Resource | None,
        style: Style,
    ) -> Resource:
        kept = copy_json(body)
        embedded = {
            name: (kept.get("properties") or {}).pop(name, None) or []
            for name in EMBEDDED.get(address.type, ())
        }
        shown = outputs.shown(address, kept, tenant_id=self._host.tenant_id)
        state = "Succeeded" if style.has_state else ""
        if present is None:
            present = Resource(address, shown, copy_json(body), state)
            self._resources.put(present)
        else:
            present.body, present.sent = shown, copy_json(body)
        for name, items in embedded.items():
            self._replace_children(present.address, name, items)
        return present

    def _replace_children(
        self, parent: Address, collection: str, items: list[JsonObject]
    ) -> None:
        wanted = {str(item.get("name")).lower() for item in items}
        for child in self._resources.children(parent, collection):
            if child.address.name.lower() not in wanted:
                self._check_unused(child.address)
                self._remove(child)
        for item in items:
            address = parse(f"{parent.id}/{collection}/{item.get('name')}")
            if address is not None:
                style = style_of(address.type)
                present = self._resources.find(address.id)
                self._store(address, item, present, style)

    def _end_put(self, resource: Resource, failed: Failure | None) -> None:
        has_state = style_of(resource.address.type).has_state
        state = "Succeeded" if failed is None else "Failed"
        resource.state = state if has_state else ""

    def _end_delete(self, resource: Resource, failed: Failure | None) -> None:
        if failed is None:
            self._remove(resource)
        else:
            resource.state = "Succeeded"

    def _remove(self, resource: Resource) -> None:
        self.vaults.note_removed(resource)
        address = resource.address
        for id_ in self._resources.remove(address.id):
            if id_ != address.id:
                self._operations.forget(id_.lower())
        self._operations.forget(f"{address.key}/")


def check_api_version(api_version: str) -> None:
    """Raises RefusedError 400."""
    if not api_version:
        raise RefusedError(
            400,
            "MissingApiVersionParameter",
            "The api-version query parameter (?api-version=) is required for all "
            "requests.",
        )
    if not _API_VERSION.match(api_version):
        raise RefusedError(
            400,
            "InvalidApiVersionParameter",
            f"The api-version '{api_version}' is invalid. It is a date, with "
            "'-preview' behind it or not.",
        )


def _place(location: str) -> str:
    return location.replace(" ", "").lower()
