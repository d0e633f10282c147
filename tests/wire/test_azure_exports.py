"""Exported Secrets and ConfigMaps: whose they are, what goes into them, when they
go.
"""

import base64

import attrs
import pytest
from world import World, resource_group

from asoreconcile.azure.reconcile.model.annotations import CREDENTIAL_FROM
from asoreconcile.azure.reconcile.model.put_budget import MOST_PUTS, PutBudget
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.state.export_cache import EXPORTED
from asoreconcile.base import jsontext
from asoreconcile.base.objects import (
    ObjectKey,
    annotations,
    labels,
    owner_references,
    uid_of,
)
from asoreconcile.kube.resources import CONFIG_MAPS, NAMESPACES, SECRETS
from asoreconcile.kube.selection import Selection
from asoreconcile.redaction import forget_all
from asoreconcile.testing.http import HttpResponse

SECRET = ObjectKey("default", "redis-keys")
FAILED = "FailedWritingAdditionalKubernetesObjects"


def redis(**operator_spec):
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
                    "primaryKey": {"name": SECRET.name, "key": "primary"},
                    "hostName": {"name": SECRET.name, "key": "host"},
                },
                **operator_spec,
            },
        },
    }


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, retry_after=1) as running:
        running.install("resources.azure.com/ResourceGroup", "cache.azure.com/Redis")
        running.settled(resource_group())
        yield running


@pytest.fixture
def cache(world):
    """A cache whose keys are exported."""
    obj = redis()
    world.apply(obj)
    return world.settle(obj)


def secret(world):
    data = world.client.get(SECRETS, SECRET)["data"]
    return {name: base64.b64decode(value).decode() for name, value in data.items()}


def secret_of(owner, **data):
    """A Secret as another program would have left it."""
    reference = {
        "apiVersion": "cache.azure.com/v1api20230801storage",
        "kind": "Redis",
        "name": "carts",
        "uid": uid_of(owner),
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": SECRET.name,
            "namespace": "default",
            "ownerReferences": [reference],
        },
        "stringData": data,
    }


def test_r9_2_several_keys_of_one_secret_are_one_object(world, cache):
    assert set(secret(world)) == {"primary", "host"}
    (owner,) = owner_references(world.client.get(SECRETS, SECRET))
    assert owner["uid"] == uid_of(cache)


def test_r9_3_one_key_twice_is_an_error_and_nothing_is_written(world):
    twice = {"name": SECRET.name, "key": "same"}
    obj = redis(secrets={"primaryKey": twice, "secondaryKey": twice})
    world.apply(obj)
    for _ in range(3):
        world.clock.advance(world.run(obj).requeue_after_seconds)
    ready = world.ready(obj)
    assert (ready["severity"], ready["reason"]) == ("Error", FAILED)
    assert world.client.list_page(Selection(SECRETS, "default")).items == []


def test_r9_5_exports_go_with_their_resource(world, cache):
    world.delete(cache)
    assert world.settle(cache) is None
    assert world.client.list_page(Selection(SECRETS, "default")).items == []


def test_r9_7_d14_a_label_that_a_user_gave_stays(world, cache):
    world.client.patch(SECRETS, SECRET, {"metadata": {"labels": {"team": "red"}}})
    world.client.patch(SECRETS, SECRET, {"data": {"host": None}})
    world.run(cache)
    assert labels(world.client.get(SECRETS, SECRET)) == {"team": "red"}
    assert set(secret(world)) == {"primary", "host"}


def test_d14_keys_that_another_operator_left_behind_go(world):
    """A cluster taken over has Secrets of another field manager."""
    obj = redis()
    stored = world.apply(obj)
    left = secret_of(stored, primary="old", gone="since long")
    world.client.create(SECRETS, left, field_manager="aso-controller")
    world.settle(obj)
    assert set(secret(world)) == {"primary", "host"}
    before = world.client.get(SECRETS, SECRET)
    world.run(obj)
    assert world.client.get(SECRETS, SECRET) == before


