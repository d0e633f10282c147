"""Faults with a name, which hit some resources until they are cleared.

    lag=Microsoft.Storage/storageAccounts,seconds=5
    drop=*,path=properties.minimumTlsVersion

The form is NAME=TARGET[,PARAMETER=VALUE]..., with targets as in `targets`. `NAMED`
lists the names and their parameters.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject, copy_json, dig
from asoreconcile.testing.arm.address import ArmAddress
from asoreconcile.testing.arm.locations import normalized
from asoreconcile.testing.arm.refusals import RefusedError
from asoreconcile.testing.arm.resources import ArmResource
from asoreconcile.testing.arm.style import Answer
from asoreconcile.testing.arm.targets import resource_pattern
from asoreconcile.testing.arm.throttling import PUBLISHED, Size, Throttling

Parameters = Mapping[str, Any]
NAMED: dict[str, tuple[str, Parameters]] = {
    "absent": ("GET is 404 for a while after a new PUT", {"seconds": 5.0}),
    "lag": ("GET shows the state before a write for a while", {"seconds": 5.0}),
    "bad-name": ("400 for the name at every verb", {"code": "InvalidResourceName"}),
    "merge": ("a PUT adds to a map, and removes nothing", {"path": "tags"}),
    "drop": ("a PUT drops a member without a word", {"path": "properties.x"}),
    "autoscale": (
        "each GET shows a number one higher, up to a limit",
        {"path": "sku.capacity", "most": 10},
    ),
    "tag": (
        "a policy adds a tag to what is written",
        {"name": "policy", "value": "on"},
    ),
    "failed": ("the state becomes Failed some time after a write", {"seconds": 5.0}),
    "slow-delete": ("a deletion takes long", {"seconds": 300.0}),
    "no-headers": ("202 without headers and body", {}),
    "quota": (
        "new resources are refused once there are so many",
        {"most": 0, "code": "QuotaExceeded"},
    ),
    "throttled": ("429 for one principal and subscription", {"after": 10}),
    "unregistered": ("the provider's registration is lost", {"seconds": 5.0}),
    "outage": ("503 for all resources in a region", {"region": "westus2"}),
}


@attrs.frozen
class NamedFault:
    """One planned fault.

    parameters: all parameters of the name; those that were not given have the default.
    """

    name: str
    target: str
    parameters: Parameters
    _pattern: re.Pattern[str]

    @classmethod
    def parse(cls, text: str) -> "NamedFault":
        """Read a fault in the form of this module. Raises ValueError."""
        name, _, rest = text.partition("=")
        if name not in NAMED:
            message = f"{name!r} is none of {', '.join(NAMED)}"
            raise ValueError(message)
        target, *given = rest.split(",")
        parameters = dict(NAMED[name][1])
        for one in given:
            key, _, value = one.partition("=")
            if key not in parameters:
                message = (
                    f"{name} has no {key!r}; it has {', '.join(parameters) or '-'}"
                )
                raise ValueError(message)
            parameters[key] = type(parameters[key])(value)
        pattern = re.compile(resource_pattern(target), re.IGNORECASE)
        return cls(name, target, parameters, pattern)

    def hits(self, address: ArmAddress) -> bool:
        """Return whether the fault is about a resource."""
        return self._pattern.search(address.id) is not None


class NamedFaults:
    """The planned faults of a server, and their effects. The caller holds the
    server's lock.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._planned: list[NamedFault] = []
        self.throttling: Throttling | None = None

    def plan(self, fault: NamedFault) -> None:
        """Add a fault."""
        self._planned.append(fault)
        if fault.name == "throttled":
            size = Size(fault.parameters["after"], 1.0)
            sizes = dict.fromkeys(PUBLISHED, size)
            self.throttling = Throttling(self._clock, sizes)

    def clear(self) -> None:
        """Remove all faults."""
        self._planned.clear()
        self.throttling = None

    def find(self, name: str, address: ArmAddress) -> Parameters | None:
        """Return the parameters of the first fault of that name for a resource."""
        return next((f.parameters for f in self._all(name, address)), None)

    def _all(self, name: str, address: ArmAddress) -> Iterator[NamedFault]:
        for fault in self._planned:
            if fault.name == name and fault.hits(address):
                yield fault

    def check(self, address: ArmAddress, location: str) -> None:
        """Check that no fault refuses every request for a resource. Raises
        RefusedError.

        location: location in the resource's body.
        """
        if (found := self.find("bad-name", address)) is not None:
            message = f"The name '{address.name}' is not valid."
            raise RefusedError(400, found["code"], message, from_gateway=False)
        found = self.find("outage", address)
        if found is not None and normalized(location) == found["region"]:
            message = f"The service is unavailable in '{found['region']}'."
            raise RefusedError(
                503, "ServiceUnavailable", message, headers={"Retry-After": "30"}
            )

    def check_quota(self, address: ArmAddress, present: Iterable[ArmResource]) -> None:
        """Check that no fault refuses a new resource. Raises RefusedError 409.

        present: resources that exist.
        """
        fault = next(self._all("quota", address), None)
        if fault is None:
            return
        most = fault.parameters["most"]
        used = sum(fault.hits(resource.address) for resource in present)
        if used < most:
            return
        message = (
            "Operation could not be completed as it results in exceeding approved "
            f"quota. Additional details - Current Limit: {most}, Current Usage: "
            f"{used}, Additional Required: 1, (Minimum) New Limit Required: {used + 1}."
        )
        raise RefusedError(409, fault.parameters["code"], message, from_gateway=False)

    def lag_seconds(self, address: ArmAddress, *, is_new: bool) -> float | None:
        """Return for how long reads do not show a write, or None without a fault."""
        found = self.find("absent", address) if is_new else None
        found = found or self.find("lag", address)
        return None if found is None else float(found["seconds"])

    def answer_to(self, method: str, address: ArmAddress) -> Answer | None:
        """Return the answer to a write that a fault puts in place of the type's own."""
        if self.find("no-headers", address) is not None:
            return Answer.of("202 Updating empty")
        if method == "DELETE" and self.find("slow-delete", address) is not None:
            return Answer.of("202 A+L 10 empty")
        return None

    def written(
        self, address: ArmAddress, body: JsonObject, present: ArmResource | None
    ) -> JsonObject:
        """Return a body as the faults let it be stored."""
        changed: JsonObject = copy_json(body)
        for fault in self._all("merge", address):
            path = fault.parameters["path"]
            before = dig(present.sent, path) if present else None
            holder, name = _holder(changed, path)
            if isinstance(before, dict) and holder is not None:
                holder[name] = {**before, **(holder.get(name) or {})}
        for fault in self._all("drop", address):
            holder, name = _holder(changed, fault.parameters["path"])
            if holder is not None:
                holder.pop(name, None)
        for fault in self._all("tag", address):
            tags = changed.setdefault("tags", {})
            tags.setdefault(fault.parameters["name"], fault.parameters["value"])
        return changed

    def move(self, resource: ArmResource) -> None:
        """Change a resource by itself, as a read will show it."""
        for fault in self._all("autoscale", resource.address):
            holder, name = _holder(resource.body, fault.parameters["path"])
            value = holder.get(name) if holder is not None else None
            is_less = isinstance(value, int) and value < fault.parameters["most"]
            if holder is not None and is_less:
                holder[name] = int(value or 0) + 1
                resource.version += 1
        found = self.find("failed", resource.address)
        if found is None or resource.state != "Succeeded":
            return
        if self._clock.monotonic() - resource.written_at >= found["seconds"]:
            resource.enter("Failed")


def _holder(body: JsonObject, path: str) -> tuple[JsonObject | None, str]:
    """Return the object that has the last member of a path, and the member's name."""
    above, _, name = path.rpartition(".")
    holder = dig(body, above) if above else body
    return (holder if isinstance(holder, dict) else None), name
