"""A kind's former controller on its way out: its last reconciles take their time.

Two reconciles of one object at once would PUT against each other, and the second would
know nothing of what the first has begun. So the controller that follows waits here; how
long already, and for which objects, is in the log, in `/readyz?verbose` and a metric.
"""

from asoreconcile.clock import Clock
from asoreconcile.log import Logger
from asoreconcile.objects import GroupKind
from asoreconcile.runtime.controller import Controller

_log = Logger(__name__)
_REPORT_SECONDS = 30.0


class HandOver:
    """A former controller of a kind, and since when it is waited for.

    Safe from any thread.
    """

    def __init__(
        self, group_kind: GroupKind, controller: Controller, *, clock: Clock
    ) -> None:
        """controller: retired already."""
        self.group_kind = group_kind
        self.controller = controller
        self._clock = clock
        self._since = clock.monotonic()
        self.watched = False
        """Whether somebody waits for it."""

    @property
    def seconds(self) -> float:
        """The seconds that it has taken so far."""
        return self._clock.monotonic() - self._since

    def running(self) -> list[str]:
        """What has not ended, as `controller namespace/name (12.3 s)`; blocks for
        nothing.
        """
        return self.controller.wait_until_ended(0)

    def wait(self) -> None:
        """Block until nothing of the controller runs; says so twice a minute."""
        while running := self.controller.wait_until_ended(_REPORT_SECONDS):
            _log.warning(
                "A kind waits for its last reconcile",
                kind=str(self.group_kind),
                running=running,
                seconds=round(self.seconds, 1),
            )
        _log.info(
            "The last reconcile has ended",
            kind=str(self.group_kind),
            seconds=round(self.seconds, 1),
        )
