"""Exported values follow Azure, and cost at most one request a period."""

import base64
from datetime import timedelta

import attrs
import pytest
from world import World, resource_group

from asoreconcile.azure.reconcile.model.annotations import (
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
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


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, retry_after=1) as running:
        running.operator = attrs.evolve(running.operator, sync_mode=SyncMode.COMPARE)
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


def regenerate(world, primary):
    """Make Azure answer as after a key was regenerated."""
    world.azure.faults.answer(
        "POST",
        "/listKeys",
        200,
        body={"primaryKey": primary, "secondaryKey": "s"},
    )


def sync(world, obj=None, seconds=3600.0):
    world.clock.advance(seconds)
    return world.run(obj or redis())


def test_a_key_that_was_regenerated_reaches_its_secret_with_the_next_sync(world):
    regenerate(world, "new-key")
    sync(world)
    assert secret(world)["primary"] == "new-key"
    world.restart()
    sync(world)
    regenerate(world, "newer-key")
    sync(world)
    assert secret(world)["primary"] == "newer-key"
    assert world.ready(redis())["status"] == "True"


def test_a_sync_asks_once_and_writes_nothing_if_nothing_differs(world):
    before, stored = world.client.get(SECRETS, SECRET), world.read(redis())
    for _ in range(3):
        sync(world)
    assert asked(world) == 4
    assert world.client.get(SECRETS, SECRET) == before
    assert world.read(redis()) == stored
    assert secret(world)["host"] == "carts.redis.cache.windows.net"


def test_keys_are_asked_for_at_most_once_an_hour(world):
    """However short the period is, and whatever else causes a reconcile."""
    world.set_period(redis(), 900.0)
    for _ in range(8):
        sync(world, seconds=900.0)
        world.annotate(redis(), **{"example.com/touched": str(world.clock.monotonic())})
        sync(world, seconds=5.0)
    assert asked(world) == 3


def test_without_a_sync_period_keys_are_asked_for_on_request_only(world):
    world.set_period(redis(), None)
    for _ in range(3):
        sync(world)
    assert asked(world) == 1
    world.annotate(redis(), **{ROTATE: "now"})
    world.run(redis())
    assert asked(world) == 2


FAILURES = {
    "403": {"status": 403, "code": "AuthorizationFailed"},
    "404": {"status": 404, "code": "ResourceNotFound"},
    "429": {"status": 429, "code": "TooManyRequests"},
    "500": {"status": 500, "code": "InternalServerError"},
    "null": {"status": 200, "body": {"primaryKey": None}},
    "empty": {"status": 200, "body": {"primaryKey": ""}},
    "missing": {"status": 200, "body": {}},
    "no object": {"status": 200, "body": {"primaryKey": {"value": "x"}}},
}


def export_failed(world, obj=None):
    conditions = world.read(obj or redis())["status"]["conditions"]
    return next((c for c in conditions if c["type"] == "ExportFailed"), None)


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_a_request_that_fails_keeps_ready_and_the_secret_and_is_said(world, failure):
    before = world.client.get(SECRETS, SECRET)
    world.azure.faults.answer("POST", "/listKeys", **failure)
    sync(world)
    assert world.ready(redis())["status"] == "True"
    assert world.client.get(SECRETS, SECRET) == before
    condition = export_failed(world)
    assert (condition["status"], condition["reason"]) == ("True", "FetchFailed")
    assert "keep the values of the last export" in condition["message"]
    told = [e for e in world.events if e[2] == "ExportFailed"]
    assert [e[1] for e in told] == ["Warning"]
    # It says so until a request succeeds, and asks no more often than otherwise.
    sync(world, seconds=60.0)
    assert export_failed(world) == condition
    assert asked(world) == 2
    sync(world)
    assert export_failed(world) is None
    assert asked(world) == 3


@pytest.mark.parametrize("period", [3600.0, None], ids=["hourly", "never"])
def test_keys_of_a_resource_that_was_made_again_are_fetched_again(world, period):
    """By a PUT of ours, which knows it although Azure shows no birth."""
    world.set_period(redis(), period)
    world.run(redis())
    arm_id = annotations(world.read(redis()))[RESOURCE_ID]
    before, dead = asked(world), secret(world)["primary"]
    world.azure.remove(arm_id)
    regenerate(world, "key-of-the-new-one")
    world.settle(redis())
    world.run(redis())
    world.settle(redis())
    assert (asked(world), secret(world)["primary"]) == (
        before + 1,
        "key-of-the-new-one",
    )
    assert dead != secret(world)["primary"]


