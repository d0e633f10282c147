"""Rewrite the objects of a CRD in its storage version, and drop unused stored versions.

A write without a change is enough: the API server stores an object in the present
storage version whenever it writes it. No write here can undo other writes.
"""

from collections.abc import Callable

import attrs

from asoreconcile.azure.catalogue.conversion import ORIGINAL_VERSION, STORED_SUFFIX
from asoreconcile.azure.controllers.crd_coverage import stored_version
from asoreconcile.base import reconcile_context
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    annotations,
    key_of,
    metadata,
    resource_version,
    spec,
    status,
)
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.create_or_patch import patch_object
from asoreconcile.kube.errors import ConflictError, ExpiredError, NotFoundError
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, ApiResource
from asoreconcile.kube.selection import ListOptions, Selection

# Until each of several API servers knows the new storage version.
SETTLE_SECONDS = 60.0
PROGRESS_MANAGER = "asoreconcile-storage-rewrite"
"""The field manager that notes the progress of a rewrite."""
_PROGRESS = "asoreconcile/storage-rewrite"
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


def _nothing(_count: int) -> None:
    """Ignore the progress."""


@attrs.frozen
class StorageRewrite:
    """Rewrites objects. Blocking; for one thread.

    Within a reconcile it ends at a stop, between two writes, with StoppedError.
    """

    client: KubeClient

    def bring_in_order(
        self, live: JsonObject, *, progress: Callable[[int], object] = _nothing
    ) -> tuple[int, bool]:
        """Write each object of a CRD again, and list its storage version alone.

        Returns the number of objects that were written, and false if the CRD changed
        meanwhile, so that the list stays. Raises and calls `progress` as `write_all`.
        """
        count = self.write_all(live, progress=progress)
        now = self.client.get(CUSTOM_RESOURCE_DEFINITIONS, key_of(live))
        # An object that was written between the two reads may be stored in a version
        # that was listed only meanwhile. So the rewrite is complete only if the list
        # stayed the same.
        stored = stored_version(live)
        is_same = (listed_versions(now), stored_version(now)) == (
            listed_versions(live),
            stored,
        )
        return count, is_same and self.drop(now, stored)

    def write_all(
        self, definition: JsonObject, *, progress: Callable[[int], object] = _nothing
    ) -> int:
        """Write each object of a CRD again, and return the number of objects that were
        written. Raises ApiError, TransportError.

        The name of the last object is noted on the CRD after each page, and an
        interrupted rewrite goes on after it, unless the CRD's spec has changed since.
        progress: called after each page with the number of objects so far.
        """
        stored = stored_version(definition)
        resource = stored_resource(definition, stored)
        # Only the stored form says which version an object was written in.
        whole = stored.endswith(STORED_SUFFIX)
        selection = Selection(resource, metadata_only=not whole)
        note = f"{metadata(definition).get('generation')} {stored} "
        found = annotations(definition).get(_PROGRESS, "")
        last = found.removeprefix(note) if found.startswith(note) else ""
        count, token = 0, ""
        while True:
            try:
                page = self.client.list_page(
                    selection, ListOptions(limit=_PAGE, continue_token=token)
                )
            except ExpiredError as error:
                # Without a new token the list begins again, and known names are left
                # out.
                token = error.continue_token if error.continue_token != token else ""
                continue
            for obj in page.items:
                place = str(key_of(obj))
                # A list is in the order of these names.
                if place <= last:
                    continue
                # The client lets a write through at a stop, so that what was done can
                # be noted. These can wait: the next leader continues.
                reconcile_context.check()
                self._write(resource, obj)
                count, last = count + 1, place
            progress(count)
            token = page.continue_token
            if not token:
                return count
            self._note(definition, note + last)

    def _note(self, definition: JsonObject, progress: str | None) -> None:
        change = {"metadata": {"annotations": {_PROGRESS: progress}}}
        self.client.patch(
            CUSTOM_RESOURCE_DEFINITIONS,
            key_of(definition),
            change,
            field_manager=PROGRESS_MANAGER,
        )

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
        if _PROGRESS in annotations(live):
            self._note(live, None)
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
