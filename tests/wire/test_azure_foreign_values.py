"""Values of others in Azure stay: foreign tags, ignored fields, moving values."""

import attrs
import pytest
from world import World, postgres_server, resource_group

from asoreconcile.azure.reconcile.model.annotations import (
    FOREIGN_TAGS,
    IGNORE_FIELDS,
    RECONCILE_AT,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED
from asoreconcile.azure.reconcile.model.sync_mode import ForeignTags, SyncMode
from asoreconcile.base.objects import annotations, copy_json

TAGS = {"team": "red"}
KINDS = (
    "resources.azure.com/ResourceGroup",
    "containerservice.azure.com/ManagedClustersAgentPool",
    "dbforpostgresql.azure.com/FlexibleServer",
    "documentdb.azure.com/DatabaseAccount",
    "eventhub.azure.com/Namespace",
    "insights.azure.com/AutoscaleSetting",
    "apimanagement.azure.com/Service",
)


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as running:
        running.install(*KINDS)
        running.operator = attrs.evolve(running.operator, sync_mode=SyncMode.COMPARE)
        running.settled(resource_group(tags=TAGS))
        yield running


def arm_id(world, obj):
    return annotations(world.read(obj))[RESOURCE_ID]


def in_azure(world, obj):
    return world.azure.resources()[arm_id(world, obj)]


def by_hand(world, obj, change):
    """Somebody changes a resource in Azure."""
    body = copy_json(in_azure(world, obj))
    change(body)
    world.azure.seed(arm_id(world, obj), body)


def tag(world, obj, **tags):
    by_hand(world, obj, lambda body: body.setdefault("tags", {}).update(tags))


def synced(world, obj, after=3600.0):
    """Return the methods of a sync's requests."""
    world.clock.advance(after)
    world.azure.journal.clear()
    world.settle(obj)
    return [request.method for request in world.azure.journal]


def restart(world, obj):
    """Another process takes over: its first look finds the object in order."""
    world.restart()
    world.run(obj)


def told(world, reason):
    return [text for _, _, found, text in world.events if found == reason]


def drifted(world, obj):
    """The message of the condition Drifted, or ""."""
    conditions = world.read(obj)["status"]["conditions"]
    return next((one["message"] for one in conditions if one["type"] == "Drifted"), "")


def group(**spec):
    return resource_group(**spec)


def test_ow1_tags_that_another_team_set_stay_at_the_next_edit(world):
    tag(world, group(), cost="42")
    world.azure.journal.clear()
    edited = world.settled(group(tags={"tier": "gold"}))
    # `team` was declared before; `cost` never was.
    assert in_azure(world, edited)["tags"] == {"tier": "gold", "cost": "42"}
    assert [r.method for r in world.azure.journal] == ["GET", "PUT", "GET"]
    tag(world, edited, cost="43")
    assert synced(world, edited) == ["GET"]
    restart(world, edited)
    assert synced(world, edited) == ["GET"]
    assert told(world, "ForeignValuesReplaced") == []
    assert told(world, "UndeclaredChange") == []


def test_ow1_a_foreign_tag_is_kept_once_the_record_is_lost_and_said_once(world):
    tag(world, group(), cost="42")
    world.annotate(group(), **{OBSERVED: None})
    world.settled(group(tags={"team": "blue"}))
    world.settled(group(tags={"team": "green"}))
    assert in_azure(world, group())["tags"] == {"team": "green", "cost": "42"}
    (text,) = told(world, "ForeignTagsKept")
    assert "cost" in text
    assert "42" not in text


@pytest.mark.parametrize("whose", ["object", "operator"])
def test_ow9_a_put_that_removes_foreign_tags_says_so_once_an_hour(world, whose):
    if whose == "object":
        world.annotate(group(), **{FOREIGN_TAGS: "replace"})
    else:
        replace = ForeignTags.REPLACE
        world.operator = attrs.evolve(world.operator, foreign_tags=replace)
    counted = []
    world.operator = attrs.evolve(world.operator, count_replaced=counted.append)
    synced(world, group())
    for seconds in (60.0, 60.0, 3600.0):
        tag(world, group(), cost="42")
        assert "PUT" in synced(world, group(), after=seconds)
        assert in_azure(world, group())["tags"] == TAGS
    first, second = told(world, "ForeignValuesReplaced")
    assert first == second
    assert "tags/cost" in first
    assert "42" not in first
    assert len(counted) == 3


def aks_pool(world, **spec):
    cluster = (
        f"{arm_id(world, group())}/providers/Microsoft.ContainerService"
        "/managedClusters/aks"
    )
    world.azure.seed(cluster, {"location": "westeurope", "properties": {}})
    return {
        "apiVersion": "containerservice.azure.com/v1api20250801",
        "kind": "ManagedClustersAgentPool",
        "metadata": {"name": "pool"},
        "spec": {
            "owner": {"armId": cluster},
            "count": 3,
            "enableAutoScaling": True,
            "minCount": 1,
            "maxCount": 10,
            "mode": "User",
            **spec,
        },
    }


def event_hubs(_world, **spec):
    return {
        "apiVersion": "eventhub.azure.com/v1api20240101",
        "kind": "Namespace",
        "metadata": {"name": "event-hubs"},
        "spec": {
            "location": "westeurope",
            "owner": {"name": "rg"},
            "sku": {"name": "Standard", "tier": "Standard", "capacity": 1},
            "isAutoInflateEnabled": True,
            "maximumThroughputUnits": 10,
            **spec,
        },
    }


def server(world, **spec):
    obj = postgres_server()
    password = {"stringData": {"password": "Pa55-word"}}
    secret = {"apiVersion": "v1", "kind": "Secret", **password}
    secret["metadata"] = {"name": "db-admin"}
    world.apply(secret)
    obj["spec"].update(
        {"storage": {"storageSizeGB": 32, "autoGrow": "Enabled"}, **spec}
    )
    return obj


def at(body, path):
    for step in path.split("/"):
        body = body[step]
    return body


def put_at(body, path, value):
    *above, leaf = path.split("/")
    for step in above:
        body = body.setdefault(step, {})
    body[leaf] = value


STORIES = {
    "agent pool 3 to 9": (aks_pool, "properties/count", 3, 9, 11, 10),
    "event hubs units 1 to 6": (event_hubs, "sku/capacity", 1, 6, 12, 10),
    "disk grown": (server, "properties/storage/storageSizeGB", 32, 64, 16, 32),
}


@pytest.mark.parametrize("story", STORIES)
def test_ow8_a_value_that_azure_moves_stays_within_its_bounds(world, story):
    make, path, first, moved, outside, nearest = STORIES[story]
    obj = world.settled(make(world))
    assert at(in_azure(world, obj), path) == first
    by_hand(world, obj, lambda body: put_at(body, path, moved))
    assert synced(world, obj) == ["GET"]
    # A body that is sent for another reason carries Azure's value.
    world.settled(make(world, tags={"a": "b"}))
    assert at(in_azure(world, obj), path) == moved
    restart(world, obj)
    assert synced(world, obj) == ["GET"]
    assert told(world, "UndeclaredChange") == []
    by_hand(world, obj, lambda body: put_at(body, path, outside))
    assert "PUT" in synced(world, obj)
    assert at(in_azure(world, obj), path) == nearest


def test_ow8_a_fail_over_is_shown_and_not_put_back_until_the_author_asks(world):
    account = {
        "apiVersion": "documentdb.azure.com/v1api20240815",
        "kind": "DatabaseAccount",
        "metadata": {"name": "accountof2026"},
        "spec": {
            "location": "westeurope",
            "owner": {"name": "rg"},
            "databaseAccountOfferType": "Standard",
            "locations": [
                {"locationName": "westeurope", "failoverPriority": 0},
                {"locationName": "northeurope", "failoverPriority": 1},
            ],
        },
    }
    world.settled(account)

    def order():
        locations = in_azure(world, account)["properties"]["locations"]
        return min(locations, key=lambda one: one["failoverPriority"])

    def fail_over(body):
        one, other = body["properties"]["locations"]
        one["failoverPriority"], other["failoverPriority"] = 1, 0

    by_hand(world, account, fail_over)
    for _ in range(3):
        assert synced(world, account) == ["GET"]
    assert order()["locationName"] == "northeurope"
    assert "it is not put back" in drifted(world, account)
    assert world.ready(account)["status"] == "True"
    world.annotate(account, **{RECONCILE_AT: "now"})
    assert "PUT" in synced(world, account)
    assert order()["locationName"] == "westeurope"
    assert drifted(world, account) == ""


def test_ow8_an_autoscale_setting_moves_the_capacity_of_its_target(world):
    service = {
        "apiVersion": "apimanagement.azure.com/v20240501",
        "kind": "Service",
        "metadata": {"name": "api"},
        "spec": {
            "location": "westeurope",
            "owner": {"name": "rg"},
            "publisherEmail": "a@example.com",
            "publisherName": "a",
            "sku": {"name": "Premium", "capacity": 1},
        },
    }
    setting = {
        "apiVersion": "insights.azure.com/v1api20221001",
        "kind": "AutoscaleSetting",
        "metadata": {"name": "scale"},
        "spec": {
            "location": "westeurope",
            "owner": {"name": "rg"},
            "enabled": True,
            "targetResourceUriReference": {
                "group": "apimanagement.azure.com",
                "kind": "Service",
                "name": "api",
            },
            "profiles": [
                {
                    "name": "all",
                    "capacity": {"default": "1", "minimum": "1", "maximum": "4"},
                    "rules": [],
                }
            ],
        },
    }
    world.apply(setting)
    world.settled(service)
    by_hand(world, service, lambda body: put_at(body, "sku/capacity", 3))
    assert synced(world, service) == ["GET"]
    world.delete(setting)
    assert "PUT" in synced(world, service)
    assert in_azure(world, service)["sku"]["capacity"] == 1


def test_ow2_an_ignored_field_is_azures_after_the_first_put(world):
    pool = aks_pool(world, enableAutoScaling=False, minCount=None, maxCount=None)
    pool["metadata"]["annotations"] = {IGNORE_FIELDS: "spec.count, spec.nodeLabels[*]"}
    pool["spec"] = {k: v for k, v in pool["spec"].items() if v is not None}
    world.settled(pool)
    assert in_azure(world, pool)["properties"]["count"] == 3
    by_hand(world, pool, lambda body: put_at(body, "properties/count", 7))
    by_hand(world, pool, lambda body: put_at(body, "properties/nodeLabels/a", "b"))
    assert synced(world, pool) == ["GET"]
    edited = copy_json(pool)
    edited["spec"]["tags"] = {"x": "y"}
    world.settled(edited)
    restart(world, pool)
    assert synced(world, pool) == ["GET"]
    found = in_azure(world, pool)["properties"]
    assert (found["count"], found["nodeLabels"]) == (7, {"a": "b"})
    # Without the annotation, the spec counts again.
    world.annotate(pool, **{IGNORE_FIELDS: None})
    assert "PUT" in synced(world, pool)
    assert in_azure(world, pool)["properties"]["count"] == 3


def test_ow2_nothing_is_written_while_a_path_is_unknown(world):
    world.annotate(group(), **{IGNORE_FIELDS: "spec.tagz.cost"})
    world.apply(group(tags={"team": "blue"}))
    world.azure.journal.clear()
    world.run(group())
    ready = world.ready(group())
    assert (ready["status"], ready["severity"]) == ("False", "Error")
    assert "did you mean spec.tags?" in ready["message"]
    assert world.requests("PUT") == []
    world.annotate(group(), **{IGNORE_FIELDS: "spec.tags.cost"})
    world.settle(group())
    assert in_azure(world, group())["tags"] == {"team": "blue"}


def test_ow2_what_azure_does_not_show_is_put_and_told(world):
    obj = group(tags=TAGS)
    world.annotate(obj, **{IGNORE_FIELDS: "spec.tags.team"})
    by_hand(world, obj, lambda body: body.pop("tags"))
    assert synced(world, obj) == ["GET"]
    world.settled(group(tags={**TAGS, "tier": "gold"}))
    assert in_azure(world, obj)["tags"] == {**TAGS, "tier": "gold"}
    assert len(told(world, "IgnoredFieldNotShown")) == 1
