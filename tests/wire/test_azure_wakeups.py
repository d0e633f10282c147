"""Changes whose events come while a pass runs that may have read them (D13)."""

import pytest
from meanwhile import Meanwhile
from world import World, postgres_server, resource_group

from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.base.objects import (
    GroupKind,
    ObjectKey,
    gvk_of,
    key_of,
    resource_version,
)
from asoreconcile.kube.resources import SECRETS

GROUPS = "resources.azure.com/ResourceGroup"
SERVERS = "dbforpostgresql.azure.com/FlexibleServer"
SERVER = GroupKind("dbforpostgresql.azure.com", "FlexibleServer")
PASSWORD = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "db-admin", "namespace": "default"},
    "stringData": {"password": "Sesame-1"},
}


@pytest.fixture
def meanwhile():
    return Meanwhile(SERVER)


@pytest.fixture
def world(tmp_path, meanwhile):
    with World(tmp_path, extensions=[meanwhile.set]) as running:
        running.azure.styles.change(
            "Microsoft.DBforPostgreSQL/flexibleServers", create="201"
        )
        running.install(GROUPS, SERVERS)
        running.client.create(SECRETS, PASSWORD)
        running.settled(resource_group())
        yield running


def present(world, obj):
    resource = SECRETS if obj["kind"] == "Secret" else world.resource_for(obj)
    return world.client.get(resource, ObjectKey("default", key_of(obj).name))


def told(world, obj):
    """The event of what an object is now comes."""
    node = ObjectReference(
        gvk_of(obj).group_kind, ObjectKey("default", key_of(obj).name)
    )
    world.tell(postgres_server(), node, resource_version(present(world, obj)))


def touch(world, obj):
    resource = SECRETS if obj["kind"] == "Secret" else world.resource_for(obj)
    body = {"metadata": {"labels": {"touched": "yes"}}}
    world.client.patch(resource, ObjectKey("default", key_of(obj).name), body)


@pytest.mark.parametrize("target", [resource_group(), PASSWORD], ids=["owner", "input"])
@pytest.mark.parametrize("when", ["before_put", "after_put"])
def test_d13_what_the_pass_puts_for_is_not_put_for_again(
    world, meanwhile, target, when
):
    setattr(meanwhile, when, lambda: told(world, target))
    server = world.settled(postgres_server())
    assert world.ready(server)["status"] == "True"
    assert world.woken == []
    assert len(world.requests("PUT", "flexibleServers")) == 1


@pytest.mark.parametrize("target", [resource_group(), PASSWORD], ids=["owner", "input"])
def test_d13_what_changes_after_the_pass_has_read_it_wakes(world, meanwhile, target):
    def changed():
        touch(world, target)
        told(world, target)

    meanwhile.after_put = changed
    world.settled(postgres_server())
    assert world.woken == [key_of(world.read(postgres_server()))]


def test_d13_a_secret_read_for_a_text_alone_was_not_looked_at(world):
    """A refused read names no value of it; its change is still to be put."""
    server = postgres_server()
    world.azure.styles.change(
        "Microsoft.DBforPostgreSQL/flexibleServers", create="202 A 10 empty"
    )
    world.apply(server)
    world.run(server)
    world.azure.faults.answer("GET", "flexibleServers/", 403, code="Forbidden")
    inner, read = world.operator.client.get, []

    def get(resource, key):
        if resource is SECRETS and not read:
            read.append(key)
            touch(world, PASSWORD)
            told(world, PASSWORD)
        return inner(resource, key)

    world.clock.advance(60.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.operator.client, "get", get)
        world.run(server)
    assert world.ready(server)["reason"] == "Forbidden"
    assert read
    assert world.woken == [key_of(world.read(server))]


def test_d13_what_comes_once_the_pass_has_missed_it_wakes(world):
    """Its back-off is a safety net only."""
    world.client.delete(SECRETS, key_of(PASSWORD))
    server = postgres_server()
    world.apply(server)
    inner = world.operator.client.get

    def get(resource, key):
        try:
            return inner(resource, key)
        finally:
            if resource is SECRETS and not missed:
                missed.append(key)
                world.client.create(SECRETS, PASSWORD)
                told(world, PASSWORD)

    missed = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.operator.client, "get", get)
        world.run(server)
    assert missed
    assert world.woken == [key_of(world.read(server))]
    assert world.ready(server)["reason"] == "SecretNotFound"
