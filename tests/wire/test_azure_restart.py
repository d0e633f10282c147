"""A restart or a new leader: what is in order goes on where it was (D11)."""

from collections import Counter

import attrs
import pytest
from world import (
    RECORD_KEY,
    SYNC_SECONDS,
    World,
    postgres_server,
    resource_group,
    virtual_network,
)

from asoreconcile.azure.reconcile.engine.reconciler import ArmReconciler
from asoreconcile.azure.reconcile.model.annotations import (
    CREDENTIAL_FROM,
    FOREIGN_TAGS,
    IGNORE_FIELDS,
    RECONCILE_POLICY,
)
from asoreconcile.azure.reconcile.model.claim_record import claim_of
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED, loads
from asoreconcile.azure.reconcile.model.sync_mode import (
    SYNC_MODE,
    ForeignTags,
    SyncMode,
)
from asoreconcile.base.objects import ObjectKey, annotations, copy_json
from asoreconcile.kube.resources import NAMESPACES, SECRETS
from asoreconcile.queue.workqueue import LOW_PRIORITY
from asoreconcile.runtime.reconciler import Request

GROUPS = "resources.azure.com/ResourceGroup"
SERVERS = "dbforpostgresql.azure.com/FlexibleServer"
OBJECTS = 2000
# Azure's, of reads for one principal and subscription.
READS_PER_SECOND = 25
TAGS = {"team": "red"}


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=5.0, retry_after=1) as running:
        running.install(GROUPS, SERVERS)
        running.operator = attrs.evolve(running.operator, sync_mode=SyncMode.COMPARE)
        yield running


@pytest.fixture
def group(world):
    return world.settled(resource_group(tags=TAGS))


def after_restart(world, obj, passes=1):
    """What is asked of Azure by the first reconcile of another process, and its end."""
    world.restart()
    return passes_of(world, obj, passes)


def passes_of(world, obj, passes=1):
    world.azure.journal.clear()
    for _ in range(passes):
        result = world.run(obj)
        asked = [request.method for request in world.azure.journal]
        if passes > 1:
            world.clock.advance(result.requeue_after_seconds)
    return asked, result


def is_whole_period(seconds):
    return abs(seconds - round(seconds / SYNC_SECONDS) * SYNC_SECONDS) < 1e-3


def test_d11_an_object_in_order_goes_on_where_it_was(world, group):
    for _ in range(3):  # from when it was made to its place in the period
        result = passes_of(world, group)[1]
        world.clock.advance(result.requeue_after_seconds)
    place = world.clock.monotonic()
    before = world.read(group)
    for _ in range(3):
        world.clock.advance(60.0)
        asked, result = after_restart(world, group)
        assert asked == []
        assert result.priority == LOW_PRIORITY
        due = result.requeue_after_seconds + world.clock.monotonic()
        assert is_whole_period(place - due)
        assert 0.0 <= result.requeue_after_seconds <= SYNC_SECONDS
    assert world.read(group) == before
    world.clock.advance(result.requeue_after_seconds)
    asked, result = passes_of(world, group)
    assert asked == ["GET"]
    assert result.requeue_after_seconds == pytest.approx(SYNC_SECONDS, abs=1.0)
    assert world.read(group) == before


def test_the_second_reconcile_of_a_process_looks(world, group):
    assert after_restart(world, group)[0] == []
    assert passes_of(world, group)[0] == ["GET"]


def test_without_a_period_nothing_is_looked_at_again(world, group):
    world.restart()
    world.set_period(group, None)
    assert passes_of(world, group)[1].requeue_after_seconds is None


def test_an_edit_made_while_nobody_ran_is_put(world, group):
    edited = resource_group(tags={"team": "blue"})
    world.apply(edited)
    assert after_restart(world, edited)[0] == ["GET", "PUT", "GET"]


def test_a_secret_rotated_while_nobody_ran_is_put(world, group):
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "db-admin"},
        "stringData": {"password": "Sesame-1"},
    }
    server = postgres_server()
    world.apply(secret)
    world.settled(server)
    assert after_restart(world, server)[0] == []
    body = {"stringData": {"password": "Sesame-2"}}
    world.client.patch(SECRETS, ObjectKey("default", "db-admin"), body)
    assert "PUT" in after_restart(world, server, passes=12)[0]
    world.settle(server)
    assert after_restart(world, server)[0] == []


