"""`asoreconcile kinds list | head -1` is no failure: the reader has seen enough."""

import os
import sys
from typing import Any

import click


class QuietGroup(click.Group):
    """Ends a command with exit code 0 once nobody reads its output."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; exits with 0 where its output is read no further."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            drop_output()
            sys.exit(0)


def drop_output() -> None:
    """Nobody reads our output any more: what is left in the buffer goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
