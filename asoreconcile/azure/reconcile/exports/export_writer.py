"""Writes the Secrets and ConfigMaps of a resource. Rules: R9.1, R9.7, D14."""

from asoreconcile.azure.reconcile.exports.export_plan import (
    ExportTarget,
    holds,
    invalid,
    is_owned,
    manifest,
    refused,
)
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.scope.shared_dependencies import SharedDependencies
from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import JsonObject, ObjectKey, uid_of
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import (
    AlreadyExistsError,
    InvalidError,
    NotFoundError,
    is_another_object,
)
from asoreconcile.kube.resources import ApiResource

FIELD_MANAGER = "asoreconcile"
_REPLACED_SECONDS = 1.0


def read(
    client: KubeClient, resource: ApiResource, key: ObjectKey
) -> JsonObject | None:
    """Return a Secret or ConfigMap, or None if it does not exist. Blocking."""
    try:
        return client.get(resource, key)
    except NotFoundError:
        return None


def write(
    operator: SharedDependencies,
    patcher: PatchHelper,
    resource: ApiResource,
    target: ExportTarget,
    present: JsonObject | None,
) -> JsonObject:
    """Write one target if it differs, and return it as it is afterwards.

    patcher: the exporting object's working copy. present: the target as it was read,
    None if it did not exist. Its version is noted, so that the event of the write wakes
    nothing. Blocking: a write if the target differs. Raises ConditionError for a target
    that is not ours or that the API server refuses. Rules: R9.1, R9.7, D14.
    """
    try:
        stored = _written(operator.client, patcher, resource, target, present)
    except InvalidError as error:
        if is_another_object(error):
            raise RetryError(
                f"{resource.kind} {target.name!r} was replaced while it was written",
                after_seconds=_REPLACED_SECONDS,
            ) from None
        raise invalid(resource, target, error) from None
    key = ObjectKey(patcher.key.namespace, target.name)
    operator.exported.note(ObjectReference(resource.group_kind, key), stored)
    return stored


def _written(
    client: KubeClient,
    patcher: PatchHelper,
    resource: ApiResource,
    target: ExportTarget,
    present: JsonObject | None,
) -> JsonObject:
    owner = patcher.obj
    key = ObjectKey(patcher.key.namespace, target.name)
    wanted = manifest(owner, patcher.version.gvk, resource, target)
    if present is None:
        try:
            return client.create(resource, wanted, field_manager=FIELD_MANAGER)
        except AlreadyExistsError:
            # Another client created it first: check its owner.
            present = client.get(resource, key)
    if not is_owned(present, owner):
        raise refused(
            f"{resource.kind} {target.name!r} exists and is not owned by this "
            "resource: delete it, or choose another name"
        )
    if holds(present, wanted):
        return present
    # Preconditioned on the uid: an object that replaced it may not be ours.
    wanted["metadata"]["uid"] = uid_of(present)
    answer = client.patch(
        resource,
        key,
        wanted,
        kind="apply",
        field_manager=FIELD_MANAGER,
        # Force ownership of fields: the owner reference has shown that the object is
        # ours.
        force=True,
    )
    surplus = (answer.get("data") or {}).keys() - wanted["data"].keys()
    if not surplus:
        return answer
    # Server-side apply keeps keys that were written otherwise: by our create, or by
    # another operator.
    gone = {"metadata": {"uid": uid_of(present)}, "data": dict.fromkeys(surplus)}
    return client.patch(resource, key, gone)
