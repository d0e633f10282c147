"""What a sync that looks first decides, as tables over facts."""

import attrs
import pytest

from asoreconcile.azure.arm.text_bounds import RECORD
from asoreconcile.azure.reconcile.model.decisions import (
    CountSync,
    Decision,
    EmitEvent,
    Log,
    Put,
    Read,
    SetDrifted,
    SetMetadata,
    UpdateMemory,
)
from asoreconcile.azure.reconcile.model.differences import HIDDEN, Difference
from asoreconcile.azure.reconcile.model.drift_baseline import (
    OBSERVED,
    DriftBaseline,
    RepairAttempts,
    loads,
    marks,
    unconfirmed,
)
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode, Undeclared
from asoreconcile.azure.reconcile.sync.drift import (
    SyncFacts,
    after_own_put,
    at_sync,
    failed_state,
    is_moving,
)

PUT = Put("/id", {}, DriftBaseline("p"))
HAVE = {"id": "/id", "properties": {"provisioningState": "Succeeded"}}
CHANGED = Difference("properties/size", "value", 1, 2)
ABSENT = Difference("properties/password", "absent", "\0hidden")
MARKS = marks([CHANGED])
SIZE = CHANGED.path
READ = Read(HAVE)
EXTRA = Difference("tags/policy", "map-extra", None, "x")
REST, CHANGED_REST = "1abcd.0123", "1abcd.4567"
FACTS = SyncFacts(
    mode=SyncMode.COMPARE,
    put="p",
    observed=DriftBaseline("p", rest=REST, annotations_hash="s", at="t"),
    have=HAVE,
    found=(),
    repair_attempts=RepairAttempts(),
    rest=REST,
    annotations_hash="s",
)
FORGOTTEN = UpdateMemory(repair_attempts=RepairAttempts())
MOVING = {**HAVE, "properties": {"provisioningState": "Updating"}}


def decide(**given):
    return at_sync(attrs.evolve(FACTS, **given), PUT)


def noted(known=frozenset(), rest=REST, at="t"):
    note = DriftBaseline("p", known, rest=rest, annotations_hash="s", at=at)
    return SetMetadata({OBSERVED: note.dumps()})


def knowing(*known, rest=REST):
    return DriftBaseline("p", frozenset(known), rest=rest, annotations_hash="s", at="t")


def in_order(known=frozenset(), at="t"):
    return Decision((FORGOTTEN, noted(known, at=at), CountSync("unchanged")), READ)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, in_order()),
        ({"have": None}, Decision((CountSync("gone", is_put=True),), PUT)),
        (
            {"observed": DriftBaseline("another"), "have": None},
            Decision((FORGOTTEN, CountSync("changed", is_put=True)), PUT),
        ),
        # In transition nothing can be said.
        (
            {"have": MOVING, "found": [CHANGED]},
            Decision((CountSync("moving"),), Read(MOVING)),
        ),
        # What the last PUT left is known.
        ({"observed": knowing(*MARKS), "found": [CHANGED]}, in_order(MARKS)),
        # Nothing is recorded, and Azure shows everything.
        ({"observed": None}, in_order(at="")),
        (
            {"observed": knowing(rest=""), "found": [ABSENT]},
            in_order(marks([ABSENT])),
        ),
        ({"observed": None, "have": None}, Decision((CountSync("gone", True),), PUT)),
        # Of an older form of the note, and of an older catalogue: nothing is said.
        ({"observed": DriftBaseline("p")}, in_order(at="")),
        ({"observed": knowing(rest="1ffff.0123")}, in_order()),
        # What the PUT left open has settled by itself.
        ({"observed": knowing(*unconfirmed(MARKS))}, in_order()),
        ({"is_forced": True}, Decision((CountSync("forced", is_put=True),), PUT)),
        ({"is_forced": True, "mode": SyncMode.REPORT}, in_order()),
    ],
    ids=[
        *("same", "gone", "edited", "in transition", "known", "unrecorded"),
        *("not looked at", "first", "older", "other catalogue", "settled", "forced"),
        "forced in a report",
    ],
)
def test_d11_a_put_goes_out_for_what_it_may_mend_alone(given, expected):
    assert decide(**given) == expected


@pytest.mark.parametrize("observed", [knowing(), None])
def test_what_differs_is_put_again_and_told(observed):
    decided = decide(observed=observed, found=[CHANGED])
    counted, log, told, metric = decided.effects
    assert counted == UpdateMemory(repair_attempts=RepairAttempts(MARKS, {SIZE: 1}))
    assert isinstance(log, Log)
    assert (told.type, told.reason) == ("Warning", "Drift")
    assert "at properties/size; it is put again" in told.message
    assert metric == CountSync("drift", is_put=True)
    assert decided.then == PUT


