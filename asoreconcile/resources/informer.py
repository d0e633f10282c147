"""A cached kind, read as objects of its class."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from asoreconcile.cache.entry import Entry
from asoreconcile.cache.informer import Informer
from asoreconcile.kube.resources import ApiResource
from asoreconcile.objects import ObjectKey
from asoreconcile.resources.typed_kind import HasMetadata, kind_of

T = TypeVar("T", bound=HasMetadata)


class TypedInformer(Generic[T]):
    """`Informer`, whose objects are of a class. Safe from any thread; never blocks.

    The cache holds what it holds for everybody; an object is made when it is asked
    for. `untyped` takes handlers and tells how it is.
    """

    def __init__(self, cls: type[T], untyped: Informer) -> None:
        """untyped: of the kind that the class stands for."""
        self.cls = cls
        self.untyped = untyped
        self._kind = kind_of(cls)

    @property
    def resource(self) -> ApiResource:
        """The kind, as the REST API addresses it."""
        return self._kind.resource

    def get(self, key: ObjectKey) -> T | None:
        """An object of your own, never older than our own last write to it.

        Raises ObjectDecodeError for one that the class cannot hold, NotCachedError for
        a namespace that is not watched.
        """
        found = self.untyped.get(key)
        return None if found is None else self._kind.decode(found)

    def list(
        self,
        namespace: str | None = None,
        *,
        labels: Mapping[str, str] | None = None,
        index: tuple[str, str] | None = None,
        limit: int | None = None,
    ) -> Sequence[T]:
        """Objects of your own, sorted by key. As `Informer.list`."""
        found = self.untyped.list(namespace, labels=labels, index=index, limit=limit)
        return [self._kind.decode(one) for one in found]

    def entry(self, key: ObjectKey) -> Entry | None:
        """The header of an object: labels and the like, nothing parsed."""
        return self.untyped.entry(key)

    def keys(self, namespace: str | None = None) -> Sequence[ObjectKey]:
        """Sorted; with objects of ours that the watch has not delivered yet."""
        return self.untyped.keys(namespace)

    def add_index(self, name: str, function: Callable[[T], Iterable[str]]) -> None:
        """Index what is there and all that comes, by values of an object.

        function: runs on the watch thread; what it raises is the kind's trouble.
        """
        decode = self._kind.decode
        self.untyped.add_index(name, lambda entry: function(decode(entry.load())))

    def by_index(self, name: str, value: str) -> Sequence[ObjectKey]:
        """The keys that an index gives a value, sorted, our own writes included."""
        return self.untyped.by_index(name, value)

    def has_synced(self) -> bool:
        """Whether the first state is in the cache."""
        return self.untyped.has_synced()
