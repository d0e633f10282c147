"""The difference of an object and the simulated Azure, as `asoctl plan` finds it."""

import threading
from collections.abc import Iterator, Mapping

from asoreconcile.azure.arm.error_body import ErrorBody
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.catalogue.resolution import Resolution
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.extensions.registry import builtin_sets
from asoreconcile.azure.middleware.chain import Extensions
from asoreconcile.azure.reconcile.planning.change_plan import Planner
from asoreconcile.azure.reconcile.planning.dry_run import ReadOnlyArm
from asoreconcile.azure.reconcile.planning.planned_change import PlannedChange
from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject


class SimulatedReads:
    """The resources of the simulator at one moment, read without requests to ARM."""

    def __init__(self, resources: Mapping[str, JsonObject]) -> None:
        """resources: bodies by ARM id."""
        self._bodies = {id_.lower(): body for id_, body in resources.items()}

    def get(self, arm_id: str, api_version: str) -> JsonObject:  # noqa: ARG002
        """Return the body of a resource. Raises ArmError."""
        if arm_id.lower() not in self._bodies:
            envelope = ErrorBody("ResourceNotFound", f"{arm_id} is not in Azure")
            raise ArmError(envelope, status=404)
        return self._bodies[arm_id.lower()]

    def head(self, arm_id: str, api_version: str) -> bool:  # noqa: ARG002
        """Return whether there is such a resource."""
        return arm_id.lower() in self._bodies

    def list(
        self,
        path: str,
        api_version: str,  # noqa: ARG002
        *,
        query: Mapping[str, str] | None = None,  # noqa: ARG002
    ) -> Iterator[JsonObject]:
        """Yield the resources directly below a collection."""
        prefix = f"{path.lower()}/"
        for id_, body in self._bodies.items():
            if id_.startswith(prefix) and "/" not in id_.removeprefix(prefix):
                yield body


def planned(
    obj: JsonObject,
    objects: list[JsonObject],
    resources: Mapping[str, JsonObject],
    *,
    subscription: str,
    clock: Clock,
) -> PlannedChange:
    """Return the change that a PUT of an object would make.

    objects: the object, and those that it may refer to.
    """
    reads = ReadOnlyArm(
        SimulatedReads(resources),
        clock=clock,
        stop=threading.Event(),
        on_wait=lambda _seconds, _why: None,
    )
    planner = Planner(
        catalogue=builtin(),
        objects=tuple(objects),
        resolution=Resolution(builtin(), objects, subscription_id=subscription),
        reads=reads,
        extensions=Extensions.of_catalogue(builtin_sets(), builtin()),
        clock=clock,
        subscription_id=subscription,
    )
    return planner.change(obj)