def test_d14_another_s_secret_is_refused_before_it_is_touched(world):
    obj = redis()
    world.apply(obj)
    # An owner that is there, or the garbage collector would take the Secret.
    namespace = world.client.get(NAMESPACES, ObjectKey("", "default"))
    theirs = secret_of(namespace, primary="theirs")
    before = world.client.create(SECRETS, theirs)
    for _ in range(3):
        world.clock.advance(world.run(obj).requeue_after_seconds)
    assert world.ready(obj)["reason"] == FAILED
    assert world.client.get(SECRETS, SECRET) == before


def test_a_destination_that_left_the_spec_leaves_its_object(world, cache):
    """Section 9: the old Secret stays until its owner goes; stale keys do not."""
    obj = redis(secrets={"hostName": {"name": SECRET.name, "key": "host"}})
    world.apply(obj)
    world.settle(obj)
    assert set(secret(world)) == {"host"}
    world.apply(redis(secrets={}))
    world.settle(obj)
    assert set(secret(world)) == {"host"}


def test_d14_a_target_that_is_replaced_under_the_write_is_looked_at_again(world, cache):
    """Between our look at it and our write somebody deletes it and makes another."""
    world.client.patch(SECRETS, SECRET, {"data": {"host": None}})
    stored = world.read(cache)

    class Replacing:
        """The API, in which the other one acts just before the next patch."""

        def __getattr__(self, name):
            return getattr(world.client, name)

        def patch(self, resource, key, *args, **kwargs):
            if resource is SECRETS and not swapped:
                swapped.append(key)
                world.client.delete(SECRETS, SECRET)
                world.client.create(SECRETS, secret_of(stored, primary="theirs"))
            return world.client.patch(resource, key, *args, **kwargs)

    swapped = []
    operator = attrs.evolve(world.operator, client=Replacing())
    assert world.run(cache, operator=operator).requeue_after_seconds == 1.0
    assert swapped
    world.run(cache)
    assert set(secret(world)) == {"primary", "host"}


def test_d14_somebody_who_was_faster_is_looked_at_before_anything_is_written(world):
    """Between our look, which found nothing, and our create."""
    obj = redis()
    world.apply(obj)
    namespace = world.client.get(NAMESPACES, ObjectKey("", "default"))

    class Faster:
        def __getattr__(self, name):
            return getattr(world.client, name)

        def create(self, resource, wanted, **kwargs):
            if not made:
                theirs = secret_of(namespace, primary="theirs")
                made.append(world.client.create(SECRETS, theirs))
            return world.client.create(resource, wanted, **kwargs)

    made = []
    operator = attrs.evolve(world.operator, client=Faster())
    for _ in range(3):
        world.clock.advance(world.run(obj, operator=operator).requeue_after_seconds)
    assert world.ready(obj)["reason"] == FAILED
    assert "is not owned by this resource" in world.ready(obj)["message"]
    assert [world.client.get(SECRETS, SECRET)] == made


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("aso-credential", ""),
        ("aso-controller-settings", ""),
        ("asoreconcile-webhook-certificate", ""),
        ("asoreconcile-record-key", ""),
        ("team-login", "somebody names it"),
        ("team-login", "it names it"),
    ],
)
@pytest.mark.parametrize("field", ["secrets", "secretExpressions"])
def test_no_export_makes_a_credential(world, name, why, field):
    """Whoever wrote it would choose as whom the namespace acts."""
    made = []
    if field == "secrets":
        asked = {"primaryKey": {"name": name, "key": "AZURE_CLIENT_SECRET"}}
    else:
        asked = [{"name": name, "key": "AZURE_CLIENT_ID", "value": "'mine'"}]
    obj = redis(**{"secrets": {}, field: asked})
    if why == "somebody names it":
        named = ObjectKey("default", name)
        world.operator = attrs.evolve(world.operator, is_credential=named.__eq__)
        place = {"name": name, "namespace": "default"}
        login = {"metadata": place, "data": {"AZURE_CLIENT_ID": "aWQ="}}
        world.client.create(SECRETS, login)
        made.append(name)
    elif why:
        obj["metadata"]["annotations"] = {CREDENTIAL_FROM: name}
    world.apply(obj)
    for _ in range(4):
        world.clock.advance(world.run(obj).requeue_after_seconds)
    ready = world.ready(obj)
    assert (ready["severity"], ready["reason"]) == ("Error", FAILED)
    assert f"Secret {name!r} is a credential" in ready["message"]
    assert world.requests("POST") == []
    found = world.client.list_page(Selection(SECRETS, "default")).items
    assert [one["metadata"]["name"] for one in found] == made


