"""Decides whether a Ready resource needs a PUT at its sync (D11). Pure.

ASO sends a PUT for every resource at every sync. By default this operator sends a GET
instead, and compares the answer with the body of the PUT and with a snapshot of an
earlier answer. A PUT is sent only for differences that no earlier PUT has failed to
repair (`SyncMode`).
"""

from collections.abc import Sequence

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.arm.provisioning_state import FAILURE, provisioning_state
from asoreconcile.azure.reconcile.model.access import opens_access
from asoreconcile.azure.reconcile.model.annotations import (
    IGNORE_FIELDS,
    RECONCILE_AT,
)
from asoreconcile.azure.reconcile.model.conditions import GONE
from asoreconcile.azure.reconcile.model.decisions import (
    CountSync,
    Decision,
    Effect,
    EmitEvent,
    Fail,
    Log,
    Put,
    Read,
    SetDrifted,
    SetMetadata,
    UpdateMemory,
)
from asoreconcile.azure.reconcile.model.differences import Difference
from asoreconcile.azure.reconcile.model.drift_baseline import (
    OBSERVED,
    UNDECLARED,
    UNSETTLED,
    DriftBaseline,
    RepairAttempts,
    confirmed,
    difference_mark,
    extras,
    marks,
    place_of,
    unconfirmed,
)
from asoreconcile.azure.reconcile.model.guarded_values import was_changed_by_client
from asoreconcile.azure.reconcile.model.snapshot import is_comparable
from asoreconcile.azure.reconcile.model.sync_mode import SYNC_MODE, SyncMode, Undeclared
from asoreconcile.base.objects import JsonObject, dig
from asoreconcile.base.printable import listed

# After so many, another writer undoes each PUT, and the pauses between PUTs grow.
_MOST_REPAIRS = 3
_FIRST_PAUSE_SECONDS = 2 * 3600.0
_LONGEST_PAUSE_SECONDS = 24 * 3600.0
# Creating a large gateway takes hours.
_LONGEST_MOVE_SECONDS = 24 * 3600.0
_STUCK_AT = (
    "for a day each sync has found the resource in transition, so that it was not "
    "compared with the spec: its provisioningState is"
)
_SHOWN_PATHS = 10
# Provisioning states of a running operation; any other, such as Ready or Enabled, may
# be a lasting one.
_MOVING = frozenset({"accepted", "queued", "notstarted"})
_MOVES = ("ing", "inprogress", "requested")
_MOVED_BY_AZURE = "Azure, or a client that it does not name, has changed a value"
_RESTING = frozenset({"running", "warning"})
# Such as UpgradeFailed and InternalError.
_FAILS = ("failed", "error")


@attrs.frozen
class SyncFacts:
    """The facts at the sync of a Ready resource that is read before any PUT.

    mode: COMPARE or REPORT. put: the fingerprint of the PUT. observed: the record of
    the last accepted PUT; None if there is none. have: the resource; None if it does
    not exist, or if the present PUT differs from the last one. found: differences
    between the resource and the body. rest: snapshot of the resource.
    annotations_hash: the hash in `RenderedSpec`. is_forced: whether a PUT is due in any
    case. changed: the paths at which the stored status differs from the resource.
    is_ready: whether the Ready condition is True. repair_attempts: the differences for
    which PUTs were sent before. now: present time in `Clock.monotonic` seconds.
    is_period_over: whether the last PUT is a sync period old. region: the declared
    location, if the resource is in another one; else "". moving_seconds: time for which
    each sync has found the resource in transition.
    was_there: whether the status shows that the resource has existed. unshown: the
    differences in `found` that only say that Azure never shows the value; empty if
    there is a record of a PUT. is_first_read: whether this process has not read the
    resource before. guarded: the differences in `found` that are left as they are
    (`guarded_values`). is_asked: whether a value of `reconcile-at` is attempted, which
    ends pauses. waits_for: the maintenance window that a PUT waits for, in words, or
    "".
    """

    mode: SyncMode
    put: str
    observed: DriftBaseline | None
    repair_attempts: RepairAttempts
    have: JsonObject | None = attrs.field(default=None, repr=False)
    found: Sequence[Difference] = ()
    rest: str = ""
    annotations_hash: str = ""
    is_forced: bool = False
    undeclared: Undeclared = Undeclared.PUT
    changed: Sequence[str] = ()
    now: float = 0.0
    is_period_over: bool = True
    region: str = ""
    was_there: bool = False
    is_ready: bool = True
    moving_seconds: float = 0.0
    unshown: Sequence[Difference] = ()
    is_first_read: bool = False
    guarded: Sequence[Difference] = ()
    is_asked: bool = False
    waits_for: str = ""


