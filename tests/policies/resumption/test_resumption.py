"""Resumption of objects that the previous process left in order."""

import attrs
from world import virtual_network

from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED, last_put_of
from asoreconcile.base.objects import annotations


def test_a_new_process_reads_nothing_for_an_object_in_order(world):
    network = virtual_network()
    record = last_put_of(annotations(world.read(network)))
    settled = attrs.evolve(record, rest=record.rest or "1")  # it was looked at
    world.annotate(network, **{OBSERVED: settled.dumps()})
    world.restart()
    result = world.run(network)
    assert list(world.azure.journal) == []
    assert result.requeue_after_seconds > 0
