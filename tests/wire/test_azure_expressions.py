"""What expressions write into Secrets and ConfigMaps, over real servers on both
sides.
"""

import base64
import json
import logging

import pytest
from operation import Operation
from world import World, resource_group

pytest.importorskip("cel_expr_python", reason="the CEL engine is an extra")

from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.event_mapping import EventMapping
from asoreconcile.azure.reconcile.model.object_reference import (
    CONFIG_MAP,
    SECRET,
    ObjectReference,
)
from asoreconcile.azure.reconcile.state.dependency_index import (
    DependencyIndex,
    Relation,
    targets_of,
)
from asoreconcile.azure.reconcile.state.waiting import Waiting
from asoreconcile.base.objects import ObjectKey, gvk_of, key_of, owner_references
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Deleted
from asoreconcile.kube.resources import CONFIG_MAPS, SECRETS
from asoreconcile.kube.selection import Selection
from asoreconcile.testing.http import HttpResponse

GROUPS = "resources.azure.com/ResourceGroup"
ACCOUNTS = "storage.azure.com/StorageAccount"
REASON = "FailedWritingAdditionalKubernetesObjects"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as running:
        running.install(GROUPS, ACCOUNTS)
        running.settled(resource_group())
        yield running


def account(**operator_spec):
    return {
        "apiVersion": "storage.azure.com/v20250601",
        "kind": "StorageAccount",
        "metadata": {"name": "account", "namespace": "default"},
        "spec": {
            "location": "westeurope",
            "kind": "StorageV2",
            "sku": {"name": "Standard_LRS"},
            "owner": {"name": "rg"},
            "tags": {"team": "red", "tier": "gold"},
            "operatorSpec": operator_spec,
        },
    }


def into(name, value, key=None, **more):
    return {"name": name, "value": value, **({"key": key} if key else {}), **more}


def config_map(world, name):
    return world.client.get(CONFIG_MAPS, ObjectKey("default", name))


def secret(world, name):
    """A Secret's decoded data."""
    found = world.client.get(SECRETS, ObjectKey("default", name))
    return {k: base64.b64decode(v).decode() for k, v in found["data"].items()}


def test_a_string_and_a_map_go_into_a_config_map(world):
    obj = account(
        configMapExpressions=[
            into("where", "self.status.primaryEndpoints.blob + 'c'", "container"),
            into("where", "self.spec.tags.transformMap(k, v, v.upperAscii())"),
        ]
    )
    world.apply(obj)
    present = world.settle(obj)
    found = config_map(world, "where")
    blob = present["status"]["primaryEndpoints"]["blob"]
    assert found["data"] == {"container": f"{blob}c", "team": "RED", "tier": "GOLD"}
    (owner,) = owner_references(found)
    assert owner["uid"] == present["metadata"]["uid"]
    assert world.requests("POST") == []


def test_labels_and_annotations_are_expressions_too(world):
    obj = account(
        configMapExpressions=[
            into(
                "where",
                "self.spec.location",
                "location",
                labels={"team": "self.spec.tags.team"},
                annotations={"id": "self.status.id"},
            )
        ]
    )
    world.apply(obj)
    present = world.settle(obj)
    meta = config_map(world, "where")["metadata"]
    assert meta["labels"] == {"team": "red"}
    assert meta["annotations"] == {"id": present["status"]["id"]}


def test_r9_6_a_named_secret_alone_has_the_keys_listed(world):
    obj = account(
        secretExpressions=[
            into("conn", "'Name=' + self.metadata.name + ';Key=' + secret.key1", "c")
        ]
    )
    world.apply(obj)
    world.settle(obj)
    (connection,) = secret(world, "conn").values()
    key = connection.removeprefix("Name=account;Key=")
    assert len(world.requests("POST", "listKeys")) == 1
    assert key
    world.apply(account(secrets={"key1": {"name": "raw", "key": "k"}}))
    world.run(obj)
    assert secret(world, "raw") == {"k": key}


def test_one_key_request_serves_expressions_and_destinations(world):
    obj = account(
        secrets={"key1": {"name": "both", "key": "raw"}},
        secretExpressions=[
            into("both", "secret.key1 + '!'", "loud"),
            into("both", "{'other': secret['key2']}"),
        ],
    )
    world.apply(obj)
    world.settle(obj)
    found = secret(world, "both")
    assert found["loud"] == found["raw"] + "!"
    assert found["other"] not in found["loud"]
    assert len(world.requests("POST", "listKeys")) == 1


def test_expressions_over_self_ask_for_no_key(world):
    obj = account(secretExpressions=[into("plain", "self.spec.location", "l")])
    world.apply(obj)
    world.settle(obj)
    assert secret(world, "plain") == {"l": "westeurope"}
    assert world.requests("POST") == []


def test_a_secret_that_comes_with_the_status_costs_no_key_request(world):
    obj = account(secretExpressions=[into("plain", "secret.blobEndpoint", "blob")])
    world.apply(obj)
    present = world.settle(obj)
    blob = present["status"]["primaryEndpoints"]["blob"]
    assert secret(world, "plain") == {"blob": blob}
    assert world.requests("POST") == []


