"""Show objects and their conditions: a live table on a terminal, lines elsewhere."""

import os
import shutil
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import click

from asoreconcile.azure.cmd.manifests import Row
from asoreconcile.azure.cmd.terminal import say, write
from asoreconcile.base.objects import ObjectKey
from asoreconcile.base.printable import printable

_COLOURS = {"True": "green", "False": "yellow", "Unknown": "yellow", "": "white"}
_HEADINGS = ("KIND", "NAME", "READY", "REASON", "AGE", "REQUESTS")
_RIGHT = (4, 5)  # numbers
_READY = 2
_GIVING_WAY = ((0, 4), (1, 4), (3, 4))  # columns that may shrink, and their least width
_GAP = 2
_TROUBLES = ("Warning", "Error")


def kind_titles(rows: Iterable[Row]) -> Mapping[str, str]:
    """Return a title for the kind of each resource: with its group if two share
    a name.
    """
    kinds = {row.resource: (row.kind, row.group) for row in rows}
    sharing = Counter(kind for kind, _ in kinds.values())
    return {
        resource: kind if sharing[kind] == 1 else f"{kind}.{group.partition('.')[0]}"
        for resource, (kind, group) in kinds.items()
    }


def drawn(
    rows: Sequence[Row], *, total_requests: int, note: str, width: int, height: int
) -> list[str]:
    """Return the lines of the table, at most `height` of at most `width` columns.

    Names are shortened to make room for conditions. If not all objects fit with their
    messages, objects that are not Ready come first.
    """
    ready = sum(row.is_ready for row in rows)
    summary = f"{ready} of {len(rows)} Ready, {total_requests} ARM requests"
    lines = [_cut(f"{summary}; {note}" if note else summary, width)]
    space = height - 2
    ordered = sorted(rows, key=lambda r: (r.is_ready, r.kind, r.group, r.key))
    is_short = len(rows) > space
    if is_short:
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
    text = printable(" ".join(text.split()))
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


_UP = "\x1b[{}A"
_CLEAR_BELOW = "\x1b[J"


def view(foot: Sequence[str]) -> "Lines | LiveTable":
    """Return a table if it can be redrawn in place, else lines. Both raise OSError if
    the output is no longer read.

    foot: the command that reaches the objects from another terminal, and addresses.
    They stay below the table, or are printed before the lines. With NO_COLOR or
    TERM=dumb the result is lines, because a table needs escape codes.
    """
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if is_plain or not sys.stdout.isatty():
        for line in [*foot, ""]:
            say(line)
        return Lines()
    return LiveTable(foot)


class Lines:
    """Prints a line for each change of an object's condition."""

    def __init__(self) -> None:
        self._shown: dict[tuple[str, ObjectKey], tuple[str, str]] = {}
        self._note = ""

    def show(self, rows: Sequence[Row], *, total_requests: int, note: str) -> None:
        """Print a line for each object whose condition changed since the last call."""
        if note != self._note:
            self._note = note
            say(f"{'':>6}  {note}")
        self._show_gone({(row.resource, row.key) for row in rows})
        titles = kind_titles(rows)
        for row in rows:
            state = (row.status, row.reason)
            if not row.status or self._shown.get((row.resource, row.key)) == state:
                continue
            self._shown[row.resource, row.key] = state
            say(
                f"{row.age_seconds:5.0f}s  {titles[row.resource]} {row.key}: "
                f"Ready={row.status} {row.reason}"
                f" ({row.requests} of {total_requests} ARM requests)"
            )

    def _show_gone(self, present: Collection[tuple[str, ObjectKey]]) -> None:
        for resource, key in [gone for gone in self._shown if gone not in present]:
            del self._shown[resource, key]
            say(f"{'':>6}  {resource} {key}: gone")


class LiveTable:
    """A table that is redrawn in place."""

    def __init__(self, foot: Sequence[str]) -> None:
        """foot: see `view`."""
        command, *others = foot
        self._foot = [f"{command}  # Ctrl-C ends the sandbox", *others]
        self._height = 0

    def show(self, rows: Sequence[Row], *, total_requests: int, note: str) -> None:
        """Draw the table over the last one, cut to the terminal's present size."""
        size = shutil.get_terminal_size()
        lines = drawn(
            rows,
            total_requests=total_requests,
            note=note,
            width=size.columns,
            # One line is the cursor's. Lines that have scrolled away cannot be drawn
            # again.
            height=size.lines - 1 - len(self._foot),
        )
        lines += self._foot
        up = _UP.format(self._height) if self._height else ""
        write(f"{up}\r{_CLEAR_BELOW}" + "\n".join(lines) + "\n")
        # It is not cut, so that it can be copied.
        wrapped = sum((len(line) - 1) // size.columns for line in self._foot)
        self._height = len(lines) + wrapped