def test_keys_of_a_resource_that_another_made_again_are_fetched_again(world):
    """Its birth is another one than that of the record."""
    arm_id = annotations(world.read(redis()))[RESOURCE_ID]

    def born(at):
        body = world.azure.resources()[arm_id]
        world.azure.seed(arm_id, {**body, "systemData": {"createdAt": at}})

    born("2024-05-06T03:07:29Z")
    sync(world)
    before = asked(world)
    sync(world, seconds=60.0)
    assert asked(world) == before
    born("2024-05-07T03:07:29Z")
    regenerate(world, "another")
    sync(world, seconds=60.0)
    assert (asked(world), secret(world)["primary"]) == (before + 1, "another")


def test_extra_members_of_an_answer_are_ignored(world):
    body = {"primaryKey": "k", "secondaryKey": None, "tertiaryKey": "x"}
    world.azure.faults.answer("POST", "/listKeys", 200, body=body)
    sync(world)
    assert secret(world) == {"primary": "k", "host": "carts.redis.cache.windows.net"}


def test_a_failed_request_of_rotate_secrets_is_not_repeated_with_each_event(world):
    world.azure.faults.answer("POST", "/listKeys", 500, times=9)
    world.annotate(redis(), **{ROTATE: "now"})
    for _ in range(4):
        sync(world, seconds=5.0)
    assert asked(world) == 2
    assert world.ready(redis())["status"] == "True"
    assert export_failed(world)


def test_a_new_key_that_cannot_be_fetched_leaves_the_object_not_ready(world):
    """Ready=True would promise a key that is missing."""
    world.azure.faults.answer("POST", "/listKeys", 500)
    secrets = {
        "primaryKey": {"name": "redis-keys", "key": "primary"},
        "secondaryKey": {"name": "redis-keys", "key": "second"},
    }
    obj = redis(operatorSpec={"secrets": secrets})
    world.apply(obj)
    world.run(obj)
    assert world.ready(obj)["status"] == "False"
    world.settle(obj)
    assert secret(world)["second"]


def test_a_changed_status_asks_again_only_if_it_is_exported(world):
    keys = {"primaryKey": {"name": "redis-keys", "key": "primary"}}
    obj = redis(operatorSpec={"secrets": keys})
    world.apply(obj)
    world.settle(obj)
    before = asked(world)
    id_ = annotations(world.read(obj))[RESOURCE_ID]
    body = world.azure.resources()[id_]
    for host in ("a", "b", "c"):
        properties = {**body["properties"], "hostName": host}
        world.azure.seed(id_, {**body, "properties": properties})
        sync(world, obj, seconds=60.0)
        assert world.read(obj)["status"]["hostName"] == host
    assert asked(world) == before


def test_the_record_survives_a_restart_and_holds_no_key(world):
    world.restart()
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


HCP = "redhatopenshift.azure.com/HcpOpenShiftCluster"
DAY = 24 * 3600.0


@pytest.fixture
def cluster(world):
    """A cluster whose credential, made by a request, is valid for a day."""
    world.install(HCP)
    answer_with_a_credential(world, "first")
    return world.settled(hcp())


def hcp(**spec):
    secrets = {"adminCredentials": {"name": "hcp", "key": "kubeconfig"}}
    return {
        "apiVersion": "redhatopenshift.azure.com/v1api20260630preview",
        "kind": "HcpOpenShiftCluster",
        "metadata": {"name": "hcp"},
        "spec": {
            "owner": {"name": "rg"},
            "location": "westeurope",
            "operatorSpec": {"secrets": secrets},
            **spec,
        },
    }


def answer_with_a_credential(world, text, lifetime=DAY):
    expires = world.clock.now() + timedelta(seconds=lifetime)
    body = {"kubeconfig": text, "expirationTimestamp": expires.isoformat()}
    faults = world.azure.faults
    faults.answer("POST", "requestAdminCredential", 200, body=body)