def test_the_event_says_if_another_client_made_the_change():
    system = {"lastModifiedByType": "User", "lastModifiedAt": "2026-01-02T00:00:00Z"}
    record = attrs.evolve(knowing(), at="2026-01-01T00:00:00Z")
    have = {**HAVE, "systemData": system}
    decided = decide(observed=record, found=[CHANGED], have=have)
    (told,) = (one for one in decided.effects if isinstance(one, EmitEvent))
    assert "at properties/size, changed by another client; it is put" in told.message


def test_a_declared_value_that_is_shown_no_more_is_drift():
    decided = decide(found=[ABSENT])
    assert decided.then == PUT
    assert CountSync("drift", is_put=True) in decided.effects


@pytest.mark.parametrize("at", ["properties/password", "properties/level"])
def test_d11_without_a_record_what_azure_does_not_show_is_put_once(at):
    silent = Difference(at, "absent", HIDDEN if "password" in at else 1)
    decided = decide(observed=None, found=[silent])
    log, counted = decided.effects
    assert decided.then == PUT
    assert (log.level, counted) == ("info", CountSync("unrecorded", is_put=True))
    # The PUT was accepted, and its record was written with it.
    judged, note = after_own_put(RepairAttempts(), knowing(rest=""), [silent], REST)
    assert judged == FORGOTTEN
    assert note == noted(marks([silent]))
    assert decide(observed=knowing(*marks([silent])), found=[silent]).then == READ


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("found", [[ABSENT], [ABSENT, CHANGED]])
def test_d11_a_value_that_azure_never_shows_is_no_drift(found, is_first):
    decided = decide(
        mode=SyncMode.REPORT,
        observed=None,
        found=found,
        unshown=[ABSENT],
        is_first_read=is_first,
    )
    assert decided.then == READ
    drift = [one.message for one in decided.effects if isinstance(one, SetDrifted)]
    assert bool(drift) is (CHANGED in found)
    assert not any(ABSENT.path in text for text in drift)
    told = [one for one in decided.effects if isinstance(one, EmitEvent)]
    assert ("NotCompared" in {one.reason for one in told}) is is_first
    assert not any(isinstance(one, SetMetadata) for one in decided.effects)


def test_d11_a_report_without_a_record_makes_none():
    decided = decide(mode=SyncMode.REPORT, observed=None, found=[ABSENT])
    assert decided.then == READ
    assert not any(isinstance(one, SetMetadata) for one in decided.effects)
    assert SetDrifted("Azure differs at properties/password; left as it is") in (
        decided.effects
    )


@pytest.mark.parametrize("is_ready", [True, False])
@pytest.mark.parametrize("is_recorded", [True, False])
def test_d11_a_moving_resource_is_left_alone_only_if_a_put_was_accepted(
    is_ready, is_recorded
):
    observed = FACTS.observed if is_recorded else None
    decided = decide(have=MOVING, is_ready=is_ready, observed=observed)
    assert isinstance(decided.then, Read if is_ready or is_recorded else Put)


def test_what_is_never_shown_is_no_part_of_what_is_put_for():
    decided = decide(observed=None, found=[ABSENT, CHANGED])
    assert decided.effects[0].repair_attempts.pending == MARKS


def test_what_a_put_left_is_confirmed_by_another_put_and_not_called_drift():
    observed = knowing(*unconfirmed(MARKS))
    decided = decide(observed=observed, found=[CHANGED])
    assert decided.then == PUT
    assert [type(one) for one in decided.effects] == [UpdateMemory, Log, CountSync]
    assert decided.effects[-1] == CountSync("confirm", is_put=True)


def test_an_extra_that_vanishes_is_drift_whether_or_not_snapshots_count():
    observed = knowing(*marks([EXTRA]))
    kept = decide(observed=observed, found=[EXTRA])
    assert kept == in_order(marks([EXTRA]))
    gone = decide(observed=observed, undeclared=Undeclared.IGNORE)
    assert gone.then == PUT
    assert gone.effects[0].repair_attempts.pending == marks([EXTRA])
    assert "had added" in gone.effects[2].message


