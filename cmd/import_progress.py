"""How far an import is: a bar on a terminal, nothing elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from asoreconcile.azure.resource_import.report import (
    ImportOutcome,
    NoReporter,
    Reporter,
)

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar


@contextmanager
def progress() -> Iterator[Reporter]:
    """What to show on standard error while resources are read."""
    if not sys.stderr.isatty():
        yield NoReporter()
        return
    with click.progressbar(length=0, label="Reading", file=sys.stderr) as shown:
        yield _Bar(shown)


class _Bar:
    def __init__(self, shown: "ProgressBar[int]") -> None:
        self._shown = shown

    def found(self, count: int) -> None:
        self._shown.length = (self._shown.length or 0) + count
        self._shown.render_progress()

    def outcome(self, outcome: ImportOutcome) -> None:
        if outcome.kind is not None:
            self._shown.update(1)

    def waiting(self, seconds: float, why: str) -> None:
        click.echo(f"\nwaiting {seconds:.0f} s: {why}", err=True)
