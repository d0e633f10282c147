"""Write verbs as values: each describes a change before it is sent.

A client sends them (`kube.client`); the cache records their responses (`cache.client`).
Rules: CL-2, CL-3.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import attrs

from asoreconcile.base.objects import JsonObject, ObjectKey, key_of
from asoreconcile.kube.owners import set_owner
from asoreconcile.kube.resources import ApiResource, check_namespace
from asoreconcile.kube.selection import JSON, Selection

PatchKind = Literal["merge", "json", "apply", "strategic"]

_PATCH_TYPES: Mapping[PatchKind, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
    "strategic": "application/strategic-merge-patch+json",
}


@attrs.frozen
class Write:
    """One change of one object. dry_run: the server responds but stores nothing.

    method: the HTTP method. key: key of the object; without a name, the collection.
    field_manager, force: options of server-side apply.
    """

    method: str
    resource: ApiResource
    key: ObjectKey
    body: Any = attrs.field(repr=False)
    subresource: str = ""
    field_manager: str = ""
    force: bool = False
    dry_run: bool = False
    content_type: str = JSON


class Writes(ABC):
    """create, replace, patch and delete; a client implements `send`.

    Each blocks for one response. Raises ApiError (a subclass by status) for an error
    response, TransportError without a response, StoppedError once closed.
    """

    @abstractmethod
    def send(self, write: Write) -> JsonObject:
        """Send the change; return the server's response."""

    def create(
        self,
        resource: ApiResource,
        obj: JsonObject,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> JsonObject:
        """Create an object in the namespace it names, or a subresource of that object
        (an eviction, a token request, which state their own kind).

        obj: the object; missing apiVersion and kind are set from the resource.
        """
        key = key_of(obj)
        # A POST goes to the collection; only a subresource takes one at the object's
        # path.
        if not subresource:
            check_namespace(resource, key.namespace, key.name)
            key = ObjectKey(key.namespace, "")
            obj = _of_kind(resource, obj)
        return self.send(
            Write(
                "POST",
                resource,
                key,
                obj,
                subresource=subresource,
                field_manager=field_manager,
                dry_run=dry_run,
            )
        )

    def replace(
        self,
        resource: ApiResource,
        obj: JsonObject,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> JsonObject:
        """Replace an object, at its resource version.

        obj: the object, with the resource version to replace. Missing apiVersion and
        kind are set as by `create`.
        """
        # Other subresources, such as scale, have their own kinds.
        if subresource in ("", "status"):
            obj = _of_kind(resource, obj)
        return self.send(
            Write(
                "PUT",
                resource,
                key_of(obj),
                obj,
                subresource=subresource,
                field_manager=field_manager,
                dry_run=dry_run,
            )
        )

    def patch(
        self,
        resource: ApiResource,
        key: ObjectKey,
        body: JsonObject | list[JsonObject],
        *,
        kind: PatchKind = "merge",
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> JsonObject:
        """Patch an object; `apply` creates it if it is not there.

        field_manager: required by `apply`. force: take over fields from other managers.
        `strategic` works only for built-in kinds. Raises ValueError for an unknown
        patch type.
        """
        if kind not in _PATCH_TYPES:
            kinds = ", ".join(_PATCH_TYPES)
            raise ValueError(f"{kind!r:.80} is no kind of patch: give one of {kinds}")
        return self.send(
            Write(
                "PATCH",
                resource,
                key,
                body,
                subresource=subresource,
                field_manager=field_manager,
                force=force,
                dry_run=dry_run,
                content_type=_PATCH_TYPES[kind],
            )
        )

    def apply(
        self,
        resource: ApiResource,
        obj: JsonObject,
        *,
        field_manager: str,
        owner: JsonObject | None = None,
        controller: bool = True,
        subresource: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> JsonObject:
        """Server-side apply an object; the argument is not changed.

        owner, controller: arguments of `set_owner`, which sets the owner reference.
        force: argument of `patch`.
        Raises AlreadyOwnedError, ValueError for an owner in another namespace.
        """
        stated = _of_kind(resource, obj)
        if owner is not None:
            # Copies only what `set_owner` changes: callers apply one manifest often.
            stated = {**stated, "metadata": dict(stated.get("metadata") or {})}
            set_owner(stated, owner, controller=controller)
        return self.patch(
            resource,
            key_of(stated),
            stated,
            kind="apply",
            subresource=subresource,
            field_manager=field_manager,
            force=force,
            dry_run=dry_run,
        )

    @abstractmethod
    def delete_all(
        self,
        what: ApiResource | Selection,
        *,
        propagation: str = "",
        dry_run: bool = False,
    ) -> Sequence[JsonObject]:
        """Delete the selected objects, in one namespace if the kind is namespaced;
        returns the objects in the server's response.

        Raises ValueError without a namespace: the server deletes in one at a time.
        """

    def delete(
        self,
        resource: ApiResource,
        key: ObjectKey,
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: str = "",
        grace_seconds: int | None = None,
        dry_run: bool = False,
    ) -> JsonObject:
        """Delete an object. If a uid or resource version is given, only an object with
        it is deleted.

        propagation: Background, Foreground or Orphan. grace_seconds: before a pod is
        killed. Returns a Status, or the object while finalizers or a grace period hold
        it.
        """
        options = delete_options(propagation)
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        if stated := {name: value for name, value in preconditions.items() if value}:
            options["preconditions"] = stated
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        return self.send(Write("DELETE", resource, key, options, dry_run=dry_run))


def _of_kind(resource: ApiResource, obj: JsonObject) -> JsonObject:
    """Return the object, with the resource's kind if it has none. Does not change the
    argument.
    """
    # The server omits both from list items, and refuses objects without them.
    if obj.get("apiVersion") and obj.get("kind"):
        return obj
    return {
        **obj,
        "apiVersion": obj.get("apiVersion") or resource.api_version,
        "kind": obj.get("kind") or resource.kind,
    }


def delete_options(propagation: str) -> JsonObject:
    """Return the body of a delete request. propagation: "" leaves it to the server."""
    options: JsonObject = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if propagation:
        options["propagationPolicy"] = propagation
    return options
