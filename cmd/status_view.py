"""Showing objects and their conditions: a live table on a terminal, lines elsewhere."""

import os
import shutil
import sys
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Protocol, Self

import click

from asoreconcile.azure.cmd.manifests import Row
from asoreconcile.azure.cmd.status_table import drawn, kind_titles
from asoreconcile.base.objects import ObjectKey

_UP = "\x1b[{}A"
_CLEAR_BELOW = "\x1b[J"


class StatusView(Protocol):
    """Shows the present rows each time it is called."""

    def show(self, rows: Sequence[Row], *, total_requests: int, note: str) -> None:
        """note: one more line; "" for none. Raises OSError once nobody looks."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def view() -> StatusView:
    """A table where it can be drawn again in place, else lines.

    NO_COLOR and TERM=dumb ask for text without any escape code: lines.
    """
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return Lines() if is_plain or not sys.stdout.isatty() else LiveTable()


class _Plain:
    """Nothing to prepare, nothing to put back."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing to put back."""


class Lines(_Plain):
    """A line for each change of an object's condition."""

    def __init__(self) -> None:
        self._shown: dict[tuple[str, ObjectKey], tuple[str, str]] = {}
        self._note = ""

    def show(self, rows: Sequence[Row], *, total_requests: int, note: str) -> None:
        """Print a line for each object whose condition changed since the last call."""
        if note != self._note:
            self._note = note
            click.echo(f"{'':>6}  {note}")
        self._show_gone({(row.resource, row.key) for row in rows})
        titles = kind_titles(rows)
        for row in rows:
            state = (row.status, row.reason)
            if not row.status or self._shown.get((row.resource, row.key)) == state:
                continue
            self._shown[row.resource, row.key] = state
            click.echo(
                f"{row.age_seconds:5.0f}s  {titles[row.resource]} {row.key}: "
                f"Ready={row.status} {row.reason}"
                f" ({row.requests} of {total_requests} ARM requests)"
            )

    def _show_gone(self, present: Collection[tuple[str, ObjectKey]]) -> None:
        for resource, key in [gone for gone in self._shown if gone not in present]:
            del self._shown[resource, key]
            click.echo(f"{'':>6}  {resource} {key}: gone")


class LiveTable(_Plain):
    """A table that is drawn again in place."""

    def __init__(self) -> None:
        self._height = 0

    def show(self, rows: Sequence[Row], *, total_requests: int, note: str) -> None:
        """Draw the table over the last one; cut to the terminal's size of this
        moment.
        """
        size = shutil.get_terminal_size()
        lines = drawn(
            rows,
            total_requests=total_requests,
            note=note,
            width=size.columns,
            # One line is the cursor's. What has scrolled away cannot be drawn again.
            height=size.lines - 1,
        )
        up = _UP.format(self._height) if self._height else ""
        click.echo(f"{up}\r{_CLEAR_BELOW}" + "\n".join(lines))
        self._height = len(lines)