def failing(world, **operator_spec):
    """Apply an account and run it to its failure: the message and the Result."""
    obj = account(**operator_spec)
    world.apply(obj)
    result = world.run(obj)
    while world.ready(obj)["reason"] == "Reconciling":
        world.clock.advance(result.requeue_after_seconds)
        result = world.run(obj)
    ready = world.ready(obj)
    assert (ready["status"], ready["severity"], ready["reason"]) == (
        "False",
        "Error",
        REASON,
    )
    return ready["message"], result


@pytest.mark.parametrize(
    ("field", "entry", "message"),
    [
        ("secretExpressions", into("s", "self.spec.locaton", "k"),
         "secretExpressions[0].value: at 1:10: undefined field 'locaton'; did you mean"),
        ("configMapExpressions", into("c", "7", "k"),
         "spec.operatorSpec.configMapExpressions[0].value: returns int"),
        ("configMapExpressions", into("c", "'text'"), "[0].key: is required"),
        ("configMapExpressions", into("c", "self.spec.tags", "k"), "[0].key: remove it"),
        ("secretExpressions", into("s", "'a'", "k", labels={"l": "self.spec.tags"}),
         "[0].labels[l]: returns a map: return a string"),
        ("secretExpressions", into("s", "secret.map(k, secret[k])[0]", "k"),
         "write secret.<name>"),
    ],
)  # fmt: skip
def test_wrong_expressions_are_named_before_azure_is_asked_for_anything(
    world, field, entry, message
):
    """Neither for the resource nor for a key of it."""
    before = len(world.requests("PUT"))
    shown, result = failing(world, **{field: [entry]})
    assert message in shown
    assert result.requeue_after_seconds == 3600.0
    assert world.requests("POST") == []
    assert len(world.requests("PUT")) == before


def test_a_config_map_is_given_no_secret(world):
    """Which may be asked for, so that this is seen once it is evaluated."""
    shown, _ = failing(world, configMapExpressions=[into("c", "secret.key1", "k")])
    assert "use secretExpressions" in shown
    assert world.requests("POST") == []


def test_a_resource_that_is_there_is_kept_in_line_beside_a_wrong_expression(world):
    """It may have come from an operator whose engine takes more than ours."""
    world.settled(account())
    before = len(world.requests("PUT"))
    entry = into("c", "self.spec.locaton", "k")
    shown, _ = failing(world, configMapExpressions=[entry])
    assert "did you mean" in shown
    assert len(world.requests("PUT")) == before + 1


def test_all_mistakes_are_told_at_once_and_nothing_is_written(world):
    shown, _ = failing(
        world,
        secretExpressions=[into("s", "nothing", "k"), into("s", "'fine'", "f")],
        configMapExpressions=[into("c", "1 +", "k")],
    )
    assert "secretExpressions[0].value" in shown
    assert "configMapExpressions[0].value" in shown
    assert world.client.list_page(Selection(SECRETS, "default")).items == []


def test_r9_4_a_mended_expression_heals_the_object(world):
    failing(world, configMapExpressions=[into("c", "self.spec.nowhere", "k")])
    obj = account(configMapExpressions=[into("c", "self.spec.location", "k")])
    world.apply(obj)
    world.settle(obj)
    assert config_map(world, "c")["data"] == {"k": "westeurope"}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("string(int(secret.key1))", "no more is shown, for it uses secrets"),
        ("{secret.key1 + '/ /': 'a'}", "key 1 of 1 is not made of"),
        (
            "secret.keyy1 + secret.key1",
            "no value for secret.keyy1 (did you mean 'key1'?)",
        ),
        ("secret.nothing", "there is no value for secret.nothing"),
    ],
)
def test_failures_show_no_value_of_a_secret(world, caplog, value, message):
    given = account(secrets={"key1": {"name": "raw", "key": "k"}})
    world.apply(given)
    world.settle(given)
    (key,) = secret(world, "raw").values()
    entry = into("s", value) if value.startswith("{") else into("s", value, "k")
    with caplog.at_level(logging.DEBUG):
        shown, _ = failing(world, secretExpressions=[entry])
    assert message in shown
    assert key not in shown
    assert key not in str(world.events)
    assert key not in str([vars(record) for record in caplog.records])


def test_a_value_that_is_no_label_is_refused(world):
    shown, _ = failing(
        world,
        configMapExpressions=[into("c", "'v'", "k", labels={"id": "self.status.id"})],
    )
    assert "[0].labels[id]: gives what cannot be a label" in shown


def test_an_expression_that_asks_for_too_much_hurts_nobody_else(world):
    bomb = "['0123456789abcdef']" + ".map(x, x + x + x + x + x + x + x)" * 10 + "[0]"
    shown, _ = failing(world, configMapExpressions=[into("c", bomb, "k")])
    assert "memory" in shown
    obj = account(configMapExpressions=[into("c", "self.spec.location", "k")])
    world.apply(obj)
    world.settle(obj)


