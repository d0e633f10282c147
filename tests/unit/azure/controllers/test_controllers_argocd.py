"""The health script that deploy/ offers for Argo CD, run over our own conditions."""

from datetime import UTC, datetime

import pytest
from argohealth import argo_health

from asoreconcile.azure.reconcile.model.conditions import (
    ReadyCondition,
    deleting,
    merge_ready,
    reconciling,
    succeeded,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WARNING = ReadyCondition("False", "Conflict", "Warning", "Busy.", 1)
ERROR = ReadyCondition("False", "LocationRequired", "Error", "Say where.", 1)


def shown(ready, generation=1):
    return {
        "metadata": {"name": "x", "generation": generation},
        "status": {"conditions": merge_ready([], ready, NOW)},
    }


@pytest.mark.parametrize(
    ("obj", "status", "message"),
    [
        ({"metadata": {"generation": 1}}, "Progressing", "no Ready condition yet"),
        ({"metadata": {"generation": 1}, "status": {}}, "Progressing", "no Ready condition yet"),
        (shown(reconciling(1)), "Progressing", reconciling(1).message),
        (shown(deleting(1)), "Progressing", deleting(1).message),
        (shown(succeeded(1)), "Healthy", "Succeeded"),
        (shown(WARNING), "Degraded", "Conflict: Busy."),
        (shown(ERROR), "Degraded", "LocationRequired: Say where."),
        (
            shown(succeeded(1), generation=2),
            "Progressing",
            "the last change has not been looked at yet",
        ),
        (shown(ERROR, generation=2), "Progressing", "the last change has not been looked at yet"),
    ],
    ids=[
        *("new", "empty-status", "reconciling", "deleting", "ready", "warning"),
        *("error", "ready-of-an-older-spec", "error-of-an-older-spec"),
    ],
)  # fmt: skip
def test_health_is_what_the_ready_condition_says(obj, status, message):
    assert argo_health(obj) == (status, message)


def test_other_conditions_are_not_looked_at():
    obj = shown(succeeded(1))
    obj["status"]["conditions"].insert(
        0, {"type": "Other", "status": "False", "reason": "x", "message": "y"}
    )
    assert argo_health(obj)[0] == "Healthy"
