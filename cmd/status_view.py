"""Showing an estate: a live table on a terminal, plain lines elsewhere."""

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

import click
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from asoreconcile.cmd.manifests import Row
from asoreconcile.objects import ObjectKey

_COLOURS = {"True": "green", "False": "yellow", "Unknown": "yellow", "": "dim"}


class View(Protocol):
    """Shows the present rows each time it is called."""

    def show(self, rows: Sequence[Row], *, total_requests: int) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class Lines:
    """A line for each change of an object's condition."""

    def __init__(self) -> None:
        self._shown: dict[tuple[str, ObjectKey], tuple[str, str]] = {}

    def show(self, rows: Sequence[Row], *, total_requests: int) -> None:
        present = {(row.kind, row.key) for row in rows}
        for kind, key in [gone for gone in self._shown if gone not in present]:
            del self._shown[kind, key]
            click.echo(f"{'':>6}  {kind} {key.namespace}/{key.name}: gone")
        for row in rows:
            state = (row.status, row.reason)
            if not row.status or self._shown.get((row.kind, row.key)) == state:
                continue
            self._shown[row.kind, row.key] = state
            click.echo(
                f"{row.age_seconds:5.0f}s  {row.title}: Ready={row.status} {row.reason}"
                f" ({row.requests} of {total_requests} ARM requests)"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing to put back."""


class LiveTable:
    """A table that is drawn again in place."""

    def __init__(self) -> None:
        self._live = Live(console=Console(), auto_refresh=False)

    def show(self, rows: Sequence[Row], *, total_requests: int) -> None:
        self._live.update(table(rows, total_requests=total_requests), refresh=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()


def table(rows: Sequence[Row], *, total_requests: int) -> Table:
    """The objects as a table for people."""
    ready = sum(row.is_ready for row in rows)
    drawn = Table(
        title=f"{ready} of {len(rows)} Ready, {total_requests} ARM requests",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    for name in ("KIND", "NAME", "READY", "REASON", "AGE", "REQUESTS"):
        is_number = name in ("AGE", "REQUESTS")
        drawn.add_column(name, justify="right" if is_number else "left", no_wrap=True)
    for row in sorted(rows, key=lambda row: (row.kind, row.key)):
        drawn.add_row(
            row.kind,
            row.key.name,
            Text(row.status or "-", style=_COLOURS.get(row.status, "red")),
            row.reason,
            f"{row.age_seconds:.0f}s",
            str(row.requests),
        )
    return drawn
