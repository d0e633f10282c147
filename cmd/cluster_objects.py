"""Read the Azure objects of a cluster and the objects that they may refer to."""

from asoreconcile.azure.cmd.sharedoptions import ClusterChoice, ObjectChoice
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.discovery import discover
from asoreconcile.azure.controllers.kind_registry import resource_of
from asoreconcile.base.objects import JsonObject, ObjectKey, key_of
from asoreconcile.kube.resources import CONFIG_MAPS, NAMESPACES, SECRETS
from asoreconcile.kube.selection import Selection

ALL_OBJECTS = ObjectChoice()


def azure_objects(
    choice: ClusterChoice, wanted: ObjectChoice = ALL_OBJECTS
) -> list[JsonObject]:
    """Return the objects of our kinds, at the version that the cluster prefers.

    Their Namespaces, and the ConfigMaps there, which they may refer to, are included;
    Secrets are not. Blocking. Raises KubeConfigError, ApiError, TransportError.
    """
    with choice.client() as client:
        found: list[JsonObject] = []
        served = discover(client, builtin(), converts=True).versions
        for version in served.values():
            # At a version that people write, whatever form the cluster keeps.
            resource = resource_of(builtin().version(version.gvk))
            for place in wanted.namespaces or ("",):
                found += client.list_all(
                    Selection(resource, place, label_selector=wanted.labels)
                )
        for namespace in sorted({key_of(obj).namespace for obj in found}):
            found.append(client.get(NAMESPACES, ObjectKey("", namespace)))
            found += client.list_all(Selection(CONFIG_MAPS, namespace=namespace))
        return found


def secret_in_cluster(key: ObjectKey, choice: ClusterChoice) -> JsonObject:
    """Return one Secret. Blocking. Raises the errors of `azure_objects`."""
    with choice.client() as client:
        return client.get(SECRETS, key)
