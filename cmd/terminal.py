"""Writes the commands' output: the one place where text reaches a terminal.

Names, annotations, conditions and errors are foreign texts. They cannot add lines, move
the cursor or change the order of letters, because they are escaped (`base.printable`).
"""

import os
import shutil
import sys
import textwrap
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Never

import click

from asoreconcile.base import jsontext
from asoreconcile.base.printable import printable, printable_json


def say(text: str = "", *, err: bool = False) -> None:
    """Write one line, to standard output or, with `err`, to standard error."""
    _echo(printable(text), err=err)


def say_step(text: str = "", *, err: bool = False) -> None:
    """Write one line of a command that continues.

    `waiting_shown` shows its line again once the command is silent.
    """
    say(text, err=err)
    still_waiting()


def say_wrapped(text: str, *, hang: int, colour: str = "") -> None:
    """Write one line. On a terminal it is wrapped, with an indent of `hang` columns
    from the second line on, and its first word is coloured unless NO_COLOR is set.
    """
    line = printable(text)
    if sys.stdout.isatty():
        lines = textwrap.wrap(
            line,
            shutil.get_terminal_size().columns,
            subsequent_indent=" " * hang,
            break_long_words=False,
            break_on_hyphens=False,
        )
        line = "\n".join(lines)
        if colour and not os.environ.get("NO_COLOR"):
            first, space, rest = line.partition(" ")
            line = click.style(first, fg=colour) + space + rest
    _echo(line)


def say_lines(text: str) -> None:
    """Write a text of this program; its line breaks are kept."""
    _echo(printable(text, keep="\n"))


def say_table(rows: Sequence[Sequence[str]]) -> None:
    """Write rows as a table with aligned columns; all have as many cells."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    say_lines("\n".join(lines))


def fail(*problems: object, code: int = 1) -> Never:
    """Write each problem to standard error, and end the command."""
    for problem in problems:
        say(str(problem), err=True)
    sys.exit(code)


def say_json(value: Any) -> None:
    """Write a document as one line of JSON."""
    _echo(json_text(value))


def json_text(value: Any) -> str:
    """Return a document as one line of JSON, without the end of the line."""
    return printable_json(jsontext.dumps(value).decode())


def write(text: str) -> None:
    """Write a text unchanged.

    It must not contain foreign characters that act on a terminal: YAML of `yaml_text`,
    JSON of `json_text`, or escape codes of this program.
    """
    _echo(text, nl=False)


def _echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    _waiting.end()
    click.echo(text, err=err, nl=nl)


class _Waiting:
    """A line on the terminal while a command has not written anything yet."""

    def __init__(self) -> None:
        self.command = ""
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Show the line once the command is silent for a second."""
        if self.command and self._thread is None:
            self._ended.clear()
            self._thread = threading.Thread(target=self._report, daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Remove the line from the terminal. Idempotent."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._ended.set()
            thread.join()

    def _report(self) -> None:
        seconds = 0.0
        while not self._ended.wait(_SILENT_SECONDS):
            seconds += _SILENT_SECONDS
            sys.stderr.write(
                f"\r{self.command}: waiting for an answer, {seconds:.0f} s"
            )
            sys.stderr.flush()
        if seconds:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


_SILENT_SECONDS = 1.0
_waiting = _Waiting()


def still_waiting() -> None:
    """Show the line of `waiting_shown` again once the command is silent."""
    _waiting.begin()


def end_waiting() -> None:
    """Remove the line of `waiting_shown`, before output that is not written by this
    module.
    """
    _waiting.end()


@contextmanager
def waiting_shown(command: str) -> Iterator[None]:
    """Return a context in which a terminal shows how long the command waits before its
    first output, and after `say_step`.
    """
    if sys.stderr.isatty():
        _waiting.command = command
        _waiting.begin()
    try:
        yield
    finally:
        _waiting.command = ""
        _waiting.end()
