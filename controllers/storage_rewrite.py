"""Rewrite the objects of a CRD in its storage version, and drop unused stored versions.

A write without a change is enough: the API server stores an object in the present
storage version whenever it writes it. No write here can undo other writes; an
interrupted rewrite starts again.
"""

import attrs

from asoreconcile.azure.catalogue.conversion import ORIGINAL_VERSION, STORED_SUFFIX
from asoreconcile.base import reconcile_context
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    key_of,
    resource_version,
    spec,
    status,
)
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.create_or_patch import patch_object
from asoreconcile.kube.errors import ConflictError, NotFoundError
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, ApiResource
from asoreconcile.kube.selection import ListOptions, Selection

# Until each of several API servers knows the new storage version.
SETTLE_SECONDS = 60.0
_PAGE = 500
_TRIES = 3
_RETIRED = "v1alpha1api"
_ITS_SUCCESSOR = "v1beta"


def listed_versions(definition: JsonObject) -> list[str]:
    """Return the versions that objects may be stored in, as the CRD's status lists
    them.
    """
    return [str(name) for name in status(definition).get("storedVersions") or ()]


def stored_resource(definition: JsonObject, version: str) -> ApiResource:
    """Return the resource of a CRD's objects in one of its versions."""
    inside = spec(definition)
    names = inside["names"]
    return ApiResource(inside["group"], version, names["plural"], names["kind"])


@attrs.frozen
class StorageRewrite:
    """Rewrites objects. Blocking; for one thread.

    Within a reconcile it ends at a stop, between two writes, with StoppedError.
    """

    client: KubeClient

    def write_all(self, resource: ApiResource) -> int:
        """Write each object again, and return their number. Raises ApiError,
        TransportError.

        resource: at the version that objects are stored in.
        """
        count, token = 0, ""
        # Only the stored form says which version an object was written in.
        whole = resource.version.endswith(STORED_SUFFIX)
        selection = Selection(resource, metadata_only=not whole)
        while True:
            place = ListOptions(limit=_PAGE, continue_token=token)
            page = self.client.list_page(selection, place)
            for obj in page.items:
                # The client lets a write through at a stop, so that what was done can
                # be noted. These can wait: the next leader begins anew.
                reconcile_context.check()
                self._write(resource, obj)
                count += 1
            token = page.continue_token
            if not token:
                return count

    def drop(self, live: JsonObject, stored: str) -> bool:
        """List one version alone; return false if the CRD was written since it was
        read.
        """
        change = {
            "metadata": {"resourceVersion": resource_version(live)},
            "status": {"storedVersions": [stored]},
        }
        try:
            self.client.patch(
                CUSTOM_RESOURCE_DEFINITIONS, key_of(live), change, subresource="status"
            )
        except ConflictError:
            return False
        return True

    def _write(self, resource: ApiResource, obj: JsonObject) -> None:
        key = key_of(obj)
        try:
            if _is_of_a_retired_version(obj):
                self._rename(resource, key)
            else:
                # Empty: it needs no precondition, as it carries nothing.
                self.client.patch(resource, key, {})
        except NotFoundError:
            return  # deleted meanwhile

    def _rename(self, resource: ApiResource, key: ObjectKey) -> None:
        """Replace the name of a retired version by its successor's, as ASO does."""
        for attempt in range(_TRIES):
            live = self.client.get(resource, key)
            try:
                patch_object(self.client, resource, live, _succeed)
            except ConflictError:
                if attempt == _TRIES - 1:
                    raise
            else:
                return


def _is_of_a_retired_version(obj: JsonObject) -> bool:
    return str(spec(obj).get(ORIGINAL_VERSION, "")).startswith(_RETIRED)


def _succeed(obj: JsonObject) -> None:
    if _is_of_a_retired_version(obj):
        named = str(obj["spec"][ORIGINAL_VERSION])
        obj["spec"][ORIGINAL_VERSION] = named.replace(_RETIRED, _ITS_SUCCESSOR, 1)
