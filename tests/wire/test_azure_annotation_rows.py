"""A wrong value of each annotation, on an object or its Namespace: it holds PUTs exactly
if its row says so, is reported, and nothing remains of it once it is corrected.
"""

import pytest
from annotationsamples import LONG, SAMPLES
from world import World, resource_group, virtual_network

from asoreconcile.azure.reconcile.model.annotation_row import Whose
from asoreconcile.azure.reconcile.model.annotation_table import TABLE
from asoreconcile.azure.reconcile.model.annotations import CREDENTIAL_FROM
from asoreconcile.base.objects import ObjectKey, key_of
from asoreconcile.kube.resources import NAMESPACES

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"
# The world has one credential for all objects: that a wrong name of a Secret holds is in
# the tests of `credential_resolver`.
CASES = [
    (row, place, SAMPLES[row.name][2])
    for row in TABLE.rows
    for place in ("own", "namespace")
    if (row.name, place) != (CREDENTIAL_FROM, "own")
]


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=0.0) as running:
        running.install(GROUPS, NETWORKS)
        running.settled(resource_group())
        yield running


@pytest.fixture
def network(world):
    """A network that is Ready."""
    return world.settled(virtual_network())


def annotate(world, network, place, name, value):
    if place == "own":
        world.annotate(network, **{name: value})
    else:
        body = {"metadata": {"annotations": {name: value}}}
        namespace = ObjectKey("", key_of(world.read(network)).namespace)
        world.client.patch(NAMESPACES, namespace, body)


def puts_of_a_change(world, network, tag):
    before = len(world.requests("PUT", "virtualNetworks"))
    world.apply(virtual_network(tags={"change": tag}))
    for _ in range(3):
        world.clock.advance(world.run(network).requeue_after_seconds or 0.0)
    return len(world.requests("PUT", "virtualNetworks")) - before


@pytest.mark.parametrize(
    ("row", "place", "text"),
    CASES,
    ids=[f"{row.name}-{place}-{text[:12]}" for row, place, text in CASES],
)
def test_r1_7_a_wrong_value_holds_puts_exactly_if_its_row_says_so(
    world, network, row, place, text
):
    nowhere = Whose.OBJECT if place == "namespace" else Whose.NAMESPACE
    # A value that is too long is not read, so it always holds.
    holds = (row.holds_writes and row.whose is not nowhere) or text == LONG
    annotate(world, network, place, row.name, text)
    assert bool(puts_of_a_change(world, network, "a")) is not holds
    told = [e[3] for e in world.events if e[2] == "UnknownAnnotationValue"]
    message = world.ready(network).get("message", "")
    assert row.name in message
    assert text == LONG or any(row.name in one for one in told)
    annotate(world, network, place, row.name, None)
    assert puts_of_a_change(world, network, "b")
    assert row.name not in world.ready(network).get("message", "")
