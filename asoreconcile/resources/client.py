"""Clients that take a class where they take a kind, and answer its objects.

    site = app.client.get(Website, ObjectKey("default", "shop"))
    app.client.update(site, lambda site: setattr(site.spec, "replicas", 3))

With a kind (`ApiResource`) every method is what it was: dicts in, dicts out.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

from asoreconcile.cache.client import CachedClient
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.create_or_patch import (
    OperationResult,
    create_or_patch,
    patch_object,
)
from asoreconcile.kube.resources import ApiResource
from asoreconcile.kube.selection import Selection
from asoreconcile.kube.writes import PatchKind, Writes
from asoreconcile.objects import JsonObject, ObjectKey, copy_json, resource_version
from asoreconcile.resources.typed_kind import HasMetadata, TypedKind, kind_of

T = TypeVar("T", bound=HasMetadata)


class TypedWrites(Writes):
    """The verbs of `Writes`, of classes too."""

    @overload
    def create(
        self,
        resource: ApiResource,
        obj: JsonObject,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> JsonObject: ...
    @overload
    def create(
        self,
        resource: type[T],
        obj: T,
        *,
        field_manager: str = "",
        dry_run: bool = False,
    ) -> T: ...
    def create(self, resource: Any, obj: Any, **options: Any) -> Any:
        """Create an object in the namespace it names. As `Writes.create`."""
        if not isinstance(resource, type):
            return super().create(resource, obj, **options)
        kind: TypedKind[Any] = kind_of(resource)
        return kind.decode(super().create(kind.resource, kind.encode(obj), **options))

    @overload
    def replace(
        self,
        resource: ApiResource,
        obj: JsonObject,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> JsonObject: ...
    @overload
    def replace(
        self,
        resource: type[T],
        obj: T,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> T: ...
    def replace(self, resource: Any, obj: Any, **options: Any) -> Any:
        """Replace an object, on the resource version it holds. As `Writes.replace`."""
        if not isinstance(resource, type):
            return super().replace(resource, obj, **options)
        kind: TypedKind[Any] = kind_of(resource)
        return kind.decode(super().replace(kind.resource, kind.encode(obj), **options))

    @overload
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
    ) -> JsonObject: ...
    @overload
    def patch(
        self,
        resource: type[T],
        key: ObjectKey,
        body: JsonObject | list[JsonObject],
        *,
        kind: PatchKind = "merge",
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> T: ...
    def patch(
        self,
        resource: Any,
        key: ObjectKey,
        body: JsonObject | list[JsonObject],
        **options: Any,
    ) -> Any:
        """Patch an object by a dict; `update` works one out. As `Writes.patch`."""
        if not isinstance(resource, type):
            return super().patch(resource, key, body, **options)
        kind: TypedKind[Any] = kind_of(resource)
        return kind.decode(super().patch(kind.resource, key, body, **options))

    def delete(
        self,
        resource: ApiResource | type,
        key: ObjectKey,
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: str = "",
        grace_seconds: int | None = None,
        dry_run: bool = False,
    ) -> JsonObject:
        """Delete an object. As `Writes.delete`; the answer is a dict for classes too:
        often it is a Status.
        """
        return super().delete(
            _resource(resource),
            key,
            uid=uid,
            resource_version=resource_version,
            propagation=propagation,
            grace_seconds=grace_seconds,
            dry_run=dry_run,
        )

    def update(self, obj: T, change: Callable[[T], T | None]) -> T:
        """Write what `change` makes of an object, if it differs; the object after it.

        obj: as it was read; left as it is. change: gets a copy, and changes it in place
        or answers another one. What differs is one merge patch for that resource
        version, and one of the status by its subresource; nothing where nothing does.

        Raises ConflictError if the object has changed since, NotFoundError if it is
        gone, ValueError for one that no server has answered.
        """
        return self.update_outcome(obj, change)[1]

    def update_outcome(
        self, obj: T, change: Callable[[T], T | None]
    ) -> tuple[OperationResult, T]:
        """As `update`, and what was done."""
        if not obj.metadata.resource_version:
            raise ValueError(f"{obj.metadata.key} was not read: create it")
        kind: TypedKind[T] = kind_of(type(obj))
        done, written = patch_object(
            self,
            kind.resource,
            kind.encode(obj),
            lambda document: _become(kind, document, document, change),
            has_status=kind.has_status,
        )
        return done, kind.decode(copy_json(written))

    def create_or_update(
        self, obj: T, change: Callable[[T], T | None]
    ) -> tuple[OperationResult, T]:
        """Bring an object to what `change` makes of it; make it if it is not there.

        obj: what is made then, once `change` has filled it in; who is there is looked
        for by its key. The rest as `update`. Raises AlreadyExistsError if somebody else
        was faster.
        """
        kind: TypedKind[T] = kind_of(type(obj))
        new = kind.encode(obj)

        def fill(document: JsonObject) -> None:
            # Not there yet: what is made begins with what the caller gave, of which the
            # server has nothing to say.
            start = document if resource_version(document) else new
            _become(kind, document, start, change)

        done, written = create_or_patch(
            self, kind.resource, obj.metadata.key, fill, has_status=kind.has_status
        )
        return done, kind.decode(copy_json(written))

    @abstractmethod
    def get(self, resource: Any, key: ObjectKey) -> Any:
        """The object; raises NotFoundError if there is none."""


class TypedClient(TypedWrites, KubeClient):
    """`KubeClient`, of classes too. Safe from any thread; share it."""

    @overload
    def get(
        self,
        resource: ApiResource,
        key: ObjectKey,
        *,
        subresource: str = "",
        metadata_only: bool = False,
    ) -> JsonObject: ...
    @overload
    def get(self, resource: type[T], key: ObjectKey) -> T: ...
    def get(self, resource: Any, key: ObjectKey, **options: Any) -> Any:
        """One object, read from the server. As `KubeClient.get`.

        Raises ObjectDecodeError for an object that the class cannot hold.
        """
        if not isinstance(resource, type):
            return KubeClient.get(self, resource, key, **options)
        kind: TypedKind[Any] = kind_of(resource)
        return kind.decode(KubeClient.get(self, kind.resource, key, **options))

    @overload
    def list_all(
        self, what: ApiResource | Selection, *, page_size: int = 500
    ) -> Iterator[JsonObject]: ...
    @overload
    def list_all(
        self,
        what: type[T],
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = 500,
    ) -> Iterator[T]: ...
    def list_all(
        self,
        what: Any,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = 500,
    ) -> Iterator[Any]:
        """The objects of a list, read page by page. As `KubeClient.list_all`.

        namespace, selectors: of a class; of a kind a `Selection` says them.
        """
        if not isinstance(what, type):
            return super().list_all(what, page_size=page_size)
        kind: TypedKind[Any] = kind_of(what)
        selection = Selection(
            kind.resource,
            namespace,
            label_selector=label_selector,
            field_selector=field_selector,
        )
        return map(kind.decode, super().list_all(selection, page_size=page_size))


class TypedCachedClient(TypedWrites, CachedClient):
    """`CachedClient`, of classes too. Safe from any thread; only writes block."""

    @overload
    def get(
        self, resource: ApiResource, key: ObjectKey, *, metadata_only: bool = False
    ) -> JsonObject: ...
    @overload
    def get(self, resource: type[T], key: ObjectKey) -> T: ...
    def get(self, resource: Any, key: ObjectKey, **options: Any) -> Any:
        """One object, of your own, from the cache. As `CachedClient.get`.

        Raises ObjectDecodeError for an object that the class cannot hold.
        """
        if not isinstance(resource, type):
            return CachedClient.get(self, resource, key, **options)
        kind: TypedKind[Any] = kind_of(resource)
        return kind.decode(CachedClient.get(self, kind.resource, key, **options))

    @overload
    def list(
        self,
        resource: ApiResource,
        *,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        index: tuple[str, str] | None = None,
        limit: int | None = None,
        metadata_only: bool = False,
    ) -> Sequence[JsonObject]: ...
    @overload
    def list(
        self,
        resource: type[T],
        *,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        index: tuple[str, str] | None = None,
        limit: int | None = None,
    ) -> Sequence[T]: ...
    def list(self, resource: Any, **options: Any) -> Sequence[Any]:
        """Objects of your own from the cache, sorted. As `CachedClient.list`."""
        if not isinstance(resource, type):
            return super().list(resource, **options)
        kind: TypedKind[Any] = kind_of(resource)
        return [kind.decode(one) for one in super().list(kind.resource, **options)]


def _become(
    kind: TypedKind[T],
    document: JsonObject,
    start: JsonObject,
    change: Callable[[T], T | None],
) -> None:
    """Have a document be what `change` makes of the object that `start` is."""
    from asoreconcile.resources.unknown_fields import carry_unknown

    obj = kind.decode(copy_json(start))
    changed = change(obj)
    made = kind.encode(obj if changed is None else changed)
    carry_unknown(kind.cls, start, made)
    document.clear()
    document.update(made)


def _resource(what: ApiResource | type) -> ApiResource:
    return kind_of(what).resource if isinstance(what, type) else what