def test_what_differs_is_left_alone_where_that_is_asked_for():
    decided = decide(mode=SyncMode.REPORT, found=[CHANGED])
    text = "Azure differs at properties/size; left as it is"
    told = EmitEvent("Warning", "Drift", text)
    shown = SetDrifted(text)
    assert decided == Decision((noted(), shown, told, CountSync("drift")), READ)


def test_a_report_learns_what_a_put_left():
    observed = knowing(*unconfirmed(MARKS))
    decided = decide(mode=SyncMode.REPORT, observed=observed, found=[CHANGED])
    note, told = decided.effects
    assert note == noted(MARKS)
    assert told.reason == "ValueNotHonoured"
    assert decided.then == READ


def test_a_report_learns_what_is_never_shown_beside_what_differs():
    sent = knowing(rest="")
    decided = decide(mode=SyncMode.REPORT, observed=sent, found=[ABSENT, CHANGED])
    assert decided.effects[0] == noted(marks([ABSENT]), rest="-")
    again = decide(
        mode=SyncMode.REPORT,
        observed=knowing(*marks([ABSENT]), rest="-"),
        found=[ABSENT],
    )
    assert again == in_order(marks([ABSENT]))


@pytest.mark.parametrize(
    ("given", "is_put", "is_told"),
    [
        ({}, True, True),
        ({"undeclared": Undeclared.REPORT}, False, True),
        ({"undeclared": Undeclared.IGNORE}, False, False),
        ({"mode": SyncMode.REPORT}, False, True),
    ],
    ids=["put", "report", "ignore", "mode report"],
)
def test_a_change_that_nobody_declared_is_told_and_put_as_wanted(
    given, is_put, is_told
):
    decided = decide(rest=CHANGED_REST, **given)
    assert (decided.then == PUT) is is_put
    told = [one.reason for one in decided.effects if isinstance(one, EmitEvent)]
    assert told == (["UndeclaredChange"] if is_told else [])
    # What is not put for counts from now on.
    assert (noted(rest=CHANGED_REST) in decided.effects) is not is_put


def test_what_changes_by_itself_is_put_for_three_times_and_then_followed():
    tried = RepairAttempts(frozenset(), {"undeclared": 3})
    decided = decide(rest=CHANGED_REST, repair_attempts=tried)
    assert decided.then == READ
    assert noted(rest=CHANGED_REST) in decided.effects
    assert not any(isinstance(one, EmitEvent) for one in decided.effects)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        *((s, True) for s in ("Updating", "accepted", "InProgress", "Provisioning")),
        *((s, True) for s in ("InitializationInProgress", "UpgradeRequested")),
        *((s, False) for s in ("Succeeded", "Ready", "Running", "Enabled", "", None)),
        *((s, False) for s in ("Warning", "UpgradeFailed")),
    ],
)
def test_a_state_that_is_none_of_transition_is_one_to_rest_in(state, expected):
    assert is_moving({"properties": {"provisioningState": state}}) is expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        *((s, True) for s in ("Failed", "CANCELED", "cancelled", "UpgradeFailed")),
        *((s, True) for s in ("InternalError", "DeleteError")),
        *((s, False) for s in ("Succeeded", "Updating", "Disabled", "", None)),
    ],
)
def test_k4_each_word_for_a_failed_operation_is_a_failed_state(state, expected):
    have = {"properties": {"provisioningState": state}}
    assert failed_state(have) == (state if expected else "")


HOUR = 3600.0


@pytest.mark.parametrize(
    ("times", "pause"),
    [(0, 0.0), (2, 0.0), (3, 2 * HOUR), (4, 4 * HOUR), (7, 24 * HOUR), (99, 24 * HOUR)],
)
def test_what_comes_back_each_time_is_put_after_growing_pauses(times, pause):
    tried = RepairAttempts(frozenset(), {SIZE: times}, at=1000.0)
    given = {"found": [CHANGED], "repair_attempts": tried}
    decided = decide(**given, now=1000.0 + pause)
    (counted,) = (e for e in decided.effects if isinstance(e, UpdateMemory))
    assert counted.repair_attempts.repairs == {SIZE: times + 1}
    assert counted.repair_attempts.at == 1000.0 + pause
    assert decided.then == PUT
    shown = [e for e in decided.effects if isinstance(e, SetDrifted)]
    assert bool(shown) is (times >= 3)
    if pause:
        early = decide(**given, now=1000.0 + pause - 1.0)
        kept = UpdateMemory(attrs.evolve(tried, paused_until=1000.0 + pause))
        assert early == Decision((kept, *shown, CountSync("drift")), READ)
        asked = decide(**given, now=1000.0 + pause - 1.0, is_asked=True)
        assert asked.then == PUT
        assert CountSync("asked", is_put=True) in asked.effects


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("properties/size", "value"),
        ("properties/prefixes", "list-extra"),
        ("properties/rules[{}]/access", "value"),
        ("properties/rules[{}]", "list-extra"),
        ("properties/settings/{}", "map-extra"),
    ],
)
def test_another_value_each_time_is_the_same_fight(path, kind):
    attempts, puts = RepairAttempts(), 0
    for hour in range(24):
        found = [Difference(path.format(hour), kind, None, hour)]
        decided = decide(found=found, repair_attempts=attempts, now=hour * HOUR)
        if decided.then == PUT:
            puts += 1
            (counted,) = (e for e in decided.effects if isinstance(e, UpdateMemory))
            attempts = counted.repair_attempts
    assert puts == 6


