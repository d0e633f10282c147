"""The progress of an import, on standard error: a live bar on a terminal,
else lines.
"""

import sys
from collections import Counter
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
        yield SilentReporter()
        return
    if is_flagged("simple") or not sys.stderr.isatty():
        yield LineReporter(clock or SystemClock())
        return
    # Imported where it is shown: 50 ms of start-up.
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


class _Counts:
    """The counts of an import.

    found: resources to read so far. outcomes: by status.
    """

    def __init__(self) -> None:
        self.found = 0
        self.outcomes: Counter[str] = Counter()

    @property
    def done(self) -> int:
        return self.outcomes.total()

    def add(self, outcome: ImportOutcome) -> None:
        if not outcome.is_list:
            self.outcomes[outcome.status] += 1

    def failed(self) -> str:
        failures = self.outcomes["failed"]
        return f"{failures} failed" if failures else ""


class BarReporter:
    """A bar, with what is being waited for next to it."""

    def __init__(self, shown: "Progress") -> None:
        self._shown = shown
        self._counts = _Counts()
        self._task = shown.add_task("", total=0)

    def found(self, count: int) -> None:
        """Make the bar longer."""
        self._counts.found += count
        self._shown.update(self._task, total=self._counts.found)

    def outcome(self, outcome: ImportOutcome) -> None:
        """Fill the bar by one, and count the failures."""
        self._counts.add(outcome)
        self._shown.update(
            self._task, completed=self._counts.done, description=self._counts.failed()
        )

    def waiting(self, seconds: float, why: str) -> None:
        """Show the reason for a long wait next to the bar, until the next outcome."""
        if seconds < LONG_SECONDS:
            return
        text = f"waiting {seconds:.0f} s: {why}"
        self._shown.update(self._task, description=printable(text))


class LineReporter:
    """A line every ten seconds at most, for logs; a short import says nothing."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counts = _Counts()
        self._next = clock.monotonic() + _LINE_EVERY_SECONDS
        self._next_wait = clock.monotonic()

    def found(self, count: int) -> None:
        """Count what is to be read; says nothing."""
        self._counts.found += count

    def outcome(self, outcome: ImportOutcome) -> None:
        """Count one, and print a line to stderr if the last one is ten seconds old."""
        self._counts.add(outcome)
        now = self._clock.monotonic()
        if now >= self._next:
            self._next = now + _LINE_EVERY_SECONDS
            say(f"{self._read()} {self._counts.failed()}".rstrip(), err=True)

    def waiting(self, seconds: float, why: str) -> None:
        """Print a line to stderr, unless one like it was printed ten seconds ago."""
        now = self._clock.monotonic()
        if now >= self._next_wait:
            self._next_wait = now + _LINE_EVERY_SECONDS
            say(f"{self._read()} waiting {seconds:.0f} s: {why}", err=True)

    def _read(self) -> str:
        return f"{self._counts.done} of {self._counts.found} read;"


class SilentReporter:
    """Shows no progress."""

    def found(self, count: int) -> None:
        """Do nothing."""

    def outcome(self, outcome: ImportOutcome) -> None:
        """Do nothing."""

    def waiting(self, seconds: float, why: str) -> None:
        """Do nothing."""