def at_sync(facts: SyncFacts, put: Put) -> Decision:
    """Decide to PUT, or to continue with the resource that was read if a PUT would
    change nothing.

    A resource in another region than the declared one is shown as drifted: Azure
    cannot move the resource.
    """
    decided = _at_sync(facts, put)
    if not facts.region or facts.have is None:
        return decided
    moved = (
        f"the resource is in {facts.have.get('location')} and the spec declares "
        f"{facts.region}: Azure cannot move it, so correct spec.location, or delete "
        "the object and create it again"
    )
    shown = [e.message for e in decided.effects if isinstance(e, SetDrifted)]
    drifted = SetDrifted("; ".join([*shown, moved]))
    return attrs.evolve(decided, effects=(*decided.effects, drifted))


def _at_sync(facts: SyncFacts, put: Put) -> Decision:
    observed, have = facts.observed, facts.have
    # The body is not the last one: the spec was edited, so no comparison is needed.
    if observed is not None and observed.put != facts.put:
        forgotten = UpdateMemory(repair_attempts=RepairAttempts())
        return Decision((forgotten, CountSync("changed", is_put=True)), put)
    if have is None:
        was_put = observed is not None or facts.was_there
        if facts.mode is SyncMode.REPORT and was_put:
            return _gone(facts.waits_for)
        return Decision((CountSync("gone", is_put=True),), put)
    read = Read(have)
    if is_moving(have):
        # In transition: nothing can be compared; the next sync tries again.
        shown: tuple[Effect, ...] = ()
        if facts.moving_seconds >= _LONGEST_MOVE_SECONDS:
            state = provisioning_state(have)
            shown = (SetDrifted(f"{_STUCK_AT} {state}: see its activity log"),)
        moving = (*shown, CountSync("moving"))
        # Ready may be False for another reason, as after an outage of Azure.
        is_accepted = facts.is_ready or observed is not None
        return Decision(moving, read if is_accepted else put)
    if failed_state(have):
        is_put = facts.is_period_over or facts.is_asked
        is_put = is_put and facts.mode is SyncMode.COMPARE
        lifted = is_put and not facts.is_period_over
        metric = CountSync("asked" if lifted else "failed", is_put=is_put)
        # A failed resource shows values that later reads must not be compared with.
        return Decision((metric,), put if is_put else read)
    if facts.is_forced and facts.mode is SyncMode.COMPARE and not facts.guarded:
        return Decision((CountSync("forced", is_put=True),), put)
    before = observed or attrs.evolve(put.record, at="")
    known = before.known
    if observed is not None and not before.rest:
        # At the first look after a PUT of ours, values that Azure does not show count
        # as write-only: the PUT sent them. Later, a value that Azure no longer shows
        # was removed.
        known |= marks(
            one
            for one in facts.found
            if one.kind == "absent" and not _is_declared_tag(one)
        )
    open_ = [one for one in facts.found if difference_mark(one) not in known]
    if observed is None and facts.mode is SyncMode.COMPARE:
        # Without a record, only a PUT tells that Azure has the values that it does not
        # show.
        silent = [one for one in open_ if one.kind == "absent"]
        open_ = [one for one in open_ if one.kind != "absent"]
        if silent and not open_:
            where = _at(silent)
            log = Log("info", "No PUT of this spec is recorded; putting", where)
            return Decision((log, CountSync("unrecorded", is_put=True)), put)
    if facts.mode is SyncMode.REPORT and facts.unshown:
        # Unknown is not drift: only a PUT tells whether Azure has these values.
        open_ = [one for one in open_ if one not in facts.unshown]
        said = _not_compared(facts)
        if open_:
            reported = _report(facts, before, open_, frozenset())
            return Decision((*said, *reported), read)
        return Decision((*said, CountSync("unchanged")), read)
    # Values that Azure had added and that are gone: only their marks are known.
    vanished = extras(confirmed(known)) - marks(facts.found)
    learnt = attrs.evolve(before, known=known, annotations_hash=facts.annotations_hash)
    if open_ or vanished:
        if facts.mode is SyncMode.COMPARE:
            held = _held(facts, learnt, open_)
            others = [one for one in open_ if one not in held]
            is_put = bool(others or vanished)
            repaired = _repair(facts, learnt, others, vanished, put) if is_put else None
            if held or repaired is None:
                return _hold(facts, learnt, held, repaired)
            return repaired
        return Decision(_report(facts, learnt, open_, vanished), read)
    if is_comparable(before.rest, facts.rest) and before.rest != facts.rest:
        return _undeclared(facts, learnt, put, read)
    return Decision((*_in_order(facts, learnt), CountSync("unchanged")), read)


