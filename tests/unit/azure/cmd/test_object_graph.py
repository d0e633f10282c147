"""Owners and references as a picture: one graph, three languages."""

import re
import xml.etree.ElementTree as ET

from asoreconcile.azure.cmd.object_graph import GraphNode, ObjectGraph, object_graph
from asoreconcile.azure.controllers.catalogue import builtin

SUBNET = {
    "owner": {"name": "hub"},
    "addressPrefix": "10.0.0.0/24",
    "networkSecurityGroup": {
        "reference": {
            "group": "network.azure.com",
            "kind": "NetworkSecurityGroup",
            "name": "<b>&web",
        }
    },
}
NETWORK = "network.azure.com/v1api20201101"


def drawn(ready="False"):
    owned = {"name": "hub", "namespace": "prod"}
    objects = [
        {
            "apiVersion": NETWORK,
            "kind": "VirtualNetworksSubnet",
            "metadata": {"name": "web", "namespace": "prod"},
            "spec": SUBNET,
        },
        {
            "apiVersion": NETWORK,
            "kind": "VirtualNetwork",
            "metadata": owned,
            "spec": {"owner": {"armId": "/subscriptions/s/resourceGroups/shop"}},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        },
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": owned},
    ]
    return object_graph(builtin(), objects)


def test_edges_lead_to_the_owner_and_to_references():
    assert [(a.name, b.name, label) for a, b, label in drawn().edges] == [
        ("web", "hub", "owner"),
        ("web", "<b>&web", "networkSecurityGroup.reference"),
        ("hub", "shop", "owner"),
    ]
    assert [node.ready for node in drawn().nodes if node.name == "hub"] == ["False"]


def test_the_three_languages_show_the_same_nodes_and_edges():
    graph = drawn()
    picture = ET.fromstring(graph.svg())
    lines = [e for e in picture.iter() if e.tag.endswith("}line")]
    titles = [e.text for e in picture.iter() if e.tag.endswith("}text")]
    assert (len(lines), len(titles)) == (3, 2 * len(graph.nodes))
    assert {"web", "hub", "shop", "<b>&web"} <= set(titles)
    assert graph.mermaid().count("-->") == graph.dot().count("->") == 3
    assert "&lt;b&gt;" in graph.mermaid()


def test_owners_are_above_and_a_circle_is_drawn_too():
    ys = {
        found[3]: int(found[1])
        for found in re.finditer(
            r'y="(\d+)" fill="#616161">([^<]*)</text><text [^>]*>([^<]*)<',
            drawn().svg(),
        )
    }
    assert ys["shop"] < ys["hub"] < ys["web"]
    one, two = GraphNode("A", "one"), GraphNode("A", "two")
    circle = ObjectGraph((one, two), ((one, two, "x"), (two, one, "y")))
    assert circle.svg().count("<line") == 2
