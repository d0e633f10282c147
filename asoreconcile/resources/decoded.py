"""Lists of typed objects. An object that does not fit its class is left out, and
recorded.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from asoreconcile.base.objects import JsonObject, key_of
from asoreconcile.cache.unreadable import Unreadable, known_of
from asoreconcile.resources.typed_kind import TypedKind

T = TypeVar("T")


class Decoding(Iterator[T], Generic[T]):
    """Decodes objects one by one.

    unreadable: the objects so far that do not fit the class. They exist: code that
    decides that an object is absent looks at them too, or decodes strictly.
    """

    def __init__(
        self, kind: TypedKind[T], documents: Iterable[JsonObject], *, strict: bool
    ) -> None:
        """strict: whether to raise ObjectDecodeError at the first object that does not
        fit.
        """
        self._kind = kind
        self._documents = iter(documents)
        self._strict = strict
        self.unreadable: list[Unreadable] = []

    def __next__(self) -> T:
        """Return the next object that fits the class."""
        from asoreconcile.resources.codec import ObjectDecodeError

        for document in self._documents:
            try:
                return self._kind.decode(document)
            except ObjectDecodeError as error:
                if self._strict:
                    raise
                self.unreadable.append(unreadable_of(self._kind, document, error))
        raise StopIteration


class DecodedList(list[T]):
    """The objects of a list that fit their class. unreadable: see `Decoding`."""

    def __init__(
        self, kind: TypedKind[T], documents: Iterable[JsonObject], *, strict: bool
    ) -> None:
        """strict: argument of `Decoding`."""
        decoding = Decoding(kind, documents, strict=strict)
        super().__init__(decoding)
        self.unreadable = decoding.unreadable


def unreadable_of(
    kind: TypedKind[Any], document: JsonObject, error: Exception
) -> Unreadable:
    """Describe an object that does not fit its class."""
    known = known_of(document, kind.resource)
    return Unreadable(kind.resource, key_of(document), known, str(error))