def _gone(waits_for: str) -> Decision:
    """Return the decision to report a resource that Azure no longer has, without
    creating it. waits_for: see `SyncFacts`.
    """
    text = f"Azure no longer has the resource; {_left(waits_for)}"
    effects = (
        SetDrifted(text),
        EmitEvent("Warning", "Drift", text),
        CountSync("gone"),
    )
    waits = f"the resource is gone from Azure; {_left(waits_for)}"
    error = ConditionError(
        waits
        if waits_for
        else "the resource is gone from Azure and is not created again: in sync mode "
        f"report differences are only reported. Set {SYNC_MODE} to compare to have it "
        "created, or delete this object",
        reason=GONE,
        retry=RetryClass.VERY_SLOW,
    )
    return Decision(effects, Fail(error))


def is_moving(have: JsonObject) -> bool:
    """Return whether a resource is in transition, so that it cannot be compared."""
    state = str(dig(have, "properties.provisioningState") or "").lower()
    return state in _MOVING or (state.endswith(_MOVES) and state not in _RESTING)


def failed_state(have: JsonObject) -> str:
    """Return the provisioning state if it says that the last operation failed or was
    canceled, else "".
    """
    state = provisioning_state(have)
    word = state.lower()
    return state if word in FAILURE or word.endswith(_FAILS) else ""


def _in_order(facts: SyncFacts, learnt: DriftBaseline) -> tuple[Effect, ...]:
    # A difference that the PUT left is either gone by itself or still in `found`.
    attempts = facts.repair_attempts.in_order()
    repairs = {m: n for m, n in learnt.repairs.items() if m in attempts.repairs}
    known = confirmed(learnt.known)
    note = attrs.evolve(learnt, known=known, rest=facts.rest, repairs=repairs)
    return (
        UpdateMemory(repair_attempts=attempts),
        SetMetadata({OBSERVED: note.dumps()}),
        *drifted(_kept(facts, note.known)),
    )


def _repair(
    facts: SyncFacts,
    learnt: DriftBaseline,
    open_: Sequence[Difference],
    vanished: frozenset[str],
    put: Put,
) -> Decision:
    found, where = marks(open_) | vanished, _at(open_)
    places = vanished.union(map(place_of, open_))
    lasting: tuple[Effect, ...] = ()
    is_early = False
    most_for = facts.repair_attempts.most_for
    fought = [one for one in open_ if most_for([place_of(one)]) >= _MOST_REPAIRS]
    repairs = most_for(places)
    if repairs >= _MOST_REPAIRS:
        lasting = drifted(_kept(facts, learnt.known), _undone(facts, _at(fought)))
        doubled = _FIRST_PAUSE_SECONDS * 2.0 ** min(repairs - _MOST_REPAIRS, 10)
        pause = min(doubled, _LONGEST_PAUSE_SECONDS)
        until = facts.repair_attempts.at + pause
        # Another place than those of the fight is put at once.
        is_early = facts.now < until and len(fought) == len(open_)
        if is_early and not facts.is_asked:
            read = Read(facts.have)
            paused = attrs.evolve(facts.repair_attempts, paused_until=until)
            kept = UpdateMemory(repair_attempts=paused)
            return Decision((kept, *lasting, CountSync("drift")), read)
    attempts = facts.repair_attempts.started(found, places, at=facts.now)
    counted = UpdateMemory(repair_attempts=attempts)
    if not vanished and all(
        learnt.is_unconfirmed(difference_mark(one)) for one in open_
    ):
        log = Log("info", "Putting again what Azure has accepted and not kept", where)
        return Decision((counted, log, CountSync("confirm", is_put=True)), put)
    log = Log("warning", "Azure differs from the spec; putting again", where)
    cause = _cause(facts)
    text = f"Azure differs {where}{cause}; it is put again"
    event = EmitEvent("Warning", "Drift", text)
    metric = CountSync("asked" if is_early else "drift", is_put=True)
    return Decision((counted, *lasting, log, event, metric), put)