def made(world):
    return len(world.requests("POST", "requestAdminCredential"))


def kubeconfig(world):
    data = world.client.get(SECRETS, ObjectKey("default", "hcp"))["data"]
    return base64.b64decode(data["kubeconfig"]).decode()


def test_a_credential_is_made_again_at_two_thirds_of_its_life(world, cluster):
    for _ in range(15):
        sync(world, cluster)
    assert made(world) == 1
    answer_with_a_credential(world, "second")
    result = sync(world, cluster, seconds=1800.0)
    assert made(world) == 1
    assert result.requeue_after_seconds <= 1800.0
    sync(world, cluster, seconds=1800.0)
    assert (made(world), kubeconfig(world)) == (2, "second")
    assert world.ready(cluster)["status"] == "True"
    for _ in range(15):
        sync(world, cluster)
    assert made(world) == 2


def test_r1_8_an_object_that_only_reads_makes_no_credential(world, cluster):
    world.annotate(cluster, **{RECONCILE_POLICY: "skip", ROTATE: "now"})
    for _ in range(3):
        sync(world, cluster)
    assert made(world) == 1
    assert kubeconfig(world) == "first"
    world.annotate(cluster, **{RECONCILE_POLICY: None})
    for _ in range(3):
        sync(world, cluster)
    assert made(world) > 1


def test_a_restart_makes_no_other_credential(world, cluster):
    for _ in range(3):
        world.restart()
        sync(world, cluster)
    assert made(world) == 1


def test_k3_metadata_of_an_exported_secret_makes_no_other_credential(world, cluster):
    """A tool that copies Secrets annotates them; so does a restored cluster."""
    for number in range(3):
        note = {"metadata": {"annotations": {"copied-by": f"tool {number}"}}}
        world.client.patch(SECRETS, ObjectKey("default", "hcp"), note)
        sync(world, cluster)
    assert made(world) == 1


def test_a_credential_is_renewed_without_a_sync_period_too(world, cluster):
    world.set_period(cluster, None)
    result = world.run(cluster)
    assert DAY / 2 < result.requeue_after_seconds <= DAY * 2 / 3
    answer_with_a_credential(world, "second")
    sync(world, cluster, seconds=result.requeue_after_seconds + 1.0)
    assert kubeconfig(world) == "second"


@pytest.mark.parametrize("change", ["rotated", "deleted", "other target"])
def test_another_credential_is_made_on_request_and_for_a_lost_target(
    world, cluster, change
):
    answer_with_a_credential(world, "second")
    obj = cluster
    match change:
        case "rotated":
            world.annotate(obj, **{ROTATE: "now"})
        case "deleted":
            world.client.delete(SECRETS, ObjectKey("default", "hcp"))
        case "other target":
            secrets = {"adminCredentials": {"name": "hcp", "key": "config"}}
            obj = hcp(operatorSpec={"secrets": secrets})
            world.apply(obj)
    world.settle(obj)
    assert made(world) == 2
    for _ in range(3):
        sync(world, obj, seconds=60.0)
    assert made(world) == 2


def test_a_change_of_spec_or_status_makes_no_other_credential(world, cluster):
    id_ = annotations(world.read(cluster))[RESOURCE_ID]
    body = world.azure.resources()[id_]
    world.azure.seed(id_, {**body, "tags": {"by": "hand"}})
    sync(world, cluster)
    edited = hcp(tags={"a": "b"})
    world.apply(edited)
    world.settle(edited)
    assert made(world) == 1


def test_a_renewal_that_fails_keeps_ready_and_is_tried_again(world, cluster):
    world.azure.faults.answer("POST", "requestAdminCredential", 500, times=2)
    result = sync(world, cluster, seconds=DAY * 2 / 3 + 1.0)
    assert world.ready(cluster)["status"] == "True"
    assert (kubeconfig(world), made(world)) == ("first", 2)
    assert export_failed(world, cluster)
    assert result.requeue_after_seconds <= 900.0
    sync(world, cluster, seconds=900.0)
    answer_with_a_credential(world, "second")
    sync(world, cluster, seconds=900.0)
    assert (kubeconfig(world), made(world)) == ("second", 4)
    assert export_failed(world, cluster) is None
