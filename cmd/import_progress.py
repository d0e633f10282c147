"""The progress of an import, on standard error: a live bar on a terminal,
else lines.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from asoreconcile.azure.cmd.aso_options import is_flagged
from asoreconcile.azure.cmd.terminal import end_waiting, say
from asoreconcile.azure.reconcile.planning.resource_import.report import (
    ImportOutcome,
    Reporter,
)
from asoreconcile.base.clock import Clock, SystemClock
from asoreconcile.base.printable import printable

if TYPE_CHECKING:
    from rich.progress import Progress

LONG_SECONDS = 2.0
"""Waits below this are the pace that Azure's read budget sets, and not worth a word."""

_LINE_EVERY_SECONDS = 10.0


@contextmanager
def progress(clock: Clock | None = None) -> Iterator[Reporter]:
    """Report the progress while resources are read. Nothing remains on a terminal
    afterwards.
    """
    if is_flagged("quiet") and not is_flagged("verbose"):
        yield Reporter()
        return
    if is_flagged("simple") or not sys.stderr.isatty():
        yield LineReporter(clock or SystemClock())
        return
    # Imported here, because it costs 50 ms of start-up.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    end_waiting()  # the bar has the line from here on
    console = Console(stderr=True)
    columns = (
        TextColumn("Reading"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as shown:
        yield BarReporter(shown)


class _CountingReporter(Reporter, ABC):
    """Counts resources to read, those that are read, and failures; `_show` shows the
    counts.
    """

    def __init__(self) -> None:
        self._found = self._done = self._failures = 0

    def found(self, count: int) -> None:
        """Count resources that will be read."""
        self._found += count
        self._show()

    def outcome(self, outcome: ImportOutcome) -> None:
        """Count one resource, or the failure of a list."""
        if not outcome.is_list:
            self._done += 1
            self._failures += outcome.status == "failed"
        self._show()

    @abstractmethod
    def _show(self) -> None:
        """Show the counts."""

    @property
    def _failed(self) -> str:
        return f"{self._failures} failed" if self._failures else ""


class BarReporter(_CountingReporter):
    """A progress bar; the reason for a long wait is shown next to it."""

    def __init__(self, shown: "Progress") -> None:
        super().__init__()
        self._shown = shown
        self._task = shown.add_task("", total=0)

    def _show(self) -> None:
        self._shown.update(
            self._task,
            total=self._found,
            completed=self._done,
            description=self._failed,
        )

    def waiting(self, seconds: float, why: str) -> None:
        """Show the reason for a long wait next to the bar, until the next outcome."""
        if seconds < LONG_SECONDS:
            return
        text = f"waiting {seconds:.0f} s: {why}"
        self._shown.update(self._task, description=printable(text))


class LineReporter(_CountingReporter):
    """Prints a line at most every ten seconds, for logs; a short import prints
    nothing.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._next = clock.monotonic() + _LINE_EVERY_SECONDS
        self._next_wait = clock.monotonic()

    def _show(self) -> None:
        """Print a line to stderr if the last one is ten seconds old."""
        now = self._clock.monotonic()
        if now >= self._next:
            self._next = now + _LINE_EVERY_SECONDS
            say(f"{self._read} {self._failed}".rstrip(), err=True)

    def waiting(self, seconds: float, why: str) -> None:
        """Print a line to stderr, unless one like it was printed ten seconds ago."""
        now = self._clock.monotonic()
        if now >= self._next_wait:
            self._next_wait = now + _LINE_EVERY_SECONDS
            say(f"{self._read} waiting {seconds:.0f} s: {why}", err=True)

    @property
    def _read(self) -> str:
        return f"{self._done} of {self._found} read;"
