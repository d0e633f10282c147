"""Values of a resource in ConfigMaps."""

from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.resources import CONFIG_MAPS


def test_a_ready_object_has_exported_its_values(world):
    identity = {
        "apiVersion": "managedidentity.azure.com/v1api20230131",
        "kind": "UserAssignedIdentity",
        "metadata": {"name": "id", "namespace": "default"},
        "spec": {
            "owner": {"name": "rg"},
            "location": "westeurope",
            "operatorSpec": {"configMaps": {"principalId": {"name": "c", "key": "k"}}},
        },
    }
    world.settled(identity)
    found = world.client.get(CONFIG_MAPS, ObjectKey("default", "c"))
    assert found["data"]["k"] == world.read(identity)["status"]["principalId"]
