"""Annotations of a Namespace that its objects inherit, cached or as they are now.

A Namespace may forbid to write its objects' resources, or to delete them. If the
Namespace cannot be read, the reconcile waits.
"""

from collections.abc import Mapping

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations, bounded
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import ObjectKey
from asoreconcile.base.single_flight import SingleFlight
from asoreconcile.cache.informer import Informer
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import ApiError, TransportError
from asoreconcile.kube.resources import NAMESPACES

_AGAIN_SECONDS = 0.1


@attrs.frozen
class _Read:
    """A read of a Namespace that is under way.

    began: `Clock.monotonic` seconds.
    """

    annotations: Mapping[str, str]
    began: float


class NamespaceAnnotations:
    """Annotations by the name of a Namespace, for `SharedDependencies`. Safe from any
    thread.
    """

    def __init__(self, cache: Informer, reader: KubeClient, clock: Clock) -> None:
        self._cache = cache
        self._reader = reader
        self._clock = clock
        self._reads: SingleFlight[str, _Read] = SingleFlight()

    def __call__(self, namespace: str) -> Mapping[str, str]:
        """Return the annotations from the cache; from the server if there is no cache.

        Raises RetryError for a Namespace that is not cached yet: watches are not
        ordered among each other, and a new Namespace may set the policy `skip` for its
        objects. Raises ConditionError `NamespaceUnreadable` if there is no cache and
        the server does not answer.
        """
        entry = self._cache.entry(ObjectKey("", namespace))
        if entry is not None:
            return bounded(entry.annotations)
        if self._cache.has_synced():
            message = f"namespace {namespace} is not known yet"
            raise RetryError(message, after_seconds=_AGAIN_SECONDS)
        return self.live(namespace, since=self._clock.monotonic())

    def live(self, namespace: str, *, since: float) -> Mapping[str, str]:
        """Return the annotations from the API server, and give the answer to the cache.

        since: the earliest time in `Clock.monotonic` seconds at which the read may have
        begun. Concurrent callers share a read. Blocking; raises ConditionError
        `NamespaceUnreadable` if the server does not answer.
        """
        while True:
            read = self._reads.do(namespace, lambda: self._read(namespace))
            # A read that was under way before may be older than the caller's facts.
            if read.began >= since:
                return read.annotations

    def _read(self, namespace: str) -> _Read:
        began = self._clock.monotonic()
        try:
            found = self._reader.get(NAMESPACES, ObjectKey("", namespace))
        except (ApiError, TransportError) as error:
            raise ConditionError(
                f"Namespace {namespace} cannot be read, and its annotations may forbid "
                f"to change or delete the resource, so nothing is sent to Azure: "
                f"{error}. The operator needs the permission to get, list and watch "
                "namespaces",
                reason="NamespaceUnreadable",
                retry=RetryClass.FAST,
            ) from error
        self._cache.record_write(found)
        return _Read(annotations(found), began)
