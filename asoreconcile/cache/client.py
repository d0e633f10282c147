"""A client that reads from informers and writes to the server; reads see its own
writes.

Rules: CA-1, CA-4, CL-1, D21.
"""

from collections.abc import Mapping, Sequence

from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    key_of,
    metadata,
    spec,
    uid_of,
)
from asoreconcile.cache.informer import Informer, NotCachedError
from asoreconcile.cache.informers import Informers
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.finalizers import has_ended, is_held
from asoreconcile.kube.resources import ApiResource
from asoreconcile.kube.selection import Selection, selection_of
from asoreconcile.kube.writes import Write, Writes

# For these the server first adds a finalizer: the object remains visible for a while.
_HOLDING = ("Foreground", "Orphan")


class CachedClient(Writes):
    """Cached reads and direct writes. Safe from any thread; only writes block.

    Reads raise NotCachedError for a kind without an informer in `informers`, or one
    that has not synced: a read never starts a watch, and before cache sync a missing
    object may exist.
    """

    def __init__(self, server: KubeClient, informers: Informers) -> None:
        """server: the client for writes; its own reads are uncached."""
        self.server = server
        self._informers = informers

    def get(
        self, resource: ApiResource, key: ObjectKey, *, metadata_only: bool = False
    ) -> JsonObject:
        """Return a private copy of an object. Raises NotFoundError, NotCachedError."""
        found = self._informer(resource, metadata_only=metadata_only).get(key)
        if found is None:
            raise NotFoundError(
                f"{resource.gvk} {key} not found in the cache",
                status=404,
                reason="NotFound",
            )
        return found

    def list(
        self,
        resource: ApiResource,
        *,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        label_selector: str = "",
        index: tuple[str, str] | None = None,
        limit: int | None = None,
        metadata_only: bool = False,
    ) -> Sequence[JsonObject]:
        """Return private copies of objects, sorted by key (`Informer.list`)."""
        informer = self._informer(resource, metadata_only=metadata_only)
        return informer.list(
            namespace,
            labels=labels,
            label_selector=label_selector,
            index=index,
            limit=limit,
        )

    def send(self, write: Write) -> JsonObject:
        """Send a write as the server's client does. Cached reads see the write at once,
        also a deletion.

        Responses of dry runs, and of subresources of another kind (Scale), are not
        recorded, as they are not the object's state.
        """
        answer = self.server.send(write)
        if write.dry_run or self.server.is_dry_run:
            return answer
        if answer.get("kind") == write.resource.kind:
            gone = not _is_live(write, answer)
            for informer in self._caches(write.resource):
                if gone:
                    informer.record_deletion(key_of(answer), uid_of(answer))
                else:
                    informer.record_write(answer)
        # The response is a Status. By its uid only this object is hidden, not a newer
        # one of the same name.
        elif write.method == "DELETE" and not metadata(answer).get("name"):
            for informer in self._caches(write.resource):
                informer.record_deletion(write.key, _deleted_uid(write, answer))
        return answer

    def delete_all(
        self,
        what: ApiResource | Selection,
        *,
        propagation: str = "",
        dry_run: bool = False,
    ) -> Sequence[JsonObject]:
        """Delete objects as the server's client does. Cached reads no longer return
        deleted objects.

        Objects held by finalizers or a grace period are read in their old state until
        the watch delivers the change.
        """
        chosen = self.server.delete_all(what, propagation=propagation, dry_run=dry_run)
        if dry_run or self.server.is_dry_run:
            return chosen
        resource = selection_of(what).resource
        for obj in chosen:
            # The response has the state before the deletion: Pods have their own grace
            # period, and other propagations add a server finalizer.
            graceful = spec(obj).get("terminationGracePeriodSeconds")
            if is_held(obj) or graceful or propagation in _HOLDING:
                continue
            for informer in self._caches(resource):
                informer.record_deletion(key_of(obj), uid_of(obj))
        return chosen

    def _informer(self, resource: ApiResource, *, metadata_only: bool) -> Informer:
        found = self._informers.find(resource, metadata_only=metadata_only)
        if found is None:
            raise NotCachedError(
                f"{resource.gvk} is not cached: ask for its informer first, or read "
                "it from the server"
            )
        if not found.has_synced():
            why = found.last_error or "its first list is not there yet"
            raise NotCachedError(f"{resource.gvk} has not synced: {why}")
        return found

    def _caches(self, resource: ApiResource) -> Sequence[Informer]:
        """Return the informers that must record a write."""
        # Whole objects and metadata are separate caches: readers of both must see the
        # write.
        found = (
            self._informers.find(resource, metadata_only=one) for one in (False, True)
        )
        return [informer for informer in found if informer is not None]


def _is_live(write: Write, answer: JsonObject) -> bool:
    """Return whether the object in a write's response still exists.

    The response of a deletion may be the object's last state (Services,
    PersistentVolumeClaims). The object still exists only if finalizers or a grace
    period hold it, as its metadata shows. The write that removes the last finalizer
    also deletes the object.
    """
    if has_ended(answer):
        return False
    return is_held(answer) or write.method != "DELETE"


def _deleted_uid(write: Write, answer: JsonObject) -> str:
    """Return the uid of the deleted object in a Status response."""
    stated = (write.body.get("preconditions") or {}).get("uid")
    return str(stated or (answer.get("details") or {}).get("uid") or "")
