"""Old versions taken out of `status.storedVersions`, once nothing is stored in them.

    storage version moves  ->  each object written anew  ->  the old names are dropped

A CRD must serve every version that its list names, so a list that only grows keeps old
versions for ever. `storage_rewrite` does it, this decides when. The list is written on
the CRD that was read, so of two that do it at once, or after another move, one looks
again.
"""

import threading
from collections.abc import Callable, Iterable

import attrs

from asoreconcile.backoff import ItemExponential
from asoreconcile.catalogue.kinds import Kind
from asoreconcile.clock import Clock
from asoreconcile.controllers.crd_coverage import stored_version
from asoreconcile.controllers.storage_rewrite import (
    SETTLE_SECONDS,
    StorageRewrite,
    listed_versions,
    stored_resource,
)
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import (
    ApiError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    TransportError,
)
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from asoreconcile.log import Logger
from asoreconcile.objects import ObjectKey
from asoreconcile.threads import Threads

_log = Logger(__name__)

_FIRST_RETRY_SECONDS = 10.0
_ROUND_SECONDS = 3600.0


@attrs.frozen
class Definition:
    """A CRD that is there: its name and resource version, and its kind."""

    name: str
    version: str
    kind: Kind


class StoredVersions:
    """A service of the leader. `changed` may be called from any thread."""

    name = "stored versions"

    def __init__(
        self,
        client: KubeClient,
        definitions: Callable[[], Iterable[Definition]],
        *,
        clock: Clock,
        threads: Threads,
        settle_seconds: float = SETTLE_SECONDS,
    ) -> None:
        """definitions: the CRDs that this operator sees to, as a watch has them."""
        self._client = client
        self._definitions = definitions
        self._clock = clock
        self._threads = threads
        self._settle_seconds = settle_seconds
        self._backoff = ItemExponential(
            _FIRST_RETRY_SECONDS, _ROUND_SECONDS, clock=clock
        )
        self._done: dict[str, str] = {}
        self._due: dict[str, float] = {}
        self._seen: dict[str, tuple[str, float]] = {}
        self._is_forbidden = False
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._ended.set()

    def changed(self) -> None:
        """A CRD came or changed."""
        self._wake.set()

    def start(self) -> None:
        """Begin to look, on a thread of its own; returns at once."""
        self._ended.clear()
        self._threads.start(self.name, self._run, stopping=self._stopping)

    def stop(self, timeout_seconds: float) -> list[str]:
        """Stop after the request that is under way; the rest is the next leader's."""
        self._stopping.set()
        self._wake.set()
        ended = self._clock.wait(self._ended, timeout_seconds)
        return [] if ended else [self.name]

    def migrate(self) -> float:
        """Go through the CRDs that changed since the last time. Blocking.

        Returns in how many seconds one of them is to be looked at again.
        """
        now = self._clock.monotonic()
        waits = [_ROUND_SECONDS]
        for definition in self._definitions():
            if self._stopping.is_set():
                break
            if self._done.get(definition.name) == definition.version:
                continue
            due = self._due.get(definition.name, now)
            if due <= now:
                due = now + self._look_at(definition)
                self._due[definition.name] = due
            if due > now:
                waits.append(due - now)
        return min(waits)

    def _run(self) -> None:
        self._ended.clear()
        pause = 0.0
        try:
            while True:
                self._clock.wait(self._wake, pause)
                self._wake.clear()
                if self._stopping.is_set():
                    return
                pause = self.migrate()
        finally:
            self._ended.set()

    def _look_at(self, definition: Definition) -> float:
        """Seconds until it is to be looked at again; 0 once it is in order."""
        name = definition.name
        try:
            wait = self._bring_in_order(definition)
        except NotFoundError:
            wait = 0.0  # it has gone
        except (ForbiddenError, InvalidError) as error:
            # Not worth asking again before the CRD changes; the right that is lacking
            # for one is lacking for all.
            if not (self._is_forbidden and isinstance(error, ForbiddenError)):
                _log.warning("Stored versions stay listed", crd=name, reason=str(error))
            self._is_forbidden |= isinstance(error, ForbiddenError)
            wait = 0.0
        except (ApiError, TransportError) as error:
            wait = self._backoff.delay(name, error)
            _log.info("Stored versions stay listed", crd=name, reason=str(error))
        else:
            self._backoff.forget(name)
        if not wait:
            self._done[name] = definition.version
        return wait

    def _bring_in_order(self, definition: Definition) -> float:
        """As `_look_at`. Raises ApiError, TransportError."""
        key = ObjectKey("", definition.name)
        live = self._client.get(CUSTOM_RESOURCE_DEFINITIONS, key)
        listed, stored = listed_versions(live), stored_version(live)
        if listed == [stored]:
            return 0.0
        known, since = self._seen.get(definition.name, ("", 0.0))
        if known != stored:
            since = self._clock.monotonic()
            self._seen[definition.name] = (stored, since)
        left = since + self._settle_seconds - self._clock.monotonic()
        if left > 0:
            return left
        rewrite = StorageRewrite(self._client, self._stopping.is_set)
        count = rewrite.write_all(stored_resource(live, stored))
        if self._stopping.is_set():
            return _FIRST_RETRY_SECONDS
        now = self._client.get(CUSTOM_RESOURCE_DEFINITIONS, key)
        if (listed_versions(now), stored_version(now)) != (listed, stored):
            return _FIRST_RETRY_SECONDS  # it moved again meanwhile
        if not rewrite.drop(now, stored):
            return _FIRST_RETRY_SECONDS
        dropped = [version for version in listed if version != stored]
        _log.info(
            "Old stored versions dropped",
            crd=definition.name,
            dropped=dropped,
            objects=count,
        )
        return 0.0