def test_k4_a_writer_that_deletes_each_export_is_braked(world, cache):
    memories, key = world.kind_of(cache).memories, ObjectKey("default", "carts")
    memory = memories.of(key, uid_of(cache))
    before = len(world.requests("POST", "listKeys"))
    now = world.clock.monotonic()
    for count in (MOST_PUTS - 1, MOST_PUTS):
        memory.repeated_exports = PutBudget((now,) * count)
        world.client.delete(SECRETS, SECRET)
        world.run(cache)
    assert len(world.requests("POST", "listKeys")) == before + 1
    ready = world.ready(cache)
    assert (ready["reason"], "in an hour" in ready["message"]) == (FAILED, True)
    # It retries by itself, once the hour is over.
    assert ready["severity"] == "Warning"
    delay = world.run(cache).requeue_after_seconds
    assert 3590.0 < delay <= 3600.0
    world.clock.advance(delay)
    world.settle(cache)
    assert set(secret(world)) == {"primary", "host"}


HOST = [{"name": "redis-host", "key": "host", "value": "self.status.hostName"}]
HOST_KEY = ObjectKey("default", "redis-host")


@pytest.fixture
def exporter(world):
    """A cache whose keys are exported to a Secret, and its host to a ConfigMap too."""
    world.operator = attrs.evolve(world.operator, sync_mode=SyncMode.COMPARE)
    obj = world.settled(redis(configMapExpressions=HOST))
    world.run(obj)  # a first sync, after which the next process reads nothing
    world.events.clear()
    return obj


def contents(world):
    kinds = ((SECRETS, SECRET), (CONFIG_MAPS, HOST_KEY))
    return [world.client.get(resource, key)["data"] for resource, key in kinds]


def spoil(world, resource, key, change):
    if change == "deleted":
        return world.client.delete(resource, key)
    present = world.client.get(resource, key)
    data = None if change == "emptied" else dict.fromkeys(present["data"], "c3BvaWw=")
    return world.client.replace(resource, {**present, "data": data})


CHANGES = ("deleted", "edited", "emptied")


@pytest.mark.parametrize(
    ("resource", "key", "change", "restarted"),
    [
        *((SECRETS, SECRET, change, True) for change in CHANGES),
        *((CONFIG_MAPS, HOST_KEY, change, True) for change in CHANGES),
        (SECRETS, SECRET, "edited", False),
        (CONFIG_MAPS, HOST_KEY, "emptied", False),
    ],
)
def test_what_another_writer_did_to_an_export_is_undone_and_said(
    world, exporter, resource, key, change, restarted
):
    """Also if no process ran then: the start compares versions."""
    before = contents(world)
    spoil(world, resource, key, change)
    if restarted:
        world.restart()
    world.run(exporter)
    assert contents(world) == before
    said = [text for _, _, reason, text in world.events if reason == "ExportRestored"]
    verb = "was deleted" if change == "deleted" else "differs from what was exported"
    assert len(said) == 1
    assert said[0].startswith(f"{resource.kind} {key.name!r} {verb}")
    assert world.ready(exporter)["status"] == "True"


def test_a_start_reads_no_export_that_is_as_it_was_left(world, exporter):
    reads = len(world.requests("GET"))
    world.restart()
    served = len(world.cluster.journal)
    world.run(exporter)
    assert len(world.requests("GET")) == reads
    found = [one.path for one in world.cluster.journal[served:]]
    assert not [path for path in found if "/secrets/" in path or "/configmaps/" in path]


def test_a_start_reads_an_export_of_another_version_and_asks_azure_nothing(
    world, exporter
):
    world.client.patch(SECRETS, SECRET, {"metadata": {"labels": {"team": "red"}}})
    reads, asked = len(world.requests("GET")), len(world.requests("POST"))
    world.restart()
    world.run(exporter)
    assert len(world.requests("GET")) == reads
    assert len(world.requests("POST")) == asked
    assert world.events == []


