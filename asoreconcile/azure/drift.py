"""Whether a resource that is in order needs a PUT at its sync (D11). Pure.

ASO puts every resource at every sync, and so do we by default (`SyncMode`).
Told so, the sync reads: what Azure has is compared with what would be put, and a PUT
goes out only for differences that no PUT has failed to mend before.
"""

from collections.abc import Iterable, Sequence

import attrs

from asoreconcile.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.decisions import (
    Decision,
    Effect,
    EmitEvent,
    Fail,
    Follows,
    Log,
    Put,
    Read,
    SetMetadata,
    UpdateMemory,
)
from asoreconcile.azure.differences import Difference
from asoreconcile.azure.drift_baseline import OBSERVED, DriftBaseline, marks
from asoreconcile.azure.repair_attempts import RepairAttempts
from asoreconcile.azure.sync_mode import SyncMode
from asoreconcile.objects import JsonObject, dig

PERSISTENT = "PersistentDrift"
# More would be a fight: a PUT with each sync, and each time somebody undoes it.
_MOST_REPAIRS = 3
_SHOWN_PATHS = 10
_AT_REST = frozenset({"succeeded", "failed", "canceled", "cancelled"})


@attrs.frozen
class SyncFacts:
    """What is known at the sync of a resource in order that is looked at first.

    mode: COMPARE or REPORT. put: the fingerprint of the PUT. observed: what is kept of
    the last one. have: the resource; None where it is not there, or another PUT was the
    last. found: how it differs. repair_attempts: what was put for before.
    """

    mode: SyncMode
    put: str
    observed: DriftBaseline | None
    have: JsonObject | None = attrs.field(repr=False)
    found: Sequence[Difference]
    repair_attempts: RepairAttempts


def at_sync(facts: SyncFacts, put: Put) -> Decision:
    """PUT, or go by what was read, if a PUT would change nothing.

    Fails with `PersistentDrift` when somebody undoes each PUT.
    """
    observed, have = facts.observed, facts.have
    # Another body than the one put last: an edit, which needs no comparison.
    if observed is not None and observed.put != facts.put:
        return Decision((UpdateMemory(repair_attempts=RepairAttempts()),), put)
    if have is None:
        return Decision((), put)
    read = Read(Follows.PUT, have)
    state = dig(have, "properties.provisioningState")
    if state and str(state).lower() not in _AT_REST:
        # In transition: nothing can be said, the next sync looks again.
        return Decision((), read)
    known = frozenset() if observed is None else observed.known
    unknown = [one for one in facts.found if not marks([one]) <= known]
    if observed is None and all(one.kind == "absent" for one in unknown):
        # A value that is never shown: ours went there with the PUT that made us Ready.
        known, unknown = marks(unknown), []
    if unknown and facts.mode is SyncMode.COMPARE:
        return _repair(facts, unknown, put)
    if unknown:
        text = f"Azure differs {_at(unknown)}; left as it is"
        return Decision((EmitEvent("Warning", "Drift", text),), read)
    note = SetMetadata({OBSERVED: DriftBaseline(facts.put, known).dumps()})
    return Decision((UpdateMemory(repair_attempts=RepairAttempts()), note), read)


def _repair(facts: SyncFacts, unknown: Sequence[Difference], put: Put) -> Decision:
    attempts = facts.repair_attempts.started(marks(unknown))
    counted = UpdateMemory(repair_attempts=attempts)
    if attempts.max_attempts() > _MOST_REPAIRS:
        error = ConditionError(
            f"somebody changes the resource back after each sync {_at(unknown)}: it is "
            "left as it is until the spec says the same, or the other one stops",
            reason=PERSISTENT,
            retry=RetryClass.VERY_SLOW,
        )
        return Decision((counted,), Fail(error))
    where = _at(unknown)
    log = Log("warning", "Azure differs from the spec; putting again", where)
    event = EmitEvent("Warning", "Drift", f"Azure differs {where}; it is put again")
    return Decision((counted, log, event), put)


def after_repair(
    repair_attempts: RepairAttempts,
    observed: DriftBaseline,
    found: Iterable[Difference],
) -> tuple[Effect, ...]:
    """After a PUT that was to mend differences: remember those that it left.

    They are not put for again, until the spec changes or they do. found: how the
    resource differs now.
    """
    left = [one for one in found if marks([one]) <= repair_attempts.pending]
    finished = UpdateMemory(repair_attempts=repair_attempts.finished(marks(left)))
    if not left:
        return (finished,)
    known = DriftBaseline(observed.put, observed.known | marks(left))
    text = (
        f"Azure accepts the spec and keeps other values {_at(left)}: they are not put "
        "again"
    )
    event = EmitEvent("Warning", "ValueNotHonoured", text)
    return finished, SetMetadata({OBSERVED: known.dumps()}), event


def _at(found: Iterable[Difference]) -> str:
    paths = [one.path for one in found]
    more = f" and {len(paths) - _SHOWN_PATHS} more" if len(paths) > _SHOWN_PATHS else ""
    return f"at {', '.join(paths[:_SHOWN_PATHS])}{more}"
