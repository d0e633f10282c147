"""For hack/docs: draws the flow charts of a page, which are Mermaid text, as SVG.

A forge draws Mermaid itself, but the site fetches no scripts. The charts use a part of
the language: `flowchart TD`, lines `a["label"]`, and arrows `a --> b`, `a -.-> b` and
`a -->|text| b`, without circles. Each node is drawn below all nodes that lead to it.
"""

import html
import re
from itertools import pairwise
from typing import NamedTuple

_CHART = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NODE = r'(\w+)(?:\["([^"]+)"\])?'
_ARROW = re.compile(rf"{_NODE} (-->|-\.->)(?:\|([^|]+)\|)? {_NODE}")
_ALONE = re.compile(_NODE)
_CHARACTER, _PADDING, _BOX, _GAP, _ROW = 7.6, 14.0, 34.0, 26.0, 86.0
_SMALL = 6.4  # a character of an arrow's text


class Arrow(NamedTuple):
    """One arrow between nodes.

    is_dotted: whether the arrow is `-.->`.
    text: text at the arrow, or "".
    """

    start: str
    end: str
    is_dotted: bool = False
    text: str = ""


class Rectangle(NamedTuple):
    """The place of a text."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Rectangle") -> bool:
        """Return whether both have a point in common."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


class Chart(NamedTuple):
    """The nodes of a chart with their labels, and its arrows, in the order
    of the text.
    """

    labels: dict[str, str]
    arrows: tuple[Arrow, ...]


def charts(text: str) -> list[Chart]:
    """Return the charts of a page. Raises ValueError for a line that is not drawn."""
    return [parse(found[1]) for found in _CHART.finditer(text)]


def parse(source: str) -> Chart:
    """Return one chart. Raises ValueError for a line that is not drawn."""
    labels: dict[str, str] = {}
    arrows = []
    for line in map(str.strip, source.splitlines()):
        if not line or line.startswith(("flowchart TD", "%%")):
            continue
        if match := _ARROW.fullmatch(line):
            start, start_label, arrow, words, end, end_label = match.groups()
            named = [(start, start_label), (end, end_label)]
            arrows.append(Arrow(start, end, arrow == "-.->", words or ""))
        elif match := _ALONE.fullmatch(line):
            named = [(match[1], match[2])]
        else:
            message = f"not a line of a chart: {line}"
            raise ValueError(message)
        for node, label in named:
            labels[node] = label or labels.get(node, node)
    return Chart(labels, tuple(arrows))


def drawn(text: str) -> str:
    """Return a page with each chart as an SVG drawing in place of its text."""

    def figure(found: re.Match[str]) -> str:
        return (
            f'<figure class="drawing" markdown="0">\n{svg(parse(found[1]))}\n</figure>'
        )

    return _CHART.sub(figure, text)


def svg(chart: Chart) -> str:
    """Draw a chart: rows of boxes, arrows downward. Raises ValueError for a circle."""
    rows, paths = _rows(chart)
    places = _places(chart, rows)
    left = min(x - _width(chart, node) / 2 for node, (x, _) in places.items()) - _GAP
    right = max(x + _width(chart, node) / 2 for node, (x, _) in places.items()) + _GAP
    height = _ROW * len(rows) - (_ROW - _BOX) + 2 * _GAP
    names = html.escape(", ".join(chart.labels.values()))
    head = (
        f'<svg viewBox="{left:.0f} {-_GAP:.0f} {right - left:.0f} {height:.0f}" '
        f'style="min-width:0;max-width:{right - left:.0f}px" aria-label="{names}" '
        'xmlns="http://www.w3.org/2000/svg" role="img">\n'
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" '
        'markerHeight="8" orient="auto"><path class="head" d="M0 0L10 5L0 10z"/>'
        "</marker></defs>"
    )
    parts = [head]
    texts: list[Rectangle] = []
    for arrow, path in zip(chart.arrows, paths, strict=True):
        points = [places[node] for node in path]
        parts.append(_line(arrow, points))
        if arrow.text:
            texts.append(_place_of_text(arrow.text, points[0], points[1], texts))
            place = texts[-1]
            parts.append(
                f'<text class="small" x="{place.left:.0f}" '
                f'y="{place.bottom - 3:.0f}">{html.escape(arrow.text)}</text>'
            )
    for node, label in chart.labels.items():
        x, y = places[node]
        width = _width(chart, node)
        parts.append(
            f'<rect class="box" x="{x - width / 2:.0f}" y="{y:.0f}" '
            f'width="{width:.0f}" height="{_BOX:.0f}" rx="6"/>'
            f'<text x="{x:.0f}" y="{y + 22:.0f}" text-anchor="middle">'
            f"{html.escape(label)}</text>"
        )
    return "\n".join([*parts, "</svg>"])