def test_an_export_without_versions_in_its_record_is_read_at_the_start(world, exporter):
    """The record of an earlier release has none."""
    record = jsontext.loads(annotations(world.read(exporter))[EXPORTED])
    old = {name: record[name] for name in ("of", "secrets") if name in record}
    world.annotate(exporter, **{EXPORTED: jsontext.dumps(old).decode()})
    reads = len(world.requests("GET"))
    world.restart()
    world.run(exporter)
    assert len(world.requests("GET")) == reads
    world.client.delete(CONFIG_MAPS, HOST_KEY)
    world.restart()
    world.run(exporter)
    assert world.client.get(CONFIG_MAPS, HOST_KEY)["data"]


def test_k4_a_writer_that_changes_a_config_map_each_time_is_braked(world, exporter):
    for _ in range(MOST_PUTS):
        spoil(world, CONFIG_MAPS, HOST_KEY, "edited")
        world.run(exporter)
        assert world.ready(exporter)["status"] == "True"
    spoil(world, CONFIG_MAPS, HOST_KEY, "edited")
    delay = world.run(exporter).requeue_after_seconds
    ready = world.ready(exporter)
    assert (ready["reason"], "in an hour" in ready["message"]) == (FAILED, True)
    spoiled = contents(world)
    world.clock.advance(delay)
    world.settle(exporter)
    assert contents(world) != spoiled


def test_naming_a_secret_as_a_credential_forbids_nobody_to_export_to_it(world):
    named = ObjectKey("default", "team-login")
    world.operator = attrs.evolve(world.operator, is_credential=named.__eq__)
    keys = {"primaryKey": {"name": "team-login", "key": "primary"}}
    obj = redis(secrets=keys)
    world.settled(obj)
    (made,) = world.client.list_page(Selection(SECRETS, "default")).items
    assert made["metadata"]["name"] == "team-login"


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_after_a_restart_an_exported_key_that_azure_quotes_is_hidden(world, method):
    obj = world.settled(redis())
    (made,) = world.client.list_page(Selection(SECRETS, "default")).items
    key = base64.b64decode(made["data"]["primary"]).decode()
    host = base64.b64decode(made["data"]["host"]).decode()
    # A new process remembers no exports.
    forget_all()
    world.restart()
    text = f"key {key} of {host} is refused"
    world.azure.faults.answer(method, "redis", 400, code="BadRequest", message=text)
    changed = redis()
    changed["spec"]["tags"] = {"a": "b"}
    world.apply(changed)
    world.run(obj)
    assert f"key *** of {host} is refused" in world.ready(obj)["message"]
    assert key not in str(world.ready(obj)) + str(world.events)


def broken_writes(world, status, message):
    body = {"kind": "Status", "message": message, "code": status}
    answer = HttpResponse(status, jsontext.dumps(body))
    for method, path in (("POST", "/secrets"), ("PATCH", "/secrets/")):
        world.cluster.faults.respond(method, path, answer, times=100)


@pytest.mark.parametrize(
    ("status", "message"),
    [(500, "failed calling webhook"), (403, "exceeded quota")],
)
def test_k4_a_target_that_cannot_be_written_is_shown_and_tried_again(
    world, status, message
):
    world.apply(redis())
    broken_writes(world, status, message)
    for _ in range(9):
        delay = world.run(redis()).requeue_after_seconds
        assert delay <= 180.0
        world.clock.advance(delay)
    ready = world.ready(redis())
    assert (ready["severity"], ready["reason"]) == ("Warning", "Failed")
    assert message in ready["message"]
    world.cluster.faults.clear()
    world.settle(redis())
    assert len(world.requests("PUT", "redis/carts")) == 1


def test_k4_a_webhook_that_fails_once_at_a_sync_leaves_ready(world, cache):
    world.operator = attrs.evolve(world.operator, sync_mode=SyncMode.COMPARE)
    world.client.delete(SECRETS, SECRET)
    broken_writes(world, 500, "failed calling webhook")
    seen = []
    for _ in range(3):
        world.clock.advance(world.run(cache).requeue_after_seconds)
        seen.append(world.ready(cache)["status"])
    assert seen == ["True", "True", "False"]
