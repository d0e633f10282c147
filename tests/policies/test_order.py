"""The order of the phases: each constraint that `order` states, as a property."""

import random

import attrs
import pytest

from asoreconcile.azure.reconcile.policies import (
    adoption,
    checks,
    core,
    drift,
    exports,
    foreign_values,
    order,
    put_budget,
    resumption,
)
from asoreconcile.azure.reconcile.policies.phase import run


@attrs.frozen
class Asked:
    seen: tuple[int, ...] = ()


class End:
    pass


def phase_of(number, kind, end, called):
    def phase(request):
        called.append(number)
        match kind:
            case "go on":
                return None
            case "change":
                return Asked((*request.seen, number))
            case "end":
                return end
        raise KeyError(number)

    return phase


@pytest.mark.parametrize("seed", range(40))
def test_the_first_end_counts_and_changes_are_passed_on(seed):
    draw, called, end, last = random.Random(seed), [], End(), End()
    kinds = draw.choices(["go on", "change", "end", "raise"], [6, 4, 1, 1], k=8)
    stop = next((n for n, k in enumerate(kinds) if k in ("end", "raise")), len(kinds))
    left = []

    def then(request):
        left.append(request)
        return last

    phases = [phase_of(n, kind, end, called) for n, kind in enumerate(kinds)]
    if stop < len(kinds) and kinds[stop] == "raise":
        with pytest.raises(KeyError, match=str(stop)):
            run(phases, Asked(), then)
        assert not left
    elif stop < len(kinds):
        assert run(phases, Asked(), then) is end
        assert not left
    else:
        assert run(phases, Asked(), then) is last
        changes = tuple(n for n, kind in enumerate(kinds) if kind == "change")
        assert left == [Asked(changes)]
    assert called == list(range(min(stop + 1, len(kinds))))


def test_what_counts_or_reports_a_put_comes_after_its_permission():
    counting = {
        put_budget.within_budget,
        adoption.report_adoption,
        foreign_values.report_foreign_values,
    }
    counting |= {drift.count_repair}
    assert counting == set(order.AT_PUT)
    assert order.BEFORE_PUT[-1] is order._permitted
    others = (*order.BEFORE_BODY, *order.DECIDE, *order.BEFORE_PUT)
    assert not counting & set(others)


def test_progress_is_shown_once_nothing_but_the_permission_can_end_the_reconcile():
    _, after = split(order.BEFORE_PUT, core.show_progress)
    assert not {adoption.meet_existing, adoption.look_first} & set(after)


def test_nothing_that_reads_azure_comes_before_resumption():
    before, _ = split(order.BEFORE_BODY, resumption.resume)
    assert {one.__module__.rpartition(".")[2] for one in before} <= {
        "core",  # the owner and the claim: reads of the cluster
        "drift",  # the recall of its counts
        "maintenance_windows",
        "placeholders",
        "put_budget",
    }
    assert not {drift.sync, core.own_subscription} & set(before)


def test_a_right_is_asked_before_the_credential_and_azure_last():
    phases = order.BEFORE_DELETE
    assert phases.index(core.never_put) < phases.index(core.claimed_subscription)
    assert phases[-1] is adoption.leave_anothers


def test_an_export_comes_after_everything_that_may_fail():
    _, after = split(order.SETTLED, exports.export_values)
    assert after == (checks.report_success,)
    assert order.SETTLED[0] is core.own_id


def split(phases, at):
    place = phases.index(at)
    return phases[:place], phases[place + 1 :]
