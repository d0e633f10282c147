"""Groups of commands whose modules are loaded when they are called for.

A program that is found as `kubectl-NAME` is a plug-in of kubectl: its usage and its
examples say `kubectl NAME`.
"""

import copy
import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import click

from asoreconcile.azure.cmd.broken_pipe import QuietGroup

_PLUGIN = "kubectl-"
# Commands answer to `-h`, as kubectl does; groups pass it on to their commands.
HELP_NAMES = {"help_option_names": ["-h", "--help"]}


class LazyGroup(QuietGroup):
    """A group that imports a subcommand only when it is used, so that `--help` does not
    load azure-identity.

    lazy: by the command's name, its place (`module:attribute` of
    `asoreconcile.azure.cmd`) and its short help.
    """

    def __init__(
        self, *args: Any, lazy: Mapping[str, tuple[str, str]], **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self._lazy = lazy

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        *rest: Any,
        **settings: Any,
    ) -> Any:
        """Run the program; its texts call it `kubectl NAME` if it is a plug-in."""
        called = PurePath(sys.argv[0]).name
        if prog_name is None and args is None and called.startswith(_PLUGIN):
            prog_name = called.removesuffix(".exe").replace("-", " ", 1)
        return super().main(args, prog_name, *rest, **settings)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the subcommands, in order, without importing any."""
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one subcommand; None if the name is unknown."""
        if cmd_name not in self._lazy:
            return None
        module, _, attribute = self._lazy[cmd_name][0].partition(":")
        command = getattr(
            importlib.import_module(f"asoreconcile.azure.cmd.{module}"), attribute
        )
        assert isinstance(command, click.Command)  # noqa: S101
        program = ctx.find_root().info_name or ""
        if self.name and program.startswith(_PLUGIN.rstrip("-")):
            return _renamed(command, self.name, program)
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the list of commands in `--help` from the short helps, without
        importing anything.
        """
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self._lazy.items()])


def _renamed(command: click.Command, name: str, program: str) -> click.Command:
    """Return a copy of a command whose examples call the program by another name."""
    renamed = copy.copy(command)
    renamed.help = (command.help or "").replace(f"{name} ", f"{program} ")
    if isinstance(renamed, click.Group):
        renamed.commands = {
            inner: _renamed(one, name, program)
            for inner, one in renamed.commands.items()
        }
    return renamed
