"""The children that Azure creates together with a resource.

`children.json` lists them by the parent's type: a namespace's first authorization rule,
an event hub's `$Default` consumer group, a storage account's services. Other children
follow from the parent's body: a cluster's node pools, a private endpoint's interface,
the connection that a shared private link opens, the system topic of an event
subscription.
"""

from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources

from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject, copy_json
from asoreconcile.testing.arm.address import ArmAddress, parse
from asoreconcile.testing.arm.outputs import made_up

_Child = tuple[ArmAddress, JsonObject]


def born_with(parent: ArmAddress) -> Iterator[_Child]:
    """Yield the children that come with each new resource of this type, with their
    bodies.
    """
    for child in _table().get(parent.type.removeprefix("microsoft."), ()):
        address = parse(f"{parent.id}/{child['type']}/{child['name']}")
        if address is not None:
            yield address, {"properties": copy_json(child["properties"])}


def asked_for(parent: ArmAddress, body: JsonObject) -> Iterator[_Child]:
    """Yield the further resources that a body asks for.

    body: body as it is stored, with the fields that Azure adds.
    """
    make = _FROM_BODY.get(parent.type)
    if make is not None:
        yield from make(parent, body)


def _node_pools(cluster: ArmAddress, body: JsonObject) -> Iterator[_Child]:
    properties = body.get("properties")
    profiles = properties.get("agentPoolProfiles") if properties else None
    for profile in profiles or ():
        address = parse(f"{cluster.id}/agentPools/{profile.get('name')}")
        if address is not None:
            rest = {name: value for name, value in profile.items() if name != "name"}
            yield address, {"properties": rest}


def _interfaces(endpoint: ArmAddress, body: JsonObject) -> Iterator[_Child]:
    properties = body.get("properties") or {}
    for number, interface in enumerate(properties.get("networkInterfaces") or ()):
        address = parse(interface["id"])
        if address is None:
            continue
        name = f"privateEndpointIpConfig.{made_up(address, 'configuration')}"
        configuration = {
            "name": name,
            "properties": {
                "provisioningState": "Succeeded",
                "privateIPAddress": f"10.0.0.{4 + number}",
                "privateIPAllocationMethod": "Dynamic",
                "privateIPAddressVersion": "IPv4",
                "primary": number == 0,
            },
        }
        yield (
            address,
            {
                "location": body.get("location"),
                "managedBy": endpoint.id,
                "properties": {"ipConfigurations": [configuration]},
            },
        )


def _opened_connection(link: ArmAddress, body: JsonObject) -> Iterator[_Child]:
    """Yield the private endpoint connection that a link opens on its resource."""
    properties = body.get("properties") or {}
    name = f"{link.name}-{made_up(link, 'connection')}"
    target = properties.get("privateLinkResourceId")
    address = parse(f"{target}/privateEndpointConnections/{name}") if target else None
    if address is not None:
        endpoint = f"{link.group}/providers/Microsoft.Network/privateEndpoints"
        state = {
            "status": "Pending",
            "description": properties.get("requestMessage") or "",
        }
        yield (
            address,
            {
                "properties": {
                    "privateEndpoint": {"id": f"{endpoint}/{link.name}"},
                    "privateLinkServiceConnectionState": state,
                }
            },
        )


def _system_topic(subscription: ArmAddress, _body: JsonObject) -> Iterator[_Child]:
    """Yield the topic of the resource whose events are subscribed to, of which Azure
    has one for all subscriptions.
    """
    source = parse(subscription.scope)
    if source is None or not source.group or source.namespace == "microsoft.eventgrid":
        return
    name = f"{source.name}-{made_up(source, 'system topic')}"
    topic = parse(f"{source.group}/providers/Microsoft.EventGrid/systemTopics/{name}")
    if topic is not None:
        kind = source.type_name.replace("/", ".")
        yield topic, {"properties": {"source": source.id, "topicType": kind}}


_FROM_BODY: dict[str, Callable[[ArmAddress, JsonObject], Iterator[_Child]]] = {
    "microsoft.databasewatcher/watchers/sharedprivatelinkresources": (
        _opened_connection
    ),
    "microsoft.containerservice/managedclusters": _node_pools,
    "microsoft.eventgrid/eventsubscriptions": _system_topic,
    "microsoft.network/privateendpoints": _interfaces,
}


@cache
def _table() -> dict[str, list[JsonObject]]:
    text = resources.files("asoreconcile.testing.arm").joinpath("children.json")
    table: dict[str, list[JsonObject]] = jsontext.loads(text.read_bytes())
    return table
