"""Waits for the last reconciles of a kind's former controller.

Two concurrent reconciles of one object would send competing PUTs, and the second would
know nothing of what the first began. So the next controller waits here. The log,
`/readyz?verbose` and a metric say for how long and for which objects.
"""

from asoreconcile.base.clock import Clock
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import GroupKind
from asoreconcile.runtime.controller import Controller

_log = Logger(__name__)
_REPORT_SECONDS = 30.0


class HandOver:
    """A former controller of a kind, and the start of the wait.

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
        """The running reconciles, as `controller namespace/name (12.3 s)`; does not
        block.
        """
        return self.controller.wait_until_ended(0)

    def wait(self) -> None:
        """Block until all its reconciles have ended; logs twice a minute."""
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