def _held(
    facts: SyncFacts, learnt: DriftBaseline, open_: Sequence[Difference]
) -> list[Difference]:
    """Return the differences that are left as they are. A difference that the last
    PUT left was not moved since.
    """
    if facts.is_asked:
        return []
    return [
        one
        for one in open_
        if one in facts.guarded and not learnt.is_unconfirmed(difference_mark(one))
    ]


def _hold(
    facts: SyncFacts,
    learnt: DriftBaseline,
    held: Sequence[Difference],
    repaired: Decision | None,
) -> Decision:
    """Return the decision that leaves guarded values as they are.

    repaired: the decision about the other differences; None without any.
    """
    text = (
        f"{_MOVED_BY_AZURE} {_at(held)}: it is not put back, as that may undo an "
        f"upgrade, a rotation or a fail-over. To put it back, set {RECONCILE_AT}; to "
        f"accept it, edit the spec, or name it in {IGNORE_FIELDS}"
    )
    if repaired is None:
        shown = drifted(_kept(facts, learnt.known), text)
        event = EmitEvent("Warning", "Drift", text)
        return Decision((*shown, event, CountSync("drift")), Read(facts.have))
    said = [one.message for one in repaired.effects if isinstance(one, SetDrifted)]
    effects = (*repaired.effects, SetDrifted("; ".join([*said, text])))
    return attrs.evolve(repaired, effects=effects)


def _cause(facts: SyncFacts) -> str:
    """Return who changed the resource, as a clause; "" if Azure does not say it."""
    at = facts.observed.at if facts.observed else ""
    is_clients = bool(at) and was_changed_by_client(facts.have or {}, at)
    return ", changed by another client" if is_clients else ""


def _undone(facts: SyncFacts, where: str) -> str:
    """Return the text about a writer that undoes each PUT."""
    writer = str(dig(facts.have or {}, "systemData.lastModifiedBy") or "another writer")
    return (
        f"{writer} changes the resource back after each PUT {where}: it is put again "
        "after growing pauses, at least once a day, until the spec says the same or "
        "the other writer stops"
    )


def _report(
    facts: SyncFacts,
    learnt: DriftBaseline,
    open_: Sequence[Difference],
    vanished: frozenset[str],
) -> tuple[Effect, ...]:
    left = [one for one in open_ if learnt.is_unconfirmed(difference_mark(one))]
    others = [one for one in open_ if one not in left]
    known = confirmed(learnt.known) | marks(left)
    # No snapshot is taken of a resource that differs.
    rest = learnt.rest or (UNSETTLED if others else facts.rest)
    note = attrs.evolve(learnt, known=known, rest=rest)
    effects: list[Effect] = []
    # A record says that a PUT was accepted: a report alone makes none.
    if facts.observed is not None:
        effects.append(SetMetadata({OBSERVED: note.dumps()}))
    if left:
        effects.append(_not_honoured(left))
    is_other = bool(others or vanished)
    left_as_is = _left(facts.waits_for)
    text = f"Azure differs {_at(others)}; {left_as_is}" if is_other else ""
    effects += drifted(_kept(facts, known), text)
    if is_other:
        effects += [EmitEvent("Warning", "Drift", text), CountSync("drift")]
    return tuple(effects)


def _undeclared(
    facts: SyncFacts, learnt: DriftBaseline, put: Put, read: Read
) -> Decision:
    """Return the decision about a changed value that the spec does not declare, or that
    Azure stores differently.
    """
    noted = _in_order(facts, learnt)[1:]
    if facts.undeclared is Undeclared.PUT and facts.waits_for:
        # The value is not learnt: the PUT follows when the window opens.
        held = f"{_undeclared_at(facts)}; {_left(facts.waits_for)}"
        event = EmitEvent("Warning", "UndeclaredChange", held)
        shown = drifted(_kept(facts, learnt.known), held)
        return Decision((*shown, event, CountSync("undeclared")), read)
    if facts.undeclared is Undeclared.IGNORE:
        return Decision((*noted, CountSync("unchanged")), read)
    text = _undeclared_at(facts)
    undeclared = frozenset({UNDECLARED})
    attempts = facts.repair_attempts.started(undeclared, undeclared, at=facts.now)
    counted = UpdateMemory(repair_attempts=attempts)
    if attempts.most_for(undeclared) > _MOST_REPAIRS:
        # The value changes by itself: neither a PUT nor another event helps.
        log = Log("info", "Undeclared values change with each sync")
        return Decision((counted, *noted, log, CountSync("undeclared")), read)
    is_put = facts.undeclared is Undeclared.PUT and facts.mode is SyncMode.COMPARE
    said = f"{text}; it is put again" if is_put else f"{text}; left as it is"
    event = EmitEvent("Warning", "UndeclaredChange", said)
    if is_put:
        return Decision((counted, event, CountSync("undeclared", is_put=True)), put)
    return Decision((counted, *noted, event, CountSync("undeclared")), read)


