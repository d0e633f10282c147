"""An informer that returns objects of a resource class."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from asoreconcile.base.objects import ObjectKey
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.informer import Informer
from asoreconcile.kube.resources import ApiResource
from asoreconcile.resources.decoded import DecodedList
from asoreconcile.resources.typed_kind import HasMetadata, kind_of

T = TypeVar("T", bound=HasMetadata)


class TypedInformer(Generic[T]):
    """A typed view of an `Informer`. Safe from any thread; never blocks.

    It shares the untyped cache, and decodes an object on each read. Use `untyped` to
    add handlers and read the informer's state.
    """

    def __init__(self, cls: type[T], untyped: Informer) -> None:
        """untyped: the informer of the class's kind."""
        self.cls = cls
        self.untyped = untyped
        self._kind = kind_of(cls)

    @property
    def resource(self) -> ApiResource:
        """The kind, as the REST API addresses it."""
        return self._kind.resource

    def get(self, key: ObjectKey) -> T | None:
        """Return a private copy of an object, never older than this process's last
        write to it.

        Raises ObjectDecodeError if it does not fit the class, NotCachedError for a
        namespace that is not watched.
        """
        found = self.untyped.get(key)
        return None if found is None else self._kind.decode(found)

    def list(
        self,
        namespace: str | None = None,
        *,
        labels: Mapping[str, str] | None = None,
        label_selector: str = "",
        index: tuple[str, str] | None = None,
        limit: int | None = None,
        strict: bool = False,
    ) -> DecodedList[T]:
        """Return private copies of objects, sorted by key. As `Informer.list`.

        An object that does not fit the class is left out, and is in `unreadable` of the
        result. strict: raise ObjectDecodeError instead, for decisions about absence.
        """
        found = self.untyped.list(
            namespace,
            labels=labels,
            label_selector=label_selector,
            index=index,
            limit=limit,
        )
        return DecodedList(self._kind, found, strict=strict)

    def entry(self, key: ObjectKey) -> Entry | None:
        """Return the cache entry of an object, with labels and other header fields,
        without decoding.
        """
        return self.untyped.entry(key)

    def keys(self, namespace: str | None = None) -> Sequence[ObjectKey]:
        """Return the keys, sorted; including objects we wrote that the watch has not
        delivered yet.
        """
        return self.untyped.keys(namespace)

    def add_index(self, name: str, function: Callable[[T], Iterable[str]]) -> None:
        """Add an index by values of the typed object.

        function: runs on the watch thread; if it raises, the object has no index
        values.
        """
        decode = self._kind.decode
        self.untyped.add_index(name, lambda entry: function(decode(entry.deep_copy())))

    def by_index(self, name: str, value: str) -> Sequence[ObjectKey]:
        """Return the keys with this index value, sorted, including our own writes."""
        return self.untyped.by_index(name, value)

    def has_synced(self) -> bool:
        """Return whether the initial list is in the cache."""
        return self.untyped.has_synced()
