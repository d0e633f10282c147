"""Whether a resource that is in order needs a PUT at its sync (D11). Pure.

ASO puts every resource at every sync. By default we read: what Azure has is compared
with what would be put and with a snapshot of what it had, and a PUT goes out only for
differences that no PUT has failed to mend before (`SyncMode`).
"""

from collections.abc import Sequence

import attrs

from asoreconcile.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.decisions import (
    CountSync,
    Decision,
    Effect,
    EmitEvent,
    Fail,
    Follows,
    Log,
    Put,
    Read,
    SetDrifted,
    SetMetadata,
    UpdateMemory,
)
from asoreconcile.azure.differences import Difference
from asoreconcile.azure.drift_baseline import (
    OBSERVED,
    DriftBaseline,
    confirmed,
    extras,
    mark_of,
    marks,
    unconfirmed,
)
from asoreconcile.azure.repair_attempts import RepairAttempts
from asoreconcile.azure.snapshot import is_comparable
from asoreconcile.azure.sync_mode import SyncMode, Undeclared
from asoreconcile.objects import JsonObject, dig

PERSISTENT = "PersistentDrift"
# More would be a fight: a PUT with each sync, and each time somebody undoes it.
_MOST_REPAIRS = 3
_SHOWN_PATHS = 10
# A snapshot that is like no other, of a resource that never was as declared.
_UNSETTLED = "-"
# Stands in the repair attempts for all that nobody declared.
_UNDECLARED = "undeclared"
# A provider's words for an operation that runs; any other, such as Ready or Enabled, is
# one that a resource may rest in.
_MOVING = frozenset({"accepted", "inprogress", "pending", "queued", "notstarted"})
_RESTING = frozenset({"running"})


@attrs.frozen
class SyncFacts:
    """What is known at the sync of a resource in order that is looked at first.

    mode: COMPARE or REPORT. put: the fingerprint of the PUT. observed: what is kept of
    the last one. have: the resource; None where it is not there, or another PUT was the
    last. found: how it differs. rest: its snapshot. spec: the fingerprint of what the
    PUT is made of. is_forced: a PUT is due whatever is found. changed: where the status
    that is stored says something else than what was read.
    repair_attempts: what was put for before.
    """

    mode: SyncMode
    put: str
    observed: DriftBaseline | None
    have: JsonObject | None = attrs.field(repr=False)
    found: Sequence[Difference]
    repair_attempts: RepairAttempts
    rest: str = ""
    spec: str = ""
    is_forced: bool = False
    undeclared: Undeclared = Undeclared.PUT
    changed: Sequence[str] = ()


def at_sync(facts: SyncFacts, put: Put) -> Decision:
    """PUT, or go by what was read, if a PUT would change nothing.

    Fails with `PersistentDrift` when somebody undoes each PUT.
    """
    observed, have = facts.observed, facts.have
    # Another body than the one put last: an edit, which needs no comparison.
    if observed is not None and observed.put != facts.put:
        forgotten = UpdateMemory(repair_attempts=RepairAttempts())
        return Decision((forgotten, CountSync("changed", is_put=True)), put)
    if have is None:
        return Decision((CountSync("gone", is_put=True),), put)
    read = Read(Follows.PUT, have)
    if is_moving(have):
        # In transition: nothing can be said, the next sync looks again.
        return Decision((CountSync("moving"),), read)
    if facts.is_forced and facts.mode is SyncMode.COMPARE:
        return Decision((CountSync("forced", is_put=True),), put)
    before = observed or DriftBaseline(facts.put)
    known = before.known
    if not before.rest:
        # Values that are never shown: ours went there with the PUT that made us Ready.
        # Once it was looked at, one that is not shown any more has gone.
        known |= marks(one for one in facts.found if one.kind == "absent")
    open_ = [one for one in facts.found if mark_of(one) not in known]
    # What Azure had added, and has no more: only that it was there is known.
    vanished = extras(confirmed(known)) - marks(facts.found)
    learnt = attrs.evolve(before, known=known, spec=facts.spec)
    if open_ or vanished:
        if facts.mode is SyncMode.COMPARE:
            return _repair(facts, learnt, open_, vanished, put)
        return Decision(_report(facts, learnt, open_, vanished), read)
    if is_comparable(before.rest, facts.rest) and before.rest != facts.rest:
        return _undeclared(facts, learnt, put, read)
    return Decision((*_in_order(facts, learnt), CountSync("unchanged")), read)


def is_moving(have: JsonObject) -> bool:
    """Whether a resource is in transition, so that nothing can be said of it."""
    state = str(dig(have, "properties.provisioningState") or "").lower()
    return state in _MOVING or (state.endswith("ing") and state not in _RESTING)


def _in_order(facts: SyncFacts, learnt: DriftBaseline) -> tuple[Effect, ...]:
    # What the PUT left has settled by itself, if it is gone; else it is in `found`.
    note = attrs.evolve(learnt, known=confirmed(learnt.known), rest=facts.rest)
    return (
        UpdateMemory(repair_attempts=RepairAttempts()),
        SetMetadata({OBSERVED: note.dumps()}),
    )