def _rows(chart: Chart) -> tuple[list[list[str]], list[list[str]]]:
    """Return the nodes by row, and each arrow's path with a place in each row."""
    depth = dict.fromkeys(chart.labels, 0)
    for _ in range(len(depth) + 1):
        before = dict(depth)
        for arrow in chart.arrows:
            depth[arrow.end] = max(depth[arrow.end], depth[arrow.start] + 1)
        if depth == before:
            break
    else:
        message = "the chart has a circle"
        raise ValueError(message)
    rows: list[list[str]] = [[] for _ in range(max(depth.values(), default=0) + 1)]
    for node, row in depth.items():
        rows[row].append(node)
    paths = []
    for number, arrow in enumerate(chart.arrows):
        path = [arrow.start]
        for row in range(depth[arrow.start] + 1, depth[arrow.end]):
            path.append(f"{number}.{row}")
            rows[row].append(path[-1])
        paths.append([*path, arrow.end])
    _untangle(rows, paths)
    return rows, paths


def _untangle(rows: list[list[str]], paths: list[list[str]]) -> None:
    """Order each row by the middle of its neighbours, so that fewer arrows cross."""
    above: dict[str, list[str]] = {}
    below: dict[str, list[str]] = {}
    for path in paths:
        for upper, lower in pairwise(path):
            above.setdefault(lower, []).append(upper)
            below.setdefault(upper, []).append(lower)
    place = {node: i / len(row) for row in rows for i, node in enumerate(row)}
    for near, ordered in ((above, rows), (below, rows[::-1])) * 4:
        for row in ordered:
            middles = {
                node: sum(map(place.__getitem__, near.get(node, [node])))
                / len(near.get(node, [node]))
                for node in row
            }
            row.sort(key=middles.__getitem__)
            place |= {node: i / len(row) for i, node in enumerate(row)}


def _width(chart: Chart, node: str) -> float:
    """Return the width of a node's box, or of an arrow's place in a row."""
    label = chart.labels.get(node)
    return 1.0 if label is None else len(label) * _CHARACTER + 2 * _PADDING


def _places(chart: Chart, rows: list[list[str]]) -> dict[str, tuple[float, float]]:
    places = {}
    for number, row in enumerate(rows):
        widths = [_width(chart, node) for node in row]
        x = -(sum(widths) + _GAP * (len(row) - 1)) / 2
        for node, width in zip(row, widths, strict=True):
            places[node] = (x + width / 2, number * _ROW)
            x += width + _GAP
    return places


def _line(arrow: Arrow, points: list[tuple[float, float]]) -> str:
    (x, y), *others = points
    path, at = f"M{x:.0f} {y + _BOX:.0f}", y + _BOX
    for number, (next_x, next_y) in enumerate(others):
        is_last = number == len(others) - 1
        bend = (next_y - at) / 2
        path += f"C{x:.0f} {at + bend:.0f} {next_x:.0f} {next_y - bend:.0f} "
        path += f"{next_x:.0f} {next_y - (2 if is_last else 0):.0f}"
        x, at = next_x, next_y if is_last else next_y + _BOX
        if not is_last:
            path += f"V{at:.0f}"
    dots = ' stroke-dasharray="5 4"' if arrow.is_dotted else ""
    return f'<path class="line" marker-end="url(#tip)"{dots} d="{path}"/>'


def _place_of_text(
    text: str,
    start: tuple[float, float],
    end: tuple[float, float],
    others: list[Rectangle],
) -> Rectangle:
    """Return a place next to an arrow that no other text has.

    Raises ValueError if there is no such place: the chart needs other words.
    """
    (x0, y0), (x1, y1) = start, end
    for share in (0.5, 0.65, 0.35, 0.8, 0.2):
        x, y = x0 + (x1 - x0) * share + 8, y0 + _BOX + (y1 - y0 - _BOX) * share + 4
        place = Rectangle(x, y - 11, x + len(text) * _SMALL, y + 3)
        if not any(place.meets(other) for other in others):
            return place
    message = f"there is no place for the text {text!r}"
    raise ValueError(message)
