"""Typed clients: take a resource class in place of a kind, and return its objects.

    site = app.client.get(Website, ObjectKey("default", "shop"))
    app.client.update(site, lambda site: setattr(site.spec, "replicas", 3))

With a kind (`ApiResource`) every method takes and returns dicts, as in the untyped
client.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar, overload

from asoreconcile.base.objects import JsonObject, ObjectKey, copy_json, resource_version
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
from asoreconcile.resources.decoded import DecodedList, Decoding
from asoreconcile.resources.typed_kind import HasMetadata, TypedKind, kind_of

T = TypeVar("T", bound=HasMetadata)


class TypedWrites(Writes):
    """The verbs of `Writes`, also for resource classes."""

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
        """Create an object in the namespace it names. As `Writes.create`.

        Raises ValueError for a typed object of a namespaced kind without a namespace.
        """
        if isinstance(resource, ApiResource):
            return super().create(resource, obj, **options)
        kind: TypedKind[Any] = kind_of(resource)
        if kind.resource.namespaced and not obj.metadata.namespace:
            raise ValueError(
                f"{resource.__name__} {obj.metadata.name} has no namespace, and its "
                "kind is namespaced: set metadata.namespace"
            )
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
        """Replace an object, at its resource version. As `Writes.replace`.

        Raises ValueError for a typed object that lacks fields of the one that was read
        (`TypedKind.encode_whole`).
        """
        if isinstance(resource, ApiResource):
            return super().replace(resource, obj, **options)
        kind: TypedKind[Any] = kind_of(resource)
        if _is_other_kind(options):
            return super().replace(kind.resource, obj, **options)
        whole = kind.encode_whole(obj)
        return kind.decode(super().replace(kind.resource, whole, **options))

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
        """Patch an object with a dict; `update` computes one. As `Writes.patch`."""
        if isinstance(resource, ApiResource):
            return super().patch(resource, key, body, **options)
        kind: TypedKind[Any] = kind_of(resource)
        answer = super().patch(kind.resource, key, body, **options)
        return answer if _is_other_kind(options) else kind.decode(answer)

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
        """Delete an object. As `Writes.delete`; the result is a dict for classes too,
        as it is often a Status.
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

    def update(self, obj: T, change: Callable[[T], T | bool | None]) -> T:
        """Change an object with `change` and patch the differences; returns the
        resulting object.

        obj: the object as read; it is not changed. change: gets a copy, and changes it
        in place or returns another one; a bool, as helpers return it, is ignored. The
        differences are sent as a merge patch for
        that resource version, and another for the status subresource; as JSON patches
        if a field becomes null. Nothing is sent if nothing differs.

        Raises ConflictError if the object has changed since, NotFoundError if it is
        gone, ValueError if it was not read from a server.
        """
        return self.update_outcome(obj, change)[1]

    def update_outcome(
        self, obj: T, change: Callable[[T], T | bool | None]
    ) -> tuple[OperationResult, T]:
        """Change an object as `update` does. Also return the action taken."""
        if not obj.metadata.resource_version:
            raise ValueError(f"{obj.metadata.key} was not read: create it")
        kind: TypedKind[T] = kind_of(type(obj))
        done, written = patch_object(
            self,
            kind.resource,
            kind.encode(obj),
            lambda document: _become(kind, document, document, change),
            has_status=kind.has_status,
            keeps_nulls=True,
        )
        return done, kind.decode(copy_json(written))

    def create_or_update(
        self, obj: T, change: Callable[[T], T | bool | None]
    ) -> tuple[OperationResult, T]:
        """Create the object, or change the existing one with `change`.

        obj: created, after `change`, if no object has its key. Otherwise as `update`.
        Raises AlreadyExistsError if another writer was faster.
        """
        kind: TypedKind[T] = kind_of(type(obj))
        new = kind.encode(obj)

        def fill(document: JsonObject) -> None:
            # It does not exist yet: the new object starts from the caller's, without
            # server-set fields.
            start = document if resource_version(document) else new
            _become(kind, document, start, change)

        done, written = create_or_patch(
            self,
            kind.resource,
            obj.metadata.key,
            fill,
            has_status=kind.has_status,
            keeps_nulls=True,
        )
        return done, kind.decode(copy_json(written))

    @abstractmethod
    def get(self, resource: Any, key: ObjectKey) -> Any:
        """Return the object; raises NotFoundError if there is none."""


