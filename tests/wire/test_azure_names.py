"""Names that are written where others read them: labels, and names from ConfigMaps."""

import pytest
from world import World, postgres_server, resource_group, virtual_network

from asoreconcile.azure.reconcile.model.annotations import (
    AZURE_NAME_FROM_CONFIG,
    FINALIZER,
    OWNER_NAME,
    RESOURCE_ID,
    label_value,
)
from asoreconcile.base.objects import (
    ObjectKey,
    annotations,
    copy_json,
    finalizers,
    labels,
)
from asoreconcile.kube.resources import CONFIG_MAPS

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"
SERVERS = "dbforpostgresql.azure.com/FlexibleServer"
ADMINISTRATORS = "dbforpostgresql.azure.com/FlexibleServersAdministrator"
WHO = ObjectKey("default", "who")
FIRST, SECOND = (f"{n}1111111-2222-4333-8444-555555555555" for n in (1, 2))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("rg", "rg"),
        ("x" * 63, "x" * 63),
        ("x" * 70, "x" * 63),
        ("x" * 62 + "-more", "x" * 62),
        ("x" * 60 + ".-.-more", "x" * 60),
        ("asoreconcile-0.1.0+g1234", "asoreconcile-0.1.0-g1234"),
    ],
)
def test_r2_3_a_label_holds_what_a_label_can(text, value):
    assert label_value(text) == value


def test_r2_3_a_long_owner_name_does_not_keep_its_children_from_being_claimed(
    tmp_path,
):
    """The API server takes no label that ends on a dash."""
    name = "x" * 62 + "-" + "y" * 7
    with World(tmp_path) as world:
        world.install(GROUPS, NETWORKS)
        world.settled(resource_group(name))
        network = virtual_network(owner=name)
        world.apply(network)
        world.run(network)
        claimed = world.read(network)
    assert finalizers(claimed) == [FINALIZER]
    assert labels(claimed)[OWNER_NAME] == "x" * 62


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as one:
        one.install(GROUPS, SERVERS, ADMINISTRATORS)
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "db-admin"},
            "stringData": {"password": "Sesame-1"},
        }
        one.apply(secret)
        one.settled(resource_group())
        one.settled(postgres_server())
        yield one


@pytest.fixture
def administrator(world):
    """Ready; its Azure name came from a ConfigMap, which says another now."""
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "who", "namespace": "default"},
        "data": {"id": FIRST},
    }
    world.client.create(CONFIG_MAPS, config_map)
    obj = {
        "apiVersion": "dbforpostgresql.azure.com/v20250801",
        "kind": "FlexibleServersAdministrator",
        "metadata": {"name": "admin"},
        "spec": {
            "owner": {"name": "pg-db"},
            "azureNameFromConfig": {"name": "who", "key": "id"},
            "principalName": "admins",
            "principalType": "Group",
        },
    }
    world.settled(obj)
    world.client.patch(CONFIG_MAPS, WHO, {"data": {"id": SECOND}})
    return obj


def names_put(world):
    return {r.path.rpartition("/")[2] for r in world.requests("PUT", "administrators/")}


def test_a_name_from_a_config_map_is_noted_as_aso_notes_it(world, administrator):
    """Without the note it could not go on with the object."""
    notes = annotations(world.read(administrator))
    assert notes[AZURE_NAME_FROM_CONFIG] == FIRST
    assert AZURE_NAME_FROM_CONFIG == "serviceoperator.azure.com/azure-name-from-config"


def test_a_name_from_a_config_map_stays_as_it_was_at_the_claim(world, administrator):
    world.run(administrator)
    world.client.delete(CONFIG_MAPS, WHO)
    world.run(administrator)
    assert names_put(world) == {FIRST}
    assert world.ready(administrator)["status"] == "True"


def test_d10_a_lost_id_is_derived_from_the_noted_name(world, administrator):
    claimed = annotations(world.read(administrator))[RESOURCE_ID]
    world.annotate(administrator, **{RESOURCE_ID: None})
    world.settle(administrator)
    assert annotations(world.read(administrator))[RESOURCE_ID] == claimed
    assert names_put(world) == {FIRST}


def test_names_that_are_stated_are_not_noted(world):
    assert AZURE_NAME_FROM_CONFIG not in annotations(world.read(postgres_server()))


def test_a_name_that_a_config_map_leaves_empty_is_said(world, administrator):
    second = {**administrator, "metadata": {"name": "second"}}
    world.client.patch(CONFIG_MAPS, WHO, {"data": {"id": ""}})
    world.apply(second)
    world.run(second)
    assert "gives an empty Azure name: fill key 'id'" in world.ready(second)["message"]
    assert finalizers(world.read(second)) == []


def test_a_name_from_a_config_map_is_one_segment_too(world, administrator):
    other = copy_json(administrator)
    other["metadata"] = {"name": "other"}
    world.client.patch(CONFIG_MAPS, WHO, {"data": {"id": f"{FIRST}/../x"}})
    world.apply(other)
    world.run(other)
    ready = world.ready(other)
    assert (ready["reason"], ready["severity"]) == ("Failed", "Error")
    assert "holds a slash" in ready["message"]
    assert names_put(world) == {FIRST}


def test_a_planted_note_of_a_name_deletes_nothing(world, administrator):
    """The note stands where anybody may write: the ConfigMap says another name."""
    theirs = annotations(world.read(administrator))[RESOURCE_ID]
    evil = copy_json(administrator)
    notes = {RESOURCE_ID: theirs, AZURE_NAME_FROM_CONFIG: FIRST}
    evil["metadata"] = {"name": "evil", "finalizers": [FINALIZER], "annotations": notes}
    world.apply(evil)
    world.delete(evil)
    world.run(evil)
    assert world.read(evil) is None
    assert world.requests("DELETE") == []
    assert f"{theirs} is left in Azure" in world.events[-1][3]