def test_k4_a_fight_over_one_value_delays_no_repair_of_another():
    tried = RepairAttempts(frozenset(), {SIZE: 7}, at=1000.0)
    opened = Difference("properties/publicNetworkAccess", "value", "Off", "On")
    decided = decide(found=[CHANGED, opened], repair_attempts=tried, now=1001.0)
    assert decided.then == PUT
    (counted,) = (e for e in decided.effects if isinstance(e, UpdateMemory))
    assert counted.repair_attempts.repairs == {SIZE: 8, opened.path: 1}
    (shown,) = (e for e in decided.effects if isinstance(e, SetDrifted))
    assert SIZE in shown.message
    assert opened.path not in shown.message


@pytest.mark.parametrize("is_period_over", [True, False])
@pytest.mark.parametrize("mode", [SyncMode.COMPARE, SyncMode.REPORT])
def test_a_failed_resource_is_put_once_in_a_period(is_period_over, mode):
    have = {**HAVE, "properties": {"provisioningState": "Failed"}}
    decided = decide(
        have=have, found=[CHANGED], is_period_over=is_period_over, mode=mode
    )
    is_put = is_period_over and mode is SyncMode.COMPARE
    assert decided.effects == (CountSync("failed", is_put=is_put),)
    assert decided.then == (PUT if is_put else Read(have))


def test_another_region_is_told_of_beside_other_drift():
    have = {**HAVE, "location": "northeurope"}
    decided = decide(
        have=have, found=[CHANGED], mode=SyncMode.REPORT, region="westeurope"
    )
    shown = [e.message for e in decided.effects if isinstance(e, SetDrifted)][-1]
    assert "properties/size" in shown
    assert "northeurope" in shown


def test_what_a_put_left_is_not_put_for_again():
    tried = RepairAttempts(MARKS, {SIZE: 1})
    found = [CHANGED, ABSENT]
    judged, note, told = after_own_put(tried, knowing(rest=""), found, REST)
    assert judged == UpdateMemory(repair_attempts=RepairAttempts())
    assert note == noted(marks(found))
    assert (told.reason, told.type) == ("ValueNotHonoured", "Warning")


def test_what_a_first_put_left_is_open_and_what_is_not_shown_is_known():
    judged, note = after_own_put(
        RepairAttempts(), knowing(rest=""), [CHANGED, ABSENT], REST
    )
    assert judged == FORGOTTEN
    assert note == noted(marks([ABSENT]) | unconfirmed(MARKS))


def test_a_vanished_extra_that_does_not_come_back_is_forgotten():
    extra = marks([EXTRA])
    tried = RepairAttempts(extra, dict.fromkeys(extra, 1))
    _, note = after_own_put(tried, knowing(*extra, rest=""), [], REST)
    assert note == noted()
    _, note, _ = after_own_put(tried, knowing(*extra, rest=""), [EXTRA], REST)
    assert note == noted(extra)


@pytest.mark.parametrize("kind", ["value", "absent"])
def test_a_declared_tag_that_another_writer_changed_meanwhile_is_put_again(kind):
    tag = Difference("tags/team", kind, "red", "blue")
    tried = RepairAttempts(marks([tag]), {tag.path: 1})
    judged, note = after_own_put(tried, knowing(rest=""), [tag], REST)
    assert note == noted(unconfirmed(marks([tag])))
    assert judged.repair_attempts.most_for([tag.path]) == 1


def test_what_a_put_mended_is_counted_on():
    tried = RepairAttempts(MARKS, {SIZE: 2})
    judged, _ = after_own_put(tried, knowing(rest=""), [ABSENT], REST)
    assert judged == UpdateMemory(
        repair_attempts=RepairAttempts(frozenset(), tried.repairs)
    )


