"""The table of objects and their conditions, fitted to a terminal. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import click

from asoreconcile.azure.cmd.manifests import Row

_COLOURS = {"True": "green", "False": "yellow", "Unknown": "yellow", "": "white"}
_HEADINGS = ("KIND", "NAME", "READY", "REASON", "AGE", "REQUESTS")
_RIGHT = (4, 5)  # numbers
_READY = 2
_GIVING_WAY = ((0, 12), (1, 12), (3, 10))  # columns that may shrink, and to what
_GAP = 2
_TROUBLES = ("Warning", "Error")


def kind_titles(rows: Iterable[Row]) -> Mapping[str, str]:
    """What to call the kind of each resource: with its group where two share a name."""
    kinds = {row.resource: (row.kind, row.group) for row in rows}
    sharing = Counter(kind for kind, _ in kinds.values())
    return {
        resource: kind if sharing[kind] == 1 else f"{kind}.{group.partition('.')[0]}"
        for resource, (kind, group) in kinds.items()
    }


def drawn(
    rows: Sequence[Row], *, total_requests: int, note: str, width: int, height: int
) -> list[str]:
    """The lines of the table, at most `height` of at most `width` columns.

    Names give way to the conditions. Where not all objects fit, those that are not
    Ready come first, with their messages.
    """
    ready = sum(row.is_ready for row in rows)
    summary = f"{ready} of {len(rows)} Ready, {total_requests} ARM requests"
    lines = [_cut(f"{summary}; {note}" if note else summary, width)]
    space = height - 2
    ordered = sorted(rows, key=lambda row: (row.kind, row.group, row.key))
    is_short = len(rows) > space
    if is_short:
        ordered.sort(key=lambda row: row.is_ready)
        space -= 1  # for the line that says what is left out
    messages = sum(_has_trouble(row) for row in rows)
    with_messages = is_short or len(rows) + messages <= space
    chosen: list[Row] = []
    for row in ordered:
        space -= 1 + (with_messages and _has_trouble(row))
        if space < 0:
            break
        chosen.append(row)
    titles = kind_titles(rows)
    cells = [_HEADINGS, *(_cells(row, titles[row.resource]) for row in chosen)]
    widths = _widths(cells, width)
    lines.append(_line(_HEADINGS, widths))
    for row, texts in zip(chosen, cells[1:], strict=True):
        lines.append(_line(texts, widths, colour=_COLOURS.get(row.status, "red")))
        if with_messages and _has_trouble(row):
            lines.append("  " + _cut(row.message, width - 2))
    if len(chosen) < len(rows):
        rest = ordered[len(chosen) :]
        unready = sum(not row.is_ready for row in rest)
        lines.append(_cut(f"and {len(rest)} more, {unready} of them not Ready", width))
    return lines


def _has_trouble(row: Row) -> bool:
    return not row.is_ready and row.severity in _TROUBLES and bool(row.message)


def _cells(row: Row, kind: str) -> tuple[str, ...]:
    age = f"{row.age_seconds:.0f}s"
    status = row.status or "-"
    return (kind, row.key.name, status, row.reason, age, str(row.requests))


def _widths(cells: Sequence[Sequence[str]], width: int) -> list[int]:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    excess = sum(widths) + _GAP * (len(widths) - 1) - width
    while excess > 0:
        candidates = [i for i, least in _GIVING_WAY if widths[i] > least]
        if not candidates:
            break
        # The reason is cut only when kind and name have given what they can.
        names = [i for i in candidates if i != _GIVING_WAY[-1][0]]
        widths[max(names or candidates, key=lambda i: widths[i])] -= 1
        excess -= 1
    return widths


def _line(cells: Sequence[str], widths: Sequence[int], *, colour: str = "") -> str:
    texts = []
    for number, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        text = _cut(cell, width)
        text = text.rjust(width) if number in _RIGHT else text.ljust(width)
        if colour and number == _READY:
            text = click.style(text, fg=colour)
        texts.append(text)
    return (" " * _GAP).join(texts).rstrip()


def _cut(text: str, width: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"
