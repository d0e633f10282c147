"""Watch events for an informer's handlers: an object was added, updated or deleted."""

from collections.abc import Callable

import attrs

from asoreconcile.base.objects import ObjectKey
from asoreconcile.cache.entry import Entry


@attrs.frozen
class Added:
    """An object that is new in the cache. initial: it came with the initial list."""

    entry: Entry
    initial: bool = False

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return self.entry.key


@attrs.frozen
class Updated:
    """An object that changed; equal resource versions mean a resync."""

    old: Entry
    new: Entry

    @property
    def key(self) -> ObjectKey:
        """Namespace and name, which are the same before and after."""
        return self.new.key


@attrs.frozen
class Deleted:
    """An object that was deleted.

    entry: the last state known. observed: False if the deletion fell into a gap of the
    watch, so that its final state is unknown (IN-4): client-go's tombstone,
    `DeletedFinalStateUnknown`.
    """

    entry: Entry
    observed: bool = True

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return self.entry.key


Event = Added | Updated | Deleted
EventHandler = Callable[[Event], None]