def _repair(
    facts: SyncFacts,
    learnt: DriftBaseline,
    open_: Sequence[Difference],
    vanished: frozenset[str],
    put: Put,
) -> Decision:
    attempts = facts.repair_attempts.started(marks(open_) | vanished)
    counted = UpdateMemory(repair_attempts=attempts)
    where = _at(open_)
    if attempts.max_attempts() > _MOST_REPAIRS:
        error = ConditionError(
            f"somebody changes the resource back after each sync {where}: it is "
            "left as it is until the spec says the same, or the other one stops",
            reason=PERSISTENT,
            retry=RetryClass.VERY_SLOW,
        )
        return Decision((counted, CountSync("drift")), Fail(error))
    if not vanished and all(learnt.is_unconfirmed(mark_of(one)) for one in open_):
        log = Log("info", "Putting again what Azure has accepted and not kept", where)
        return Decision((counted, log, CountSync("confirm", is_put=True)), put)
    log = Log("warning", "Azure differs from the spec; putting again", where)
    event = EmitEvent("Warning", "Drift", f"Azure differs {where}; it is put again")
    return Decision((counted, log, event, CountSync("drift", is_put=True)), put)


def _report(
    facts: SyncFacts,
    learnt: DriftBaseline,
    open_: Sequence[Difference],
    vanished: frozenset[str],
) -> tuple[Effect, ...]:
    left = [one for one in open_ if learnt.is_unconfirmed(mark_of(one))]
    others = [one for one in open_ if one not in left]
    known = confirmed(learnt.known) | marks(left)
    # No snapshot is taken of what differs.
    rest = learnt.rest or (_UNSETTLED if others else facts.rest)
    note = attrs.evolve(learnt, known=known, rest=rest)
    effects: list[Effect] = [SetMetadata({OBSERVED: note.dumps()})]
    if left:
        effects.append(_not_honoured(left))
    if others or vanished:
        text = f"Azure differs {_at(others)}; left as it is"
        effects += [
            SetDrifted(text),
            EmitEvent("Warning", "Drift", text),
            CountSync("drift"),
        ]
    return tuple(effects)


def _undeclared(
    facts: SyncFacts, learnt: DriftBaseline, put: Put, read: Read
) -> Decision:
    """A value changed that nobody declared, or one that Azure keeps otherwise."""
    noted = _in_order(facts, learnt)[1:]
    if facts.undeclared is Undeclared.IGNORE:
        return Decision((*noted, CountSync("unchanged")), read)
    where = _shown(facts.changed) if facts.changed else "; see the status"
    text = f"a value that the spec does not declare was changed in Azure{where}"
    attempts = facts.repair_attempts.started(frozenset({_UNDECLARED}))
    if attempts.max_attempts() > _MOST_REPAIRS:
        # It changes by itself: neither a PUT nor one more event says anything new.
        log = Log("info", "Undeclared values change with each sync")
        counted = UpdateMemory(repair_attempts=attempts)
        return Decision((counted, *noted, log, CountSync("undeclared")), read)
    counted = UpdateMemory(repair_attempts=attempts)
    is_put = facts.undeclared is Undeclared.PUT and facts.mode is SyncMode.COMPARE
    said = f"{text}; it is put again" if is_put else f"{text}; left as it is"
    event = EmitEvent("Warning", "UndeclaredChange", said)
    if is_put:
        return Decision((counted, event, CountSync("undeclared", is_put=True)), put)
    return Decision((counted, *noted, event, CountSync("undeclared")), read)


def after_own_put(
    repair_attempts: RepairAttempts,
    observed: DriftBaseline,
    found: Sequence[Difference],
    rest: str,
) -> tuple[Effect, ...]:
    """After a PUT of ours: remember what it left, and what Azure has now.

    A value that is not shown is known at once. One that Azure has otherwise is known
    once a PUT was sent for it alone: some PUTs are accepted and not applied at first.
    found: how the resource differs now. rest: its snapshot.
    """
    pending = repair_attempts.pending
    left = [one for one in found if mark_of(one) in pending]
    kept = confirmed(observed.known) - (pending - marks(found))
    silent = marks(one for one in found if one.kind == "absent")
    known = kept | marks(left) | silent
    open_ = marks(found) - known
    note = attrs.evolve(observed, known=known | unconfirmed(open_), rest=rest)
    reported = (_not_honoured(left),) if left else ()
    return (
        UpdateMemory(repair_attempts=repair_attempts.finished(marks(left))),
        SetMetadata({OBSERVED: note.dumps()}),
        *reported,
    )


def _not_honoured(left: Sequence[Difference]) -> EmitEvent:
    text = (
        f"Azure accepts the spec and keeps other values {_at(left)}: they are not put "
        "again"
    )
    return EmitEvent("Warning", "ValueNotHonoured", text)


def _at(found: Sequence[Difference]) -> str:
    if not found:
        return "in a list or map that Azure had added to"
    return _shown([one.path for one in found]).strip()


def _shown(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _SHOWN_PATHS} more" if len(paths) > _SHOWN_PATHS else ""
    return f" at {', '.join(paths[:_SHOWN_PATHS])}{more}"
