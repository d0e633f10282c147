"""Reads from informers, writes to the server, and no read older than an own write.

Rules: CA-1, CA-4, CL-1, D21.
"""

from collections.abc import Mapping, Sequence

from asoreconcile.cache.informer import Informer, NotCachedError
from asoreconcile.cache.informers import Informers
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.finalizers import has_ended, is_held
from asoreconcile.kube.resources import ApiResource
from asoreconcile.kube.selection import Selection, selection_of
from asoreconcile.kube.writes import Write, Writes
from asoreconcile.objects import (
    JsonObject,
    ObjectKey,
    key_of,
    metadata,
    spec,
    uid_of,
)

# For these the server puts a finalizer on first: the object stays to be seen for a
# while.
_HOLDING = ("Foreground", "Orphan")


class CachedClient(Writes):
    """Cached reads and direct writes. Safe from any thread; only writes block.

    Reads raise NotCachedError for a kind that nobody has asked `informers` for, or that
    has not synced: nothing is watched because somebody read it, and an answer that
    might be "not yet" is none.
    """

    def __init__(self, server: KubeClient, informers: Informers) -> None:
        """server: for the writes; its own reads are uncached."""
        self.server = server
        self._informers = informers

    def get(
        self, resource: ApiResource, key: ObjectKey, *, metadata_only: bool = False
    ) -> JsonObject:
        """A private copy of an object. Raises NotFoundError, NotCachedError."""
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
        index: tuple[str, str] | None = None,
        limit: int | None = None,
        metadata_only: bool = False,
    ) -> Sequence[JsonObject]:
        """Private copies of objects, sorted by key (`Informer.list`)."""
        informer = self._informer(resource, metadata_only=metadata_only)
        return informer.list(namespace, labels=labels, index=index, limit=limit)

    def send(self, write: Write) -> JsonObject:
        """As the server's, and readers know of it: what is gone is gone for them too.

        The answer of a dry run, or of a subresource that is another kind (a Scale), is
        no state of the object.
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
        # Answered with a Status. The uid is there so that only this object disappears,
        # and not one that was made under its name since.
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
        """As the server's; readers miss what is gone at once.

        What finalizers or a grace period hold is read as it was until the watch tells.
        """
        chosen = self.server.delete_all(what, propagation=propagation, dry_run=dry_run)
        if dry_run or self.server.is_dry_run:
            return chosen
        resource = selection_of(what).resource
        for obj in chosen:
            # The server tells how they were before: Pods end by their own grace period,
            # and other propagations put a finalizer of the server's on.
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
            raise NotCachedError(f"{resource.gvk} has not synced: {found.last_error}")
        return found

    def _caches(self, resource: ApiResource) -> Sequence[Informer]:
        """The informers that must be given a write."""
        # Whole objects and metadata are two caches: a reader of either must see the
        # write.
        found = (
            self._informers.find(resource, metadata_only=one) for one in (False, True)
        )
        return [informer for informer in found if informer is not None]


def _is_live(write: Write, answer: JsonObject) -> bool:
    """Whether an object is still there after the write that it answers.

    A deletion may be answered with the object as it was last (Services, claims). Only
    what finalizers or a grace period hold is still there, and it says so. The write
    that takes the last finalizer off ends the object too.
    """
    if has_ended(answer):
        return False
    return is_held(answer) or write.method != "DELETE"


def _deleted_uid(write: Write, answer: JsonObject) -> str:
    """Whose deletion the server has answered with a Status."""
    stated = (write.body.get("preconditions") or {}).get("uid")
    return str(stated or (answer.get("details") or {}).get("uid") or "")