def _undeclared_at(facts: SyncFacts) -> str:
    at = listed(facts.changed, _SHOWN_PATHS)
    where = f" at {at}" if at else "; see the status"
    return f"a value that the spec does not declare was changed in Azure{where}"


def _left(waits_for: str) -> str:
    """Return what happens to a difference that no PUT is sent for now."""
    return f"the PUT waits for {waits_for}" if waits_for else "left as it is"


def after_own_put(
    repair_attempts: RepairAttempts,
    observed: DriftBaseline,
    found: Sequence[Difference],
    rest: str,
    *,
    is_immediate: bool = False,
) -> tuple[Effect, ...]:
    """Return the record of the resource after our PUT: the differences that remain, and
    the state of the resource.

    A value that Azure does not show is accepted at once. A value that differs is
    accepted only after a second PUT for it, because Azure accepts some PUTs and does
    not apply them at first. A declared tag that differs after a long operation is never
    accepted: another writer has changed the tag meanwhile. If the resource was read at
    once, a policy of Azure has set the tag.
    found: differences that the resource has now. rest: snapshot of the resource.
    is_immediate: whether the reconcile that sent the PUT has read the resource.
    """
    pending = repair_attempts.pending
    accepted = [one for one in found if is_immediate or not _is_declared_tag(one)]
    left = [one for one in accepted if difference_mark(one) in pending]
    kept = confirmed(observed.known) - (pending - marks(found))
    silent = marks(one for one in accepted if one.kind == "absent")
    known = kept | marks(left) | silent
    open_ = marks(found) - known
    known |= unconfirmed(open_)
    given_up = frozenset(map(place_of, left))
    repairs = {m: n for m, n in observed.repairs.items() if m not in given_up}
    note = attrs.evolve(observed, known=known, rest=rest, repairs=repairs)
    reported = (_not_honoured(left),) if left else ()
    return (
        UpdateMemory(repair_attempts=repair_attempts.finished(given_up)),
        SetMetadata({OBSERVED: note.dumps()}),
        *reported,
        *drifted(accepted),
    )


def _is_declared_tag(one: Difference) -> bool:
    return one.path.startswith("tags/") and one.kind in ("value", "absent")


def drifted(kept: Sequence[Difference], text: str = "") -> tuple[Effect, ...]:
    """Return the effect that sets the condition `Drifted`, if there is anything to say.

    kept: differences that no PUT is sent for now; those that may leave access open are
    named. text: another reason for the condition, or "".
    """
    said = [text] if text else []
    if kept and (found := opens_access(kept)):
        access = f"Azure accepts the spec and keeps other values {_at(found)}"
        said.append(f"{access}: check who has access")
    return (SetDrifted("; ".join(said)),) if said else ()


def _kept(facts: SyncFacts, known: frozenset[str]) -> list[Difference]:
    return [one for one in facts.found if difference_mark(one) in known]


def _not_compared(facts: SyncFacts) -> tuple[Effect, ...]:
    """Return the event about values that cannot be compared, once in a process."""
    if not facts.is_first_read:
        return ()
    text = (
        f"Azure never shows the values {_at(facts.unshown)}, and no PUT of this spec "
        "is recorded: they are not compared"
    )
    return (EmitEvent("Normal", "NotCompared", text),)


def _not_honoured(left: Sequence[Difference]) -> EmitEvent:
    text = (
        f"Azure accepts the spec and keeps other values {_at(left)}: they are not put "
        "again"
    )
    return EmitEvent("Warning", "ValueNotHonoured", text)


def _at(found: Sequence[Difference]) -> str:
    if not found:
        return "in a list or map that Azure had added to"
    return f"at {listed([one.path for one in found], _SHOWN_PATHS)}"
