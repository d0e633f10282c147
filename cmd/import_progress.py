"""How far an import is: a bar on a terminal, nothing elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from asoreconcile.azure.resource_import.report import NoReporter, Outcome, Reporter

if TYPE_CHECKING:
    from rich.progress import Progress


@contextmanager
def progress() -> Iterator[Reporter]:
    """What to show on standard error while resources are read."""
    if not sys.stderr.isatty():
        yield NoReporter()
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:  # without the extra `cli`
        yield NoReporter()
        return
    with Progress(console=Console(stderr=True), transient=True) as shown:
        yield _Bar(shown)


class _Bar:
    def __init__(self, shown: "Progress") -> None:
        self._shown = shown
        self._bar = shown.add_task("Reading", total=0)
        self._total = 0

    def found(self, count: int) -> None:
        self._total += count
        self._shown.update(self._bar, total=self._total)

    def outcome(self, outcome: Outcome) -> None:
        if outcome.kind is not None:
            self._shown.advance(self._bar)

    def waiting(self, seconds: float, why: str) -> None:
        self._shown.console.print(f"waiting {seconds:.0f} s: {why}", highlight=False)
