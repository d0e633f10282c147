"""Where a controller's events come from; `cache.informer.Informer` is one."""

from typing import Protocol

from asoreconcile.cache.events import EventHandler


class Registration(Protocol):
    """A handler that was added to a source."""

    def has_synced(self) -> bool:
        """Whether the handler has returned from every event of the first list."""

    def remove(self) -> None:
        """Remove the handler: nothing more is delivered to it."""


class Source(Protocol):
    """Delivers the events of one kind. Someone else starts and stops it."""

    def add_handler(
        self, handler: EventHandler, *, resync_seconds: float = 0.0
    ) -> Registration:
        """Deliver what is there now as `Added(initial=True)`, then every change.

        resync_seconds: how often to deliver everything again; 0 is never.
        """

    def has_synced(self) -> bool:
        """Whether the first list is in the cache."""
