"""End a command normally if its reader stops, as in `asoreconcile kinds list | head
-1`.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from asoreconcile.azure.catalogue.suggestions import hint
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.printable import printable_lines


class QuietGroup(click.Group):
    """A group of commands that ends with exit code 0 if its output is no longer read,
    and that names the nearest command if one is unknown.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand; the error for an unknown one names the closest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = hint(args[0], self.list_commands(ctx))
            raise click.UsageError(error.message.rstrip(".") + near, ctx) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; exit with 0 if its output is no longer read, and with 1 and
        a message if it failed. Errors are shown without control characters of foreign
        texts.
        """
        try:
            return super().invoke(ctx)
        except AsoreconcileError as error:
            raise click.ClickException(printable_lines(str(error))) from error
        except click.ClickException as error:
            vars(error)["message"] = printable_lines(error.message)
            raise
        except BrokenPipeError:
            drop_output()
            sys.exit(0)


@contextmanager
def usage_errors(*errors: type[Exception], option: str = "") -> Iterator[None]:
    """Return a context in which these errors are shown as wrong calls (exit code 2).

    option: the option that is wrong, if the error does not name it.
    """
    try:
        yield
    except errors as error:
        message = f"{option}: {error}" if option else str(error)
        raise click.UsageError(message) from error


def drop_output() -> None:
    """Discard the buffered output, because the reader has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
