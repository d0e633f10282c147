"""A graph of objects, owners and references, drawn as DOT, Mermaid or SVG."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from html import escape

import attrs

from asoreconcile.azure.catalogue.inputs import inputs_of
from asoreconcile.azure.catalogue.kinds import (
    Catalogue,
    KindVersion,
    NotInCatalogueError,
)
from asoreconcile.azure.reconcile.model.conditions import find_ready
from asoreconcile.base import jsontext
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    gvk_of,
    key_of,
    spec,
    status,
)

_COLOURS = {"True": "#2e7d32", "False": "#c62828", "Unknown": "#ef6c00"}
_PLAIN = "#607d8b"
_ROW, _BOX_HEIGHT, _GAP, _LETTER = 110, 44, 24, 7.5


@attrs.frozen
class GraphNode:
    """An object, or a missing one that is only referred to.

    ready: status of the Ready condition; "" if there is none.
    """

    kind: str
    name: str
    namespace: str = ""
    group: str = ""
    ready: str = attrs.field(default="", eq=False)

    @property
    def colour(self) -> str:
        """Return the colour of the node's border."""
        return _COLOURS.get(self.ready, _PLAIN)


@attrs.frozen
class ObjectGraph:
    """Nodes and edges in a fixed order. An edge has the path of the field as label."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[GraphNode, GraphNode, str], ...]

    def dot(self) -> str:
        """Return the graph in the language of Graphviz."""
        ids = self._ids()
        lines = ["digraph objects {", '  rankdir="BT"; node [shape=box];']
        for node in self.nodes:
            label = _quoted(f"{node.kind}\n{node.name}")
            lines.append(f'  {ids[node]} [label={label}, color="{node.colour}"];')
        lines += [
            f"  {ids[a]} -> {ids[b]} [label={_quoted(label)}];"
            for a, b, label in self.edges
        ]
        return "\n".join([*lines, "}"])

    def mermaid(self) -> str:
        """Return the graph as a Mermaid flowchart, which Markdown can hold."""
        ids = self._ids()
        lines = ["flowchart BT"]
        lines += [
            f'  {ids[n]}["{escape(n.kind)}<br/>{escape(n.name)}"]' for n in self.nodes
        ]
        lines += [
            f'  {ids[a]} -->|"{escape(label)}"| {ids[b]}' for a, b, label in self.edges
        ]
        lines += [f"  style {ids[n]} stroke:{n.colour}" for n in self.nodes if n.ready]
        return "\n".join(lines)

    def svg(self) -> str:
        """Return the graph as a picture: owners above, one row for each level."""
        places, width, height = self._places()
        parts = [
            '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif"',
            f' font-size="12" viewBox="0 0 {width:.0f} {height:.0f}">',
            '<rect width="100%" height="100%" fill="white"/>',
        ]
        for a, b, label in self.edges:
            (x1, y1, w1), (x2, y2, w2) = places[a], places[b]
            dash = "" if label == "owner" else ' stroke-dasharray="4 3"'
            parts.append(
                f'<line x1="{x1 + w1 / 2:.0f}" y1="{y1:.0f}" x2="{x2 + w2 / 2:.0f}" '
                f'y2="{y2 + _BOX_HEIGHT:.0f}" stroke="#9e9e9e"{dash}>'
                f"<title>{escape(label)}</title></line>"
            )
        for node, (x, y, box) in places.items():
            parts.append(
                f'<rect x="{x:.0f}" y="{y:.0f}" width="{box:.0f}" '
                f'height="{_BOX_HEIGHT}" rx="6" fill="white" stroke="{node.colour}" '
                f'stroke-width="2"/><text x="{x + 10:.0f}" y="{y + 18:.0f}" '
                f'fill="#616161">{escape(node.kind)}</text><text x="{x + 10:.0f}" '
                f'y="{y + 35:.0f}" fill="black">{escape(node.name)}</text>'
            )
        return "\n".join([*parts, "</svg>"])

    def _ids(self) -> Mapping[GraphNode, str]:
        return {node: f"n{number}" for number, node in enumerate(self.nodes)}

    def _places(
        self,
    ) -> tuple[dict[GraphNode, tuple[float, float, float]], float, float]:
        """Return each node's x, y and width, and the size of the picture."""
        rows = self._rows()
        places: dict[GraphNode, tuple[float, float, float]] = {}
        width = 0.0
        for level, row in enumerate(rows):
            x = float(_GAP)
            for node in self._ordered(row, places):
                box = max(len(node.kind), len(node.name)) * _LETTER + 20
                places[node] = (x, _GAP + level * _ROW, box)
                x += box + _GAP
            width = max(width, x)
        return places, width, _GAP + len(rows) * _ROW

    def _rows(self) -> list[list[GraphNode]]:
        """Return the nodes by level: each is below its owner and references."""
        above = defaultdict(list)
        for a, b, _ in self.edges:
            above[a].append(b)
        levels: dict[GraphNode, int] = dict.fromkeys(self.nodes, 0)
        # As often as there are nodes at most: a circle of references ends there.
        for _ in self.nodes:
            moved = False
            for node in self.nodes:
                level = max((levels[b] + 1 for b in above[node]), default=0)
                if levels[node] < level < len(self.nodes):
                    levels[node], moved = level, True
            if not moved:
                break
        rows = defaultdict(list)
        for node, level in levels.items():
            rows[level].append(node)
        return [rows[level] for level in sorted(rows)]

    def _ordered(
        self,
        row: list[GraphNode],
        places: Mapping[GraphNode, tuple[float, float, float]],
    ) -> list[GraphNode]:
        """Return a row's nodes, each near the middle of its owner and references."""

        def middle(node: GraphNode) -> float:
            xs = [places[b][0] for a, b, _ in self.edges if a == node and b in places]
            return sum(xs) / len(xs) if xs else 0.0

        return sorted(row, key=middle)


