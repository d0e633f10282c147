"""The rules by which providers refuse a write that passed ARM's checks."""

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.arm.address import ArmAddress
from asoreconcile.testing.arm.names import check_name
from asoreconcile.testing.arm.referred import check_referred
from asoreconcile.testing.arm.refusals import RefusedError
from asoreconcile.testing.arm.resources import ArmResource
from asoreconcile.testing.arm.scopes import check_body
from asoreconcile.testing.arm.simulation import Simulation


class ArmWriteHandler:
    """The checks of providers. The caller holds the server's lock."""

    def __init__(self, simulation: Simulation) -> None:
        self._styles = simulation.styles
        self._resources = simulation.resources
        self._operations = simulation.operations
        self._vaults = simulation.vaults

    def check(
        self, address: ArmAddress, body: JsonObject, present: ArmResource | None
    ) -> None:
        """Check a write. Raises RefusedError."""
        check_body(address, body, present)
        if present is None:
            check_name(self._resources, address)
        group = self._resources.find(address.group) if address.group else None
        if group is not None and group.state == "Deleting" and present is None:
            raise RefusedError(
                409,
                "ResourceGroupBeingDeleted",
                f"The resource group '{group.address.name}' is in deprovisioning state "
                "and cannot perform this operation.",
            )
        self._vaults.check_put(address, body)
        self._check_idle(address, body, present)
        check_referred(self._resources, self._operations, address, body)

    def _check_idle(
        self, address: ArmAddress, body: JsonObject, present: ArmResource | None
    ) -> None:
        running = self._operations.running(address.key)
        # The same body is accepted again: a client that lost the answer may repeat the
        # request.
        if running is not None and (present is None or present.sent != body):
            raise RefusedError(
                409,
                "AnotherOperationInProgress",
                "Another operation on this or dependent resource is in progress.",
                from_gateway=False,
            )
        if not self._styles[address.type].is_exclusive or not address.parent:
            return
        parent = address.parent.lower()
        busy = self._operations.running(parent) or self._operations.running_below(
            f"{parent}/"
        )
        if busy is not None and busy.address.key != address.key:
            code = "RetryableErrorDueToAnotherOperation"
            message = (
                f"Operation ({busy.id}) is updating resource {busy.address.id}. "
                "The call can be retried."
            )
            raise RefusedError(
                429,
                "RetryableError",
                "A retryable error occurred.",
                from_gateway=False,
                extra={"details": [{"code": code, "message": message}]},
            )
