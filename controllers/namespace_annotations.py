"""Annotations of a Namespace that its objects inherit."""

from collections.abc import Mapping
from typing import Protocol

from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import ObjectKey
from asoreconcile.cache.entry import Entry

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

        Raises RetryError for a Namespace that is not cached yet. Watches are not
        ordered among each other, and a new Namespace may set the policy `skip` for its
        objects.
        """
        entry = self._headers.entry(ObjectKey("", namespace))
        if entry is not None:
            return entry.annotations
        if self._headers.has_synced():
            message = f"namespace {namespace} is not known yet"
            raise RetryError(message, after_seconds=_AGAIN_SECONDS)
        return {}
