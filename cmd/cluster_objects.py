"""Read the Azure objects of a cluster and the objects that they may refer to."""

from asoreconcile.azure.cmd.sharedoptions import ClusterChoice, ObjectChoice
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.discovery import discover
from asoreconcile.azure.controllers.kind_registry import resource_of
from asoreconcile.base.objects import JsonObject, ObjectKey, key_of
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.resources import CONFIG_MAPS, NAMESPACES, SECRETS, ApiResource
from asoreconcile.kube.selection import Selection


def served_resources(client: KubeClient) -> list[ApiResource]:
    """Return our kinds that the cluster serves. Blocking; raises ApiError,
    TransportError.
    """
    served = discover(client, builtin(), converts=True).versions
    # At a version that people write, whatever form the cluster keeps.
    return [resource_of(builtin().version(one.gvk)) for one in served.values()]


def listed(client: KubeClient, wanted: ObjectChoice) -> list[JsonObject]:
    """Return the objects of our kinds, at the version that the cluster prefers."""
    return [
        obj
        for resource in served_resources(client)
        for place in wanted.namespaces or ("",)
        for obj in client.list_all(
            Selection(resource, place, label_selector=wanted.labels)
        )
    ]


def azure_objects(choice: ClusterChoice, wanted: ObjectChoice) -> list[JsonObject]:
    """Return the objects of our kinds, at the version that the cluster prefers.

    Their Namespaces, and the ConfigMaps there, which they may refer to, are included;
    Secrets are not. Blocking. Raises KubeConfigError, ApiError, TransportError.
    """
    with choice.client() as client:
        found = listed(client, wanted)
        for namespace in sorted({key_of(obj).namespace for obj in found}):
            found.append(client.get(NAMESPACES, ObjectKey("", namespace)))
            found += client.list_all(Selection(CONFIG_MAPS, namespace=namespace))
        return found


def secret_in_cluster(key: ObjectKey, choice: ClusterChoice) -> JsonObject:
    """Return one Secret. Blocking. Raises the errors of `azure_objects`."""
    with choice.client() as client:
        return client.get(SECRETS, key)
