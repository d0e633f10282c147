"""Maintenance windows."""

from datetime import timedelta

import pytest
from world import virtual_network

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.reconcile.model.annotations import MAINTENANCE_WINDOWS
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.policies import order
from asoreconcile.azure.reconcile.policies.phase import run


@pytest.fixture
def closed(world):
    opens = world.clock.now() + timedelta(hours=3)
    window = f"{opens.minute} {opens.hour} * * * 1h"
    world.annotate(virtual_network(), **{MAINTENANCE_WINDOWS: window})


@pytest.mark.parametrize("is_delete", [False, True])
def test_nothing_is_permitted_outside_a_window(closed, reconcile, is_delete):
    with pytest.raises(ConditionError) as refused:
        reconcile().permit(is_delete=is_delete)
    assert refused.value.reason == "OutsideMaintenanceWindow"
    assert 2 * 3600 < refused.value.after_seconds <= 3 * 3600


def test_a_sync_only_reports_outside_a_window(closed, reconcile):
    intent = run(order.BEFORE_BODY, reconcile().intent(), lambda intent: intent)
    assert getattr(intent, "mode", SyncMode.REPORT) is SyncMode.REPORT
