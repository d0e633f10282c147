"""A status is written over the object that its reconcile knows, or computed again."""

import attrs
import pytest
from world import World, resource_group

from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY
from asoreconcile.base.objects import key_of, resource_version
from asoreconcile.kube.errors import ConflictError

GROUPS = "resources.azure.com/ResourceGroup"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as running:
        running.install(GROUPS)
        yield running


@pytest.fixture
def group(world):
    return world.settled(resource_group(tags={"team": "red"}))


class Meddling:
    """A client of the API server; before each write of a status, something happens."""

    def __init__(self, client, meddle):
        self._client, self._meddle = client, meddle
        self.bodies = []

    def __getattr__(self, name):
        return getattr(self._client, name)

    def patch(self, resource, key, body, *, subresource="", **options):
        if subresource == "status":
            self.bodies.append(body)
            self._meddle()
        return self._client.patch(
            resource, key, body, subresource=subresource, **options
        )


def run(world, obj, meddle, **options):
    """Reconcile, with something that happens before each status write."""
    client = Meddling(world.client, meddle)
    world.azure.journal.clear()
    operator = attrs.evolve(world.operator, client=client)
    world.run_once(obj, operator=operator, **options)
    return client.bodies


def puts(world):
    return len(world.requests("PUT"))


def test_r1_16_a_status_is_conditional_on_the_version_that_is_known(world, group):
    world.apply(resource_group(tags={"team": "blue"}))
    (body,) = run(world, group, lambda: None)
    before = body["metadata"]
    assert before.keys() == {"uid", "resourceVersion"}
    assert world.read(group)["status"]["tags"] == {"team": "blue"}


def test_r1_16_a_status_is_computed_again_over_an_edit(world, group):
    """Azure's answer is not lost, and Azure is asked nothing more."""
    world.apply(resource_group(tags={"team": "blue"}))
    edits = iter(range(3))

    def edit():
        if (number := next(edits, None)) is not None:
            world.annotate(group, edited=str(number))

    bodies = run(world, group, edit)
    stored = world.read(group)
    assert len(bodies) == 4
    assert puts(world) == 1
    assert stored["status"]["tags"] == {"team": "blue"}
    assert world.ready(group)["observedGeneration"] == 2
    assert stored["metadata"]["annotations"]["edited"] == "2"


def test_r1_16_a_spec_that_is_edited_meanwhile_keeps_the_status_of_the_older(
    world, group
):
    world.apply(resource_group(tags={"team": "blue"}))
    edits = iter([resource_group(tags={"team": "green"})])

    def edit():
        if (newer := next(edits, None)) is not None:
            world.apply(newer)

    run(world, group, edit)
    assert puts(world) == 1
    assert world.ready(group)["observedGeneration"] == 2
    assert world.read(group)["spec"]["tags"] == {"team": "green"}


def test_r1_16_an_object_that_never_rests_is_tried_again_later(world, group):
    world.apply(resource_group(tags={"team": "blue"}))
    numbers = iter(range(100))
    with pytest.raises(ConflictError):
        run(world, group, lambda: world.annotate(group, edited=str(next(numbers))))
    assert puts(world) == 1
    world.run(group)
    assert puts(world) == 1  # the accepted PUT is not sent again
    assert world.ready(group)["status"] == "True"


def test_r1_16_a_late_status_does_not_replace_a_newer_one(world, group):
    """A former leader still reads while the present one has reconciled a newer spec."""
    world.annotate(group, **{RECONCILE_POLICY: "skip"})
    old = world.read(group)
    world.azure.seed(old["status"]["id"], {**in_azure(world, old), "tags": {"a": "1"}})
    world.apply(resource_group(tags={"team": "blue"}))
    world.run(group)
    newer = world.read(group)
    assert world.ready(group)["observedGeneration"] == 2
    world.azure.seed(old["status"]["id"], {**in_azure(world, old), "tags": {}})
    run(world, group, lambda: None, stale=old)
    assert world.read(group)["status"] == newer["status"]
    assert resource_version(world.read(group)) == resource_version(newer)


def in_azure(world, obj):
    return world.azure.resources()[obj["status"]["id"]]


def test_r1_16_an_object_that_goes_meanwhile_ends_the_reconcile(world, group):
    world.apply(resource_group(tags={"team": "blue"}))

    def replace():
        resource, key = world.resource_for(group), key_of(group)
        world.client.patch(resource, key, {"metadata": {"finalizers": []}})
        world.client.delete(resource, key)

    run(world, group, replace)
    assert world.read(group) is None
    assert not world.remembers(group)


@pytest.mark.parametrize("is_cached", [False, True])
def test_r1_16_a_late_status_of_the_same_spec_does_not_replace_a_newer_one(
    world, group, is_cached
):
    """The former leader learns of it from a conflict; if its cache is behind, from the
    answer to its own write of metadata.
    """
    world.apply(resource_group(tags={"team": "blue"}))
    edited = world.read(group)
    resource, key = world.resource_for(group), key_of(group)
    newer = {"status": {"tags": {"team": "newer"}}}

    def write():
        world.client.patch(resource, key, newer, subresource="status")

    if is_cached:
        write()
    bodies = run(world, group, write, stale=edited)
    assert len(bodies) == (0 if is_cached else 1)
    assert world.read(group)["status"]["tags"] == {"team": "newer"}
    world.run(group)
    assert world.read(group)["status"]["tags"] == {"team": "blue"}
    assert puts(world) == 1
