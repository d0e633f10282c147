"""Reads from informers, writes to the server, and no read older than an own write.

Rules: CA-1, CA-4, CL-1, D21.
"""

from collections.abc import Mapping, Sequence

from asoreconcile.cache.informer import Informer, NotCachedError
from asoreconcile.cache.informers import Informers
from asoreconcile.kube.client import KubeClient, PatchKind
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.resources import ApiResource
from asoreconcile.objects import JsonObject, ObjectKey, metadata, uid_of


class CachedClient:
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

    def create(
        self,
        resource: ApiResource,
        obj: JsonObject,
        *,
        field_manager: str = "",
        dry_run: bool = False,
    ) -> JsonObject:
        answer = self.server.create(
            resource, obj, field_manager=field_manager, dry_run=dry_run
        )
        return self._recorded(resource, answer, dry_run=dry_run)

    def replace(
        self,
        resource: ApiResource,
        obj: JsonObject,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> JsonObject:
        answer = self.server.replace(
            resource,
            obj,
            subresource=subresource,
            field_manager=field_manager,
            dry_run=dry_run,
        )
        return self._recorded(resource, answer, dry_run=dry_run)

    def patch(
        self,
        resource: ApiResource,
        key: ObjectKey,
        body: JsonObject,
        *,
        kind: PatchKind = "merge",
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> JsonObject:
        answer = self.server.patch(
            resource,
            key,
            body,
            kind=kind,
            subresource=subresource,
            field_manager=field_manager,
            force=force,
            dry_run=dry_run,
        )
        return self._recorded(resource, answer, dry_run=dry_run)

    def delete(
        self,
        resource: ApiResource,
        key: ObjectKey,
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: str = "",
        dry_run: bool = False,
    ) -> JsonObject:
        """As `KubeClient.delete`; an object that is gone is gone for readers too."""
        answer = self.server.delete(
            resource,
            key,
            uid=uid,
            resource_version=resource_version,
            propagation=propagation,
            dry_run=dry_run,
        )
        if metadata(answer).get("name"):
            return self._recorded(resource, answer, dry_run=dry_run)
        details = answer.get("details") or {}
        if not dry_run and not self.server.is_dry_run:
            for informer in self._caches(resource):
                informer.record_deletion(key, uid or str(details.get("uid") or ""))
        return answer

    def _recorded(
        self, resource: ApiResource, answer: JsonObject, *, dry_run: bool = False
    ) -> JsonObject:
        # The answer of a subresource may be another kind (a Scale).
        is_whole = answer.get("kind") == resource.kind and uid_of(answer)
        if is_whole and not dry_run and not self.server.is_dry_run:
            for informer in self._caches(resource):
                informer.record_write(answer)
        return answer

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
        """The informers that a write must be told to."""
        found = (
            self._informers.find(resource, metadata_only=one) for one in (False, True)
        )
        return [informer for informer in found if informer is not None]
