"""Computes when an object is reconciled again: back-off by retry class, or the sync
period.

Each object counts its own failures (D7). The class and the count decide, a
`Retry-After` is a lower bound (D4). Rules: R4.1-R4.3.
"""

import random
from collections.abc import Callable

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.reconcile.state.memory import ObjectMemory

# The same as ASO's (R4.1).
_CAP_SECONDS = {RetryClass.FAST: 30.0, RetryClass.SLOW: 180.0}
# Without a sync period: errors that only a change can fix are still retried.
_VERY_SLOW_SECONDS = 3600.0
_JITTER = 0.25
_DOUBLINGS = 10  # 2**10 s is past every cap


@attrs.frozen(eq=False)
class RequeueBackoff:
    """Computes the delays for the objects of one kind; the counts of failures are in
    the objects' memory.

    sync_period_seconds: sync period of the kind; None for never.
    """

    sync_period_seconds: float | None
    _uniform: Callable[[float, float], float] = random.uniform

    def failed(self, memory: ObjectMemory, error: ConditionError) -> float:
        """Return seconds until the next try after one more failure. Rules: R4.1,
        D19.
        """
        # An accepted write resets the failures, but not the failed operations.
        count = max(memory.failures, memory.failed_operations - 1)
        # An Error waits for a person, so the delay does not grow.
        is_error = error.severity == "Error"
        memory.failures = 0 if is_error else memory.failures + 1
        if is_error or error.retry is RetryClass.VERY_SLOW:
            return max(error.after_seconds, self.very_slow())
        ramp = 2.0 ** min(count, _DOUBLINGS)
        return max(error.after_seconds, min(ramp, _CAP_SECONDS[error.retry]))

    def resync(self, period_seconds: float | None) -> float | None:
        """Return the seconds until a Ready object is synced again; None for never.

        period_seconds: the object's own period, or the kind's.
        """
        if period_seconds is None:
            return None
        return max(self._jittered(period_seconds), 1.0)

    def very_slow(self) -> float:
        """Return seconds until the retry of an error that only a change can fix: the
        sync period, or an hour.
        """
        return self._jittered(self.sync_period_seconds or _VERY_SLOW_SECONDS)

    def _jittered(self, seconds: float) -> float:
        # The jitter spreads the load of a restart over half the period.
        return seconds * self._uniform(1 - _JITTER, 1 + _JITTER)