class TypedClient(TypedWrites, KubeClient):
    """`KubeClient`, also for resource classes. Safe from any thread; share it."""

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
    def get(
        self,
        resource: type[T],
        key: ObjectKey,
        *,
        subresource: Literal["", "status"] = "",
    ) -> T: ...
    @overload
    def get(
        self, resource: type[T], key: ObjectKey, *, subresource: Literal["scale"]
    ) -> JsonObject: ...
    def get(self, resource: Any, key: ObjectKey, **options: Any) -> Any:
        """Return one object, read from the server. As `KubeClient.get`.

        A subresource of another kind (`scale` is a Scale) is a dict. Raises
        ObjectDecodeError for an object that the class cannot hold, TypeError for
        metadata_only with a class, which needs the whole object.
        """
        if isinstance(resource, ApiResource):
            return KubeClient.get(self, resource, key, **options)
        kind: TypedKind[Any] = kind_of(resource)
        if options.get("metadata_only"):
            raise TypeError(
                f"{resource.__name__} is a class, and metadata_only leaves out what it "
                f"needs: give resource_of({resource.__name__})"
            )
        found = KubeClient.get(self, kind.resource, key, **options)
        return found if _is_other_kind(options) else kind.decode(found)

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
        strict: bool = False,
    ) -> Decoding[T]: ...
    def list_all(
        self,
        what: Any,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = 500,
        strict: bool = False,
    ) -> Iterator[Any]:
        """Return the objects of a list, read page by page. As `KubeClient.list_all`.

        namespace, label_selector, field_selector, strict: only with a class; for a kind
        use a `Selection`. An object that does not fit the class is left out, and is in
        `unreadable` of the result. strict: raise ObjectDecodeError instead, for
        decisions about absence.
        """
        if isinstance(what, ApiResource | Selection):
            return super().list_all(what, page_size=page_size)
        kind: TypedKind[Any] = kind_of(what)
        selection = Selection(
            kind.resource,
            namespace,
            label_selector=label_selector,
            field_selector=field_selector,
        )
        found = super().list_all(selection, page_size=page_size)
        return Decoding(kind, found, strict=strict)


class TypedCachedClient(TypedWrites, CachedClient):
    """`CachedClient`, also for resource classes. Safe from any thread; only writes
    block.
    """

    @overload
    def get(
        self, resource: ApiResource, key: ObjectKey, *, metadata_only: bool = False
    ) -> JsonObject: ...
    @overload
    def get(self, resource: type[T], key: ObjectKey) -> T: ...
    def get(self, resource: Any, key: ObjectKey, **options: Any) -> Any:
        """Return a private copy of an object from the cache. As `CachedClient.get`.

        Raises ObjectDecodeError for an object that the class cannot hold.
        """
        if isinstance(resource, ApiResource):
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
        label_selector: str = "",
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
        label_selector: str = "",
        index: tuple[str, str] | None = None,
        limit: int | None = None,
        strict: bool = False,
    ) -> DecodedList[T]: ...
    def list(
        self, resource: Any, *, strict: bool = False, **options: Any
    ) -> Sequence[Any]:
        """Return private copies of objects from the cache, sorted. As
        `CachedClient.list`.

        An object that does not fit the class is left out, and is in `unreadable` of the
        result. strict: raise ObjectDecodeError instead, for decisions about absence.
        """
        if isinstance(resource, ApiResource):
            return super().list(resource, **options)
        kind: TypedKind[Any] = kind_of(resource)
        found = super().list(kind.resource, **options)
        return DecodedList(kind, found, strict=strict)


def _become(
    kind: TypedKind[T],
    document: JsonObject,
    start: JsonObject,
    change: Callable[[T], T | bool | None],
) -> None:
    """Apply `change` to the typed form of `start`, and write the result into a
    document.
    """
    from asoreconcile.resources.unknown_fields import carry_unknown

    obj = kind.decode(copy_json(start))
    changed = change(obj)
    # Helpers such as `add_finalizer` return whether they changed the object.
    if changed is None or isinstance(changed, bool):
        changed = obj
    elif not isinstance(changed, kind.cls):
        raise TypeError(
            f"the change returned {type(changed).__name__}: it must change the "
            f"{kind.cls.__name__} that it gets and return None, or return another one"
        )
    made = kind.encode(changed)
    carry_unknown(kind.cls, start, made)
    document.clear()
    document.update(made)


def _is_other_kind(options: Mapping[str, Any]) -> bool:
    """Return whether a request is about a subresource with a kind of its own."""
    return options.get("subresource", "") not in ("", "status")


def _resource(what: ApiResource | type) -> ApiResource:
    return what if isinstance(what, ApiResource) else kind_of(what).resource
