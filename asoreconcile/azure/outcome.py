"""How a step of a reconcile ended, and so what happens next."""

import attrs

# Long enough to be a delay, too short to be one: the next reconcile runs at once, and
# the queue may serve others in between.
AT_ONCE_SECONDS = 0.001
# Above what waits for its first reconcile: what is begun is finished before more is
# begun, or many objects applied at once would all be late by the time of marking them
# all.
BEGUN_PRIORITY = 1
# Before a lost operation is begun again: Azure may lose the next one too.
LOST_SECONDS = 5.0


@attrs.frozen
class Succeeded:
    """The object is as wanted: Ready becomes True, the next look is the resync."""


@attrs.frozen
class Requeue:
    """Something is under way: look again after a delay. Ready stays as the step left
    it.

    priority: of that look; None keeps the one this reconcile was queued with.
    """

    after_seconds: float = AT_ONCE_SECONDS
    priority: int | None = None


@attrs.frozen
class Stop:
    """Nothing is left to do: the object is not ours, or gone."""


Outcome = Succeeded | Requeue | Stop
