"""Writes the commands' output: the one place where text reaches a terminal.

Names, annotations, conditions and errors are others' texts. None of them can write a
line of its own, move the cursor or change the order of letters (`base.printable`).
"""

import os
import shutil
import sys
import textwrap
from typing import Any

import click

from asoreconcile.base import jsontext
from asoreconcile.base.printable import printable, printable_json


def say(text: str = "", *, err: bool = False) -> None:
    """Write one line, to standard output or, with `err`, to standard error."""
    click.echo(printable(text), err=err)


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
    click.echo(line)


def say_table(text: str) -> None:
    """Write a table of our own: its line breaks are kept."""
    click.echo(printable(text, keep="\n"))


def say_json(value: Any) -> None:
    """Write a document as one line of JSON."""
    click.echo(json_text(value))


def json_text(value: Any) -> str:
    """Return a document as one line of JSON, without the end of the line."""
    return printable_json(jsontext.dumps(value).decode())


def write(text: str) -> None:
    """Write YAML or JSON as `yaml_text` and `json_text` make it, or escape codes of our
    own: text without others' characters that act on a terminal.
    """
    click.echo(text, nl=False)
