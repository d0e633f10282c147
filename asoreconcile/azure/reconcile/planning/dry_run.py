"""Runs extensions without writing: reads may wait, and writes are refused.

A chain runs as it does in a reconcile, so that it shows the request that the operator
would send. If an extension tries to write to Azure, the chain ends with
WouldWriteError.
"""

from collections.abc import Iterable, Mapping
from typing import Never

from asoreconcile.azure.arm.outcomes import Progress
from asoreconcile.azure.arm.tokens import Token
from asoreconcile.azure.catalogue.kinds import Catalogue
from asoreconcile.azure.reconcile.model.owner import owner_target
from asoreconcile.azure.reconcile.planning.patient_reads import PatientReads
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    copy_json,
    gvk_of,
    key_of,
)


class WouldWriteError(AsoreconcileError):
    """An extension would write to Azure before the PUT; the message says what."""


class ReadOnlyArm(PatientReads):
    """`middleware.context.ArmAccess` that refuses writes. Reads block until ARM
    answers.
    """

    def put(self, arm_id: str, api_version: str, body: JsonObject, /) -> Never:  # noqa: ARG002
        """Send nothing. Raises WouldWriteError, which says what would be written."""
        raise WouldWriteError(f"the operator would PUT {arm_id} first")

    def delete(
        self,
        arm_id: str,
        api_version: str,  # noqa: ARG002
        /,
        *,
        query: Mapping[str, str] | None = None,  # noqa: ARG002
        headers: Mapping[str, str] | None = None,  # noqa: ARG002
    ) -> Never:
        """Send nothing. Raises WouldWriteError, which says what would be deleted."""
        raise WouldWriteError(f"the operator would DELETE {arm_id} first")

    def post(
        self,
        arm_id_with_action: str,
        api_version: str,  # noqa: ARG002
        body: JsonObject | None = None,  # noqa: ARG002
        /,
    ) -> Never:
        """Send nothing. Raises WouldWriteError, because every action may change
        something, even one that lists keys.
        """
        raise WouldWriteError(f"the operator would POST {arm_id_with_action} first")

    def poll(self, token: Token, progress: Progress | None = None, /) -> Never:  # noqa: ARG002
        """Send nothing. Raises WouldWriteError: no operation can have been started
        here.
        """
        raise WouldWriteError("the operator would wait for an operation first")


class ManifestObjects:
    """`middleware.context.ObjectsView` over objects that were read before."""

    def __init__(self, catalogue: Catalogue, objects: Iterable[JsonObject]) -> None:
        self._catalogue = catalogue
        self._objects = {(gvk_of(obj).group_kind, key_of(obj)): obj for obj in objects}

    def get(self, group_kind: GroupKind, key: ObjectKey, /) -> JsonObject | None:
        """Return a copy of an object that was read before; None if it was not read."""
        found = self._objects.get((group_kind, key))
        return None if found is None else copy_json(found)

    def owner_of(self, obj: JsonObject, /) -> JsonObject | None:
        """Return the owner that `spec.owner` names; None if it was not read or is given
        by ARM id.
        """
        owner = owner_target(self._catalogue.version(gvk_of(obj)), obj)
        return None if owner is None else self.get(*owner)