@pytest.mark.parametrize("where", ["object", "namespace", "settings"])
@pytest.mark.parametrize("name", [IGNORE_FIELDS, FOREIGN_TAGS])
def test_an_annotation_that_was_removed_while_nobody_ran_is_looked_through(
    world, name, where
):
    """It let the tags of others stay, and no sync may come for a day or ever."""
    value = {IGNORE_FIELDS: "spec.tags", FOREIGN_TAGS: "replace"}[name]
    kept = ForeignTags.KEEP
    group = resource_group(tags=TAGS)
    world.apply(group)

    def annotate(value):
        if where == "object":
            world.annotate(group, **{name: value})
        elif where == "settings":
            tags = ForeignTags(value or "keep") if name == FOREIGN_TAGS else kept
            fields = value or "" if name == IGNORE_FIELDS else ""
            changed = {"ignore_fields": fields, "foreign_tags": tags}
            world.operator = attrs.evolve(world.operator, **changed)
        else:
            body = {"metadata": {"annotations": {name: value}}}
            world.client.patch(NAMESPACES, ObjectKey("", "default"), body)

    annotate(value)
    world.settle(group)
    assert after_restart(world, group)[0] == []
    annotate(None)
    assert after_restart(world, group)[0] == ["GET"]


@pytest.mark.parametrize("period", [SYNC_SECONDS, None], ids=["hourly", "never"])
def test_d13_a_reference_that_means_another_id_after_a_restart_is_put(world, period):
    world.install(
        "network.azure.com/NetworkSecurityGroup",
        "network.azure.com/VirtualNetworksSubnet",
    )
    world.install("network.azure.com/VirtualNetwork")
    world.settled(resource_group())
    world.settled(virtual_network())
    security = security_group("first")
    world.settled(security)
    subnet = world.settled(referring_subnet())
    world.set_period(subnet, period)
    assert after_restart(world, subnet)[0] == []
    # It leaves the cluster, but stays in Azure, where the subnet still uses it.
    world.annotate(security, **{RECONCILE_POLICY: "detach-on-delete"})
    world.delete(security)
    world.settle(security)
    world.settled(security_group("second"))
    world.restart()
    world.set_period(subnet, period)
    assert "PUT" in passes_of(world, subnet)[0]
    put = world.requests("PUT", "subnets")[-1]
    assert put.body["properties"]["networkSecurityGroup"]["id"].endswith("second")


def security_group(azure_name):
    return {
        "apiVersion": "network.azure.com/v20250301",
        "kind": "NetworkSecurityGroup",
        "metadata": {"name": "nsg"},
        "spec": {
            "azureName": azure_name,
            "owner": {"name": "rg"},
            "location": "westeurope",
        },
    }


def referring_subnet():
    group = {"group": "network.azure.com", "kind": "NetworkSecurityGroup"}
    return {
        "apiVersion": "network.azure.com/v20250301",
        "kind": "VirtualNetworksSubnet",
        "metadata": {"name": "subnet"},
        "spec": {
            "owner": {"name": "vnet"},
            "addressPrefix": "10.0.1.0/24",
            "networkSecurityGroup": {"reference": {**group, "name": "nsg"}},
        },
    }


def test_another_credential_named_while_nobody_ran_is_looked_through(world, group):
    world.annotate(group, **{CREDENTIAL_FROM: "another"})
    assert after_restart(world, group)[0] == ["GET"]


@pytest.mark.parametrize(
    "note",
    ["", "{", '{"put":"x","v":9}', '{"put":"x","known":[]}'],
    ids=["none, as after ASO", "spoiled", "of a later version", "of an older one"],
)
def test_an_object_without_a_note_is_looked_at(world, group, note):
    world.annotate(group, **{OBSERVED: note or None})
    asked, _ = after_restart(world, group)
    # Azure shows every value that the object declares.
    assert asked == ["GET"]
    assert after_restart(world, group)[0] == []


def test_a_put_that_was_not_looked_at_to_its_end_is_looked_at(world, group):
    """The process died between the note of the PUT and that of what it came to."""
    note = loads_of(world, group)
    world.annotate(group, **{OBSERVED: attrs.evolve(note, rest="").dumps()})
    assert after_restart(world, group)[0] == ["GET"]


def loads_of(world, obj):
    return loads(annotations(world.read(obj))[OBSERVED])


def test_a_put_whose_answer_was_lost_is_sent_again(world, group):
    edited = resource_group(tags={"team": "blue"})
    world.apply(edited)
    world.azure.faults.time_out("PUT", "resourceGroups/rg", applied=True)
    world.run(edited)
    asked, _ = after_restart(world, edited)
    assert "PUT" in asked
    world.settle(edited)
    assert after_restart(world, edited)[0] == []


def test_an_object_that_is_not_in_order_is_not_left_to_its_period(world, group):
    world.azure.faults.answer("PUT", "resourceGroups/rg", 409, code="Conflict")
    edited = resource_group(tags={"team": "blue"})
    world.apply(edited)
    world.run(edited)
    assert world.ready(edited)["reason"] == "Conflict"
    assert after_restart(world, edited)[0] == ["GET", "PUT", "GET"]


def test_a_restart_puts_where_each_sync_puts(world, group):
    world.annotate(group, **{SYNC_MODE: "put"})
    assert after_restart(world, group)[0] == ["GET", "PUT", "GET"]


