"""Writes the commands' output: the one place where text reaches a terminal.

Names, annotations, conditions and errors are others' texts. None of them can write a
line of its own, move the cursor or change the order of letters (`base.printable`).
"""

from typing import Any

import click

from asoreconcile.base import jsontext
from asoreconcile.base.printable import printable, printable_json


def say(text: str = "", *, err: bool = False) -> None:
    """Write one line, to standard output or, with `err`, to standard error."""
    click.echo(printable(text), err=err)


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