def object_graph(catalogue: Catalogue, objects: Iterable[JsonObject]) -> ObjectGraph:
    """Return the graph of the objects whose kinds are in the catalogue."""
    nodes: dict[GraphNode, GraphNode] = {}
    edges: dict[tuple[GraphNode, GraphNode, str], None] = {}
    for obj in objects:
        try:
            version = catalogue.version(gvk_of(obj))
        except NotInCatalogueError:
            continue
        ready = find_ready(status(obj).get("conditions")) or {}
        own = _node(gvk_of(obj).group_kind, key_of(obj).name, key_of(obj).namespace)
        # A node of the same name may be here already, named by another object.
        nodes.pop(own, None)
        own = attrs.evolve(own, ready=str(ready.get("status", "")))
        nodes[own] = own
        for label, to in links_of(version, obj, own.namespace):
            edges[own, nodes.setdefault(to, to), label] = None
    shown = tuple((nodes[a], nodes[b], label) for a, b, label in edges)
    return ObjectGraph(tuple(nodes.values()), shown)


def links_of(
    version: KindVersion, obj: JsonObject, namespace: str
) -> Iterator[tuple[str, GraphNode]]:
    """Yield the owner and each reference of an object with the label of its edge.

    The label of the owner is `owner`. An owner named by its ARM id has no group.
    """
    owner = spec(obj).get("owner") or {}
    if arm_id := owner.get("armId"):
        yield "owner", GraphNode("ARM id", arm_id.rpartition("/")[2])
    elif owner.get("name"):
        kind = version.owner or GroupKind(owner.get("group", ""), owner.get("kind", ""))
        yield "owner", _node(kind, owner["name"], namespace)
    for found in inputs_of(version, spec(obj)):
        value, label = found.value, found.path.removeprefix("spec.")
        if found.kind == "reference" and value.get("name"):
            kind = GroupKind(value.get("group", ""), value.get("kind", ""))
            yield label, _node(kind, value["name"], namespace)


def _node(kind: GroupKind, name: str, namespace: str) -> GraphNode:
    return GraphNode(kind.kind, name, namespace, kind.group)


def _quoted(text: str) -> str:
    return jsontext.dumps(text).decode()