def test_two_processes_look_at_the_same_time_and_write_nothing(world, group):
    before = world.read(group)
    for _ in range(3):
        world.clock.advance(world.run(group).requeue_after_seconds)
    first = world.run(group)
    world.restart()
    second = world.run(group)
    assert world.read(group) == before
    apart = first.requeue_after_seconds - second.requeue_after_seconds
    assert is_whole_period(apart)


def away(world, seconds):
    """Nobody runs for that long, and then another process does."""
    last_alive = world.clock.now()
    world.clock.advance(seconds)
    world.operator = attrs.evolve(
        world.operator, predecessor_renewed=lambda: last_alive
    )


def test_a_place_that_passed_while_nobody_ran_is_looked_at_soon(world, group):
    due = after_restart(world, group)[1].requeue_after_seconds
    before = world.read(group)
    away(world, due + 10.0)
    asked, result = after_restart(world, group)
    assert asked == []
    assert result.priority == LOW_PRIORITY
    # An absence of more than a period counts as one period.
    behind = min(due + 10.0, SYNC_SECONDS) - 10.0
    assert result.requeue_after_seconds == pytest.approx(behind / 2, abs=1.0)
    world.clock.advance(result.requeue_after_seconds)
    asked, result = passes_of(world, group)
    assert asked == ["GET"]
    assert 0.75 * SYNC_SECONDS <= result.requeue_after_seconds <= 1.25 * SYNC_SECONDS
    assert world.read(group) == before


def test_a_place_that_comes_after_the_start_is_waited_for(world, group):
    due = after_restart(world, group)[1].requeue_after_seconds
    away(world, due - 10.0)
    asked, result = after_restart(world, group)
    assert asked == []
    assert result.requeue_after_seconds == pytest.approx(10.0, abs=1.0)


def test_without_a_period_no_place_was_missed(world, group):
    away(world, 10 * SYNC_SECONDS)
    world.restart()
    world.set_period(group, None)
    assert passes_of(world, group)[1].requeue_after_seconds is None


class NoNamespaces:
    """Namespaces without annotations, however many there are."""

    def __call__(self, _namespace):
        return {}

    def live(self, _namespace, *, since):
        assert since >= 0
        return {}


class _Many:
    """As many objects as that, alike but for namespace and uid."""

    def __init__(self, obj):
        self._obj = obj

    def get(self, key):
        obj = copy_json(self._obj)
        claim = claim_of(obj, lambda: RECORD_KEY)
        obj["metadata"] |= {"namespace": key.namespace, "uid": f"uid-{key.namespace}"}
        # Each has recorded a claim of its own.
        own = claim.notes(obj, RECORD_KEY)
        obj["metadata"]["annotations"] |= own
        for condition in obj["status"]["conditions"]:
            if condition["type"] == "Claim":
                condition["message"] = "\n".join(own.values())
        return obj


def minutes_of(world, obj, count):
    """In which minutes so many objects are looked at, after another process begins."""
    reconciler = ArmReconciler(
        attrs.evolve(world.operator, namespace_annotations=NoNamespaces()),
        world.fresh_kind(obj),
        _Many(world.read(obj)),
    )
    minutes = Counter()
    for index in range(count):
        result = reconciler.reconcile(Request(ObjectKey(f"ns{index}", "rg")))
        assert result.priority == LOW_PRIORITY
        minutes[int(result.requeue_after_seconds // 60)] += 1
    return minutes


def test_what_twenty_minutes_missed_is_spread_over_ten(world, group):
    """Three times as many at first: those missed, twice as fast, and those that come."""
    count = 1200
    away(world, 1200.0)
    world.azure.journal.clear()
    minutes = minutes_of(world, group, count)
    assert world.azure.journal == []
    even = count / 60
    early = [minutes[minute] for minute in range(10)]
    assert sum(early) == pytest.approx(30 * even, rel=0.1)
    assert max(early) < 2 * 3 * even
    # Whose place passed comes by it once, and not again within the period.
    assert sum(minutes[minute] for minute in range(10, 40)) == pytest.approx(
        30 * even, rel=0.1
    )
    assert max(minutes) < 40


def test_thousands_of_objects_ask_nothing_after_a_restart_and_spread(world, group):
    """No PUT, no read, no write to the cluster; then as many reads in each minute."""
    assert world.kind_of(group).version.is_arm
    world.azure.journal.clear()
    world.writes.clear()
    minutes = minutes_of(world, group, OBJECTS)
    assert world.azure.journal == []
    assert world.writes == []
    assert sorted(minutes) == list(range(60))
    even = OBJECTS / 60
    assert max(minutes.values()) < 2 * even < 60 * READS_PER_SECOND
    assert min(minutes.values()) > 0.3 * even
