"""What a queue counts for its metrics, kept as plain numbers under the queue's lock."""

from types import MappingProxyType

from asoreconcile.metrics import QueueSnapshot

_MAX_PRIORITIES = 25
_OTHERS = "exceeded_cardinality_limit"


class Tally:
    """Depth by priority, adds, retries: changed at the moments of the metric table.

    The first 25 priorities have a label each, the others share one.
    """

    def __init__(self) -> None:
        self._depth: dict[int, int] = {}
        self._others = 0
        self.adds = 0
        self.retries = 0

    def entered(self, priority: int) -> None:
        """A key became ready."""
        self.adds += 1
        if priority in self._depth:
            self._depth[priority] += 1
        else:
            self._change(priority, 1)

    def left(self, priority: int) -> None:
        """A key was taken, or a ready key was put off."""
        if priority in self._depth:
            self._depth[priority] -= 1
        else:
            self._change(priority, -1)

    def moved(self, old: int, new: int) -> None:
        """A ready key's priority rose."""
        self._change(old, -1)
        self._change(new, 1)

    def snapshot(self, ages: list[float]) -> QueueSnapshot:
        """ages: of the keys being processed, in seconds."""
        depth = {str(priority): count for priority, count in self._depth.items()}
        if len(depth) == _MAX_PRIORITIES:
            depth[_OTHERS] = self._others
        return QueueSnapshot(
            depth=MappingProxyType(depth),
            adds=self.adds,
            retries=self.retries,
            unfinished_seconds=sum(ages),
            longest_seconds=max(ages, default=0.0),
        )

    def _change(self, priority: int, by: int) -> None:
        depth = self._depth
        if priority in depth:
            depth[priority] += by
        elif len(depth) < _MAX_PRIORITIES:
            depth[priority] = by
        else:
            self._others += by