def test_r9_1_a_foreign_secret_is_left_alone_and_others_are_written(world):
    foreign = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "theirs", "namespace": "default"},
        "stringData": {"k": "theirs"},
    }
    world.client.create(SECRETS, foreign)
    shown, _ = failing(
        world,
        secretExpressions=[into("theirs", "'x'", "k"), into("ours", "'y'", "k")],
    )
    assert "'theirs' exists and is not owned" in shown
    assert secret(world, "theirs") == {"k": "theirs"}
    assert secret(world, "ours") == {"k": "y"}


def test_r9_3_keys_of_a_map_that_collide_are_an_error(world):
    shown, _ = failing(
        world,
        configMapExpressions=[
            into("c", "self.spec.location", "team"),
            into("c", "self.spec.tags"),
        ],
    )
    assert "two exports write key 'team' of ConfigMap 'c'" in shown


def test_a_target_deleted_by_hand_comes_back(world):
    obj = account(
        secretExpressions=[into("s", "self.spec.location", "k")],
        configMapExpressions=[into("c", "self.spec.location", "k")],
    )
    world.apply(obj)
    world.settle(obj)
    world.client.delete(SECRETS, ObjectKey("default", "s"))
    world.client.delete(CONFIG_MAPS, ObjectKey("default", "c"))
    world.run(obj)
    assert secret(world, "s") == config_map(world, "c")["data"] == {"k": "westeurope"}


def test_unchanged_targets_are_not_written_again(world):
    exports = {"secretExpressions": [into("s", "secret.key1", "k")]}
    obj = account(**exports)
    world.apply(obj)
    world.settle(obj)
    key = ObjectKey("default", "s")
    before = world.client.get(SECRETS, key)["metadata"]["resourceVersion"]
    edited = account(**exports)
    edited["spec"]["tags"] = {"a": "b"}
    world.apply(edited)
    world.cluster.journal.clear()
    world.settle(obj)
    assert world.client.get(SECRETS, key)["metadata"]["resourceVersion"] == before
    asked = {e.verb for e in world.cluster.journal if e.resource == "secrets"}
    assert asked == {"get"}


def test_a_target_that_the_api_server_refuses_is_named_by_field(world):
    refusal = {
        "kind": "Status",
        "reason": "Invalid",
        "message": 'ConfigMap "c" is invalid: data[k]: Invalid value: "S3cret"',
        "details": {"causes": [{"field": "data[k]", "message": '"S3cret"'}]},
    }
    world.cluster.faults.respond(
        "POST", "/configmaps", HttpResponse(422, json.dumps(refusal).encode())
    )
    shown, _ = failing(
        world,
        configMapExpressions=[into("c", "'S3cret'", "k"), into("d", "'fine'", "k")],
    )
    assert "the API server refuses ConfigMap 'c' at data[k]" in shown
    assert "S3cret" not in shown
    assert config_map(world, "d")["data"] == {"k": "fine"}


class Woken:
    """The running kinds, as far as waking goes."""

    def __init__(self):
        self.nodes = []

    def wake(self, node, changed, version, waits):
        self.nodes.append(node)


@pytest.mark.parametrize(
    ("group_kind", "name"), [(SECRET, "s"), (CONFIG_MAP, "c")], ids=["Secret", "Map"]
)
def test_r6_5_deleting_a_target_wakes_the_object_that_writes_it(group_kind, name):
    obj = account(
        secretExpressions=[into("s", "self.spec.location", "k")],
        configMapExpressions=[into("c", "self.spec.location", "k")],
    )
    version = builtin().version(gvk_of(obj))
    node = ObjectReference(version.group_kind, key_of(obj))
    dependents = DependencyIndex()
    dependents.update(node, targets_of(version, obj))
    target = ObjectReference(group_kind, ObjectKey("default", name))
    assert dependents.of(target) == [(node, Relation.EXPORT)]
    woken = Woken()
    gone = Entry({"metadata": {"name": name, "namespace": "default"}})
    EventMapping(woken, dependents, Waiting()).on_secret_or_config_map(
        group_kind, Deleted(gone)
    )
    assert woken.nodes == [node]


def test_r6_5_d13_a_running_operator_brings_a_deleted_target_back(tmp_path):
    group = resource_group()
    obj = account(secretExpressions=[into("s", "secret.key1 + '!'", "k")])
    exported = {"kind": "Secret", "metadata": {"name": "s", "namespace": "default"}}
    with Operation(tmp_path) as operation:
        operation.install(group, obj)
        operation.start_manager(AZURE_SYNC_PERIOD="never")
        operation.apply(group)
        operation.apply(obj)
        operation.wait_ready(obj)
        first = operation.client.get(SECRETS, ObjectKey("default", "s"))
        operation.delete(exported)
        again = operation.wait_for(
            exported,
            lambda found: (
                found is not None
                and found["metadata"]["uid"] != first["metadata"]["uid"]
            ),
        )
    assert again["data"] == first["data"]
