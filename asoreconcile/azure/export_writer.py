"""The Secrets and ConfigMaps that a resource writes: put together, and stored.

A target must not exist, or be owned by the resource: we never write into somebody
else's object (R9.1, D14). What others added to it, labels and annotations, stays; its
data is what we say. Values of Secrets stay out of logs and errors.
"""

import base64
from collections import defaultdict
from collections.abc import Iterable, Mapping

import attrs

from asoreconcile.arm.condition_error import ConditionError
from asoreconcile.azure.scope import ReconcileScope
from asoreconcile.errors import RetryError
from asoreconcile.kube.errors import (
    AlreadyExistsError,
    InvalidError,
    NotFoundError,
    is_another_object,
)
from asoreconcile.kube.resources import SECRETS, ApiResource
from asoreconcile.middleware.requests import Export
from asoreconcile.objects import (
    JsonObject,
    ObjectKey,
    annotations,
    labels,
    owner_references,
    resource_version,
    uid_of,
)

FIELD_MANAGER = "asoreconcile"
_REPLACED_SECONDS = 1.0


@attrs.frozen
class ExportTarget:
    """One Secret or ConfigMap to write; values hidden from every repr."""

    name: str
    data: Mapping[str, str] = attrs.field(repr=False)
    labels: Mapping[str, str]
    annotations: Mapping[str, str]


def merged(resource: ApiResource, exports: Iterable[Export]) -> list[ExportTarget]:
    """One target per object name. Raises ConditionError on a collision."""
    by_name: dict[str, list[Export]] = defaultdict(list)
    for one in exports:
        by_name[one.name].append(one)
    targets = []
    for name, group in sorted(by_name.items()):
        data: dict[str, str] = {}
        for one in group:
            if one.key in data:
                raise refused(
                    f"two exports write key {one.key!r} of {resource.kind} {name!r}: "
                    "give them different keys"
                )
            data[one.key] = one.value
        targets.append(
            ExportTarget(
                name=name,
                data=data,
                labels=_agreed(resource, name, [one.labels for one in group]),
                annotations=_agreed(resource, name, [o.annotations for o in group]),
            )
        )
    return targets


def _agreed(
    resource: ApiResource, name: str, several: list[Mapping[str, str]]
) -> dict[str, str]:
    agreed: dict[str, str] = {}
    for one in several:
        for key, value in one.items():
            if agreed.setdefault(key, value) != value:
                raise refused(
                    f"two exports give {resource.kind} {name!r} different values of "
                    f"{key!r}: make them agree"
                )
    return agreed


def write(scope: ReconcileScope, resource: ApiResource, target: ExportTarget) -> str:
    """Write one target if it differs; its resource version afterwards.

    Blocking: a read, and a write if need be. Raises ConditionError for a target that is
    not ours or that the API server refuses. Rules: R9.1, R9.7, D14.
    """
    try:
        return resource_version(_written(scope, resource, target))
    except InvalidError as error:
        if is_another_object(error):
            raise RetryError(
                f"{resource.kind} {target.name!r} was replaced while it was written",
                after_seconds=_REPLACED_SECONDS,
            ) from None
        raise _invalid(resource, target, error) from None


def _written(
    scope: ReconcileScope, resource: ApiResource, target: ExportTarget
) -> JsonObject:
    client = scope.operator.client
    key = ObjectKey(scope.key.namespace, target.name)
    wanted = _manifest(scope, resource, target)
    try:
        present = client.get(resource, key)
    except NotFoundError:
        try:
            return client.create(resource, wanted, field_manager=FIELD_MANAGER)
        except AlreadyExistsError:
            # Somebody was faster; whose it is must be looked at first.
            present = client.get(resource, key)
    if not is_owned(present, scope.obj):
        raise refused(
            f"{resource.kind} {target.name!r} exists and is not owned by this "
            "resource: delete it, or choose another name"
        )
    if _holds(present, wanted):
        return present
    # Only into this object: one that took its place meanwhile may not be ours.
    wanted["metadata"]["uid"] = uid_of(present)
    answer = client.patch(
        resource,
        key,
        wanted,
        kind="apply",
        field_manager=FIELD_MANAGER,
        # Over other managers of fields: whose the object is was found out by its owner.
        force=True,
    )
    surplus = (answer.get("data") or {}).keys() - wanted["data"].keys()
    if not surplus:
        return answer
    # Applying leaves keys that came another way: by our create, or another operator's.
    gone = {"metadata": {"uid": uid_of(present)}, "data": dict.fromkeys(surplus)}
    return client.patch(resource, key, gone)


def _manifest(
    scope: ReconcileScope, resource: ApiResource, target: ExportTarget
) -> JsonObject:
    data = dict(target.data)
    if resource is SECRETS:
        data = {k: base64.b64encode(v.encode()).decode() for k, v in data.items()}
    meta: JsonObject = {
        "name": target.name,
        "namespace": scope.key.namespace,
        "ownerReferences": [
            {
                "apiVersion": scope.version.gvk.api_version,
                "kind": scope.version.gvk.kind,
                "name": scope.key.name,
                "uid": uid_of(scope.obj),
            }
        ],
    }
    if target.labels:
        meta["labels"] = dict(target.labels)
    if target.annotations:
        meta["annotations"] = dict(target.annotations)
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": meta,
        "data": data,
    }


def is_owned(target: JsonObject, owner: JsonObject) -> bool:
    """Whether an object carries the owner's uid in its ownerReferences."""
    uid = uid_of(owner)
    return any(r.get("uid") == uid for r in owner_references(target))


def _holds(present: JsonObject, wanted: JsonObject) -> bool:
    """Whether the object already says all that we would write, and no key more."""
    return (
        (present.get("data") or {}) == wanted["data"]
        and labels(wanted).items() <= labels(present).items()
        and annotations(wanted).items() <= annotations(present).items()
    )


def refused(message: str) -> ConditionError:
    """An export that cannot be made, and that only a person can mend."""
    return ConditionError(
        message,
        reason="FailedWritingAdditionalKubernetesObjects",
        severity="Error",
    )


def _invalid(
    resource: ApiResource, target: ExportTarget, error: InvalidError
) -> ConditionError:
    """What the API server refuses; its own words quote values, so only where."""
    fields = {str(cause.get("field")) for cause in error.details.get("causes") or ()}
    where = f" at {', '.join(sorted(fields))}" if fields else ""
    return refused(
        f"the API server refuses {resource.kind} {target.name!r}{where}: mend it"
    )
