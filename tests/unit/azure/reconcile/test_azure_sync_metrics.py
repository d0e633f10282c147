"""Metrics of syncs: each is counted once as a PUT or none, and drift besides."""

import pytest
from prometheus_client import CollectorRegistry

from asoreconcile.azure.reconcile.state.sync_metrics import SyncMetrics


@pytest.mark.parametrize(
    ("cause", "is_put", "drift"),
    [
        ("drift", True, "declared"),
        ("drift", False, "declared"),
        ("undeclared", True, "undeclared"),
        ("unchanged", False, None),
        ("forced", True, None),
    ],
)
def test_a_sync_is_counted_by_what_it_found(cause, is_put, drift):
    registry = CollectorRegistry()
    SyncMetrics(registry).count(cause, is_put)

    def value(name, **labels):
        return registry.get_sample_value(f"asoreconcile_{name}_total", labels)

    counted = value("sync_puts", cause=cause), value("sync_puts_avoided", cause=cause)
    assert counted == ((1, None) if is_put else (None, 1))
    found = {one: value("drift_found", value=one) for one in ("declared", "undeclared")}
    assert found == dict.fromkeys(found) | ({drift: 1} if drift else {})