def test_the_most_stubborn_difference_counts():
    attempts = RepairAttempts().started(frozenset("ab"), "ab", at=1.0)
    attempts = attempts.started(frozenset("bc"), "bc", at=2.0)
    assert attempts.pending == frozenset("bc")
    assert attempts.most_for(attempts.pending) == 2
    assert RepairAttempts().most_for(()) == 0


def test_a_value_that_moves_by_itself_is_not_put_at_every_second_sync():
    attempts, puts = RepairAttempts(), 0
    for number in range(40):
        moved = number % 2 == 0
        decided = decide(rest=CHANGED_REST if moved else REST, repair_attempts=attempts)
        puts += decided.then == PUT
        attempts = decided.effects[0].repair_attempts
    assert puts == 3
    for _ in range(24):
        attempts = decide(repair_attempts=attempts).effects[0].repair_attempts
    assert decide(rest=CHANGED_REST, repair_attempts=attempts).then == PUT


@pytest.mark.parametrize(
    ("path", "kind", "is_shown"),
    [
        ("identity/userAssignedIdentities//subscriptions/s/x", "map-extra", True),
        ("properties/accessPolicies[one]/permissions/keys", "list-extra", True),
        ("properties/networkAcls/ipRules[0]", "list-extra", True),
        ("properties/publicNetworkAccess", "value", True),
        ("properties/firewallRules", "absent", False),
        ("properties/sku[firewall]/name", "value", False),
        ("tags/policy", "map-extra", False),
    ],
)
def test_what_azure_keeps_open_is_a_condition_for_as_long_as_it_does(
    path, kind, is_shown
):
    kept = Difference(path, kind, None, "x")
    tried = RepairAttempts(marks([kept]), {kept.path: 1})
    learnt = after_own_put(tried, knowing(rest=""), [kept], REST)
    later = decide(observed=knowing(*marks([kept])), found=[kept]).effects
    for effects in (learnt, later):
        shown = [one for one in effects if isinstance(one, SetDrifted)]
        assert bool(shown) is is_shown
        assert all(path in one.message for one in shown)


MOVED = Difference("properties/version", "value", "15", "16")


def test_ow8_a_guarded_value_is_not_put_back():
    decided = decide(found=[MOVED], guarded=[MOVED])
    assert decided.then == READ
    (drift,) = (one for one in decided.effects if isinstance(one, SetDrifted))
    assert "at properties/version: it is not put back" in drift.message
    assert "reconcile-at" in drift.message


def test_ow8_the_author_may_have_a_guarded_value_put_back():
    decided = decide(found=[MOVED], guarded=[MOVED], is_asked=True)
    assert decided.then == PUT
    assert not any(isinstance(one, SetDrifted) for one in decided.effects)


def test_ow8_other_differences_are_repaired_beside_a_guarded_one():
    decided = decide(found=[MOVED, CHANGED], guarded=[MOVED])
    assert decided.then == PUT
    (told,) = (one for one in decided.effects if isinstance(one, EmitEvent))
    assert "properties/size; it is put again" in told.message
    assert MOVED.path not in told.message
    (drift,) = (one for one in decided.effects if isinstance(one, SetDrifted))
    assert MOVED.path in drift.message


def test_ow8_what_the_last_put_left_is_put_again_once():
    known = knowing(*unconfirmed(marks([MOVED])))
    assert decide(observed=known, found=[MOVED], guarded=[MOVED]).then == PUT


def test_ow8_a_forced_put_does_not_put_a_guarded_value_back():
    decided = decide(found=[MOVED], guarded=[MOVED], is_forced=True)
    assert decided.then == READ


@pytest.mark.parametrize(
    ("known", "declared", "kept"),
    [(2000, 10, True), (9000, 10, True), (9, 9000, False)],
)
def test_a_record_is_never_too_long_to_be_read(known, declared, kept):
    """Its object would be held, whoever wrote the record."""
    record = DriftBaseline(
        "put",
        at="2026-01-01T00:00:00Z",
        known=frozenset(f"{i:012}" for i in range(known)),
        declared=frozenset(f"{i:012}" for i in range(declared)),
    )
    text = record.dumps()
    assert RECORD.fits(text)
    read = loads(text)
    assert (read.put, read.at) == (record.put, record.at)
    assert read.known <= record.known
    assert (read.declared == record.declared) is kept
    assert bool(read.known) is kept
