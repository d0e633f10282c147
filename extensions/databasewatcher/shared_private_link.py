"""SharedPrivateLink: ready once its private endpoint connection is approved.

Azure opens the connection on the resource that the link points at, pending the approval
of that resource's owner, and shows nothing of it in the link. If an object of this
namespace manages that resource, the pending connection is approved.
"""

import re
from collections.abc import Callable

from asoreconcile.azure.arm.condition_error import RetryClass
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.extensions.databasewatcher._shared import why_left_alone
from asoreconcile.azure.middleware.extension_points import POST_RECONCILE
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.requests import NotReady, PostReconcile, PostResult
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    dig,
    gvk_of,
    key_of,
)

EXTENSIONS = built_in("databasewatcher", "SharedPrivateLink")

_FORBIDDEN = 403
_CONNECTION_STATE = "privateLinkServiceConnectionState"
_STATE = f"properties.{_CONNECTION_STATE}.status"
_NOT_PENDING = "PrivateEndpointConnectionStatusNotPending"
_API_VERSION = re.compile(r"v(?:1api)?(\d{4})(\d\d)(\d\d)(preview)?")


@EXTENSIONS.on(POST_RECONCILE)
def until_connected(
    req: PostReconcile, call_next: Callable[[PostReconcile], PostResult], /
) -> PostResult:
    """Report not ready until the connection is approved; approve a pending one.

    A link to a resource without an object in the cluster is ready as soon as it exists,
    as is one whose connections the credential may not read. Nothing is approved if the
    sync mode is `report`, if the resource has the policy skip, or if its object has
    another operator or credential than the link.
    """
    target = _target(req)
    resource = dig(req.obj, "status.privateLinkResourceId")
    if target is None or not resource:
        return call_next(req)
    version = _api_version(target)
    try:
        connections = _opened(req, resource, version)
    except ArmError as error:
        if error.status == _FORBIDDEN:
            return call_next(req)
        raise
    name = key_of(target).name
    if not connections:
        return NotReady(
            f"Azure has not opened the private endpoint connection on {name}"
        )
    states = {
        str(dig(one, _STATE) or "no state yet").capitalize() for one in connections
    }
    if states == {"Approved"}:
        return call_next(req)
    what = f"the private endpoint connection on {name}"
    if len(connections) > 1:
        # Links of two watchers may have one name.
        return NotReady(
            f"{len(connections)} private endpoint connections on {name} could be this "
            "link's: approve the right one there"
        )
    (state,) = states
    if state in ("Rejected", "Disconnected"):
        return NotReady(f"{what} was {state.lower()}", severity="Error")
    if state != "Pending":
        return NotReady(f"{what} is in state {state!r}")
    if why := why_left_alone(req, target):
        return NotReady(f"{what} waits for approval: {why}")
    return _approve(req, connections[0], version, what)


def _target(req: PostReconcile) -> JsonObject | None:
    reference = dig(req.obj, "spec.privateLinkResourceReference") or {}
    kind = GroupKind(reference.get("group") or "", reference.get("kind") or "")
    key = ObjectKey(key_of(req.obj).namespace, reference.get("name") or "")
    return req.ctx.objects.get(kind, key) if key.name else None


def _api_version(target: JsonObject) -> str:
    """Return the api-version that the object's own version is named after."""
    found = _API_VERSION.match(gvk_of(target).version)
    if found is None:
        return ""
    year, month, day, preview = found.groups()
    return f"{year}-{month}-{day}" + ("-preview" if preview else "")


def _opened(req: PostReconcile, resource: str, version: str) -> list[JsonObject]:
    """Return the connections that Azure may have opened for the link: the private
    endpoint of each has the link's name.
    """
    link = req.ctx.arm_id.rpartition("/")[2].lower()
    path = f"{resource}/privateEndpointConnections"
    return [
        one
        for one in req.ctx.arm.list(path, version)
        if str(dig(one, "properties.privateEndpoint.id") or "").lower().split("/")[-1]
        == link
    ]


def _approve(
    req: PostReconcile, connection: JsonObject, version: str, what: str
) -> PostResult:
    ctx = req.ctx
    state = {"status": "Approved", "description": f"Approved for {ctx.arm_id}"}
    endpoint = dig(connection, "properties.privateEndpoint")
    properties = {"privateEndpoint": endpoint, _CONNECTION_STATE: state}
    body = {"properties": properties}
    try:
        ctx.lro(
            "approve-connection",
            lambda: ctx.arm.put(str(connection["id"]), version, body),
        )
    except ArmError as error:
        if error.status == _FORBIDDEN:
            why = "the credential may not approve it"
            return NotReady(f"{what} waits for approval: {why}")
        if error.code != _NOT_PENDING:
            raise
    return NotReady(f"{what} is being approved", retry=RetryClass.FAST)
