"""What a Namespace's annotations say, for the objects that inherit it."""

from collections.abc import Mapping
from typing import Protocol

from asoreconcile.cache.entry import Entry
from asoreconcile.errors import RetryError
from asoreconcile.objects import ObjectKey

_AGAIN_SECONDS = 0.1


class Headers(Protocol):
    """The Namespaces in the cluster (`cache.informer.Informer`)."""

    def has_synced(self) -> bool:
        """True once the cache holds the first list."""

    def entry(self, key: ObjectKey) -> Entry | None:
        """The Namespace's metadata, or None if there is none."""


class NamespaceAnnotations:
    """name -> annotations, for `SharedDependencies`. From any thread."""

    def __init__(self, headers: Headers) -> None:
        self._headers = headers

    def __call__(self, namespace: str) -> Mapping[str, str]:
        """None while Namespaces cannot be listed: the defaults count then.

        Raises RetryError for one that is not cached yet. Watches have no order among
        them, and one that was made with its objects may say that they are skipped.
        """
        entry = self._headers.entry(ObjectKey("", namespace))
        if entry is not None:
            return entry.annotations
        if self._headers.has_synced():
            message = f"namespace {namespace} is not known yet"
            raise RetryError(message, after_seconds=_AGAIN_SECONDS)
        return {}
