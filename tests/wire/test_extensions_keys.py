"""Keys are asked of Azure once, and again only when there is a reason."""

import base64

import pytest
from world import World, resource_group

from asoreconcile.azure.reconcile.state.export_cache import EXPORTED, ROTATE
from asoreconcile.base.objects import ObjectKey, annotations
from asoreconcile.kube.resources import SECRETS

SECRET = ObjectKey("default", "redis-keys")


def redis(**spec):
    return {
        "apiVersion": "cache.azure.com/v20241101",
        "kind": "Redis",
        "metadata": {"name": "carts"},
        "spec": {
            "owner": {"name": "rg"},
            "location": "westeurope",
            "sku": {"family": "C", "name": "Standard", "capacity": 1},
            "operatorSpec": {
                "secrets": {
                    "primaryKey": {"name": "redis-keys", "key": "primary"},
                    "hostName": {"name": "redis-keys", "key": "host"},
                }
            },
            **spec,
        },
    }


@pytest.fixture
def world(tmp_path):
    with World(tmp_path, retry_after=1) as running:
        running.install("resources.azure.com/ResourceGroup", "cache.azure.com/Redis")
        for obj in (resource_group(), redis()):
            running.apply(obj)
            running.settle(obj)
        yield running


def asked(world):
    return len(world.requests("POST", "/listKeys"))


def secret(world):
    data = world.client.get(SECRETS, SECRET)["data"]
    return {name: base64.b64decode(value).decode() for name, value in data.items()}


def test_syncs_ask_for_no_keys(world):
    before = world.client.get(SECRETS, SECRET)
    for _ in range(3):
        world.clock.advance(3600.0)
        world.run(redis())
    assert asked(world) == 1
    assert world.client.get(SECRETS, SECRET) == before
    assert secret(world)["host"] == "carts.redis.cache.windows.net"


def test_the_note_survives_a_restart_and_holds_no_key(world):
    world.restart()
    world.run(redis())
    assert asked(world) == 1
    text = annotations(world.read(redis()))[EXPORTED]
    assert secret(world)["primary"] not in text
    assert world.client.get(SECRETS, SECRET)["data"]["primary"] not in text


@pytest.mark.parametrize("change", ["deleted", "edited", "rotated", "new-request"])
def test_a_reason_asks_again(world, change):
    obj = redis()
    match change:
        case "deleted":
            world.client.delete(SECRETS, SECRET)
        case "edited":
            world.client.patch(SECRETS, SECRET, {"stringData": {"primary": "mine"}})
        case "rotated":
            obj["metadata"]["annotations"] = {ROTATE: "2026-11-21"}
            world.apply(obj)
        case "new-request":
            secrets = {"secondaryKey": {"name": "redis-keys", "key": "second"}}
            obj = redis(operatorSpec={"secrets": secrets})
            world.apply(obj)
    world.settle(obj)
    world.run(obj)
    assert asked(world) == 2
    assert "mine" not in secret(world).values()
    world.run(obj)
    assert asked(world) == 2


def test_an_export_that_failed_is_tried_again(world):
    world.azure.faults.answer("POST", "/listKeys", 500, code="InternalServerError")
    world.client.delete(SECRETS, SECRET)
    world.run(redis())
    assert world.ready(redis())["status"] == "False"
    world.settle(redis())
    assert asked(world) == 3
    assert set(secret(world)) == {"primary", "host"}
