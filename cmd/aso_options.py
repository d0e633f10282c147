"""Options that ASO's asoctl accepts with every command, `--verbose`, `--quiet` and
`--simple-logging`, and the commands `help` and `completion SHELL`.
"""

import logging
from collections.abc import Sequence
from typing import Any

import click
from click.shell_completion import get_completion_class

from asoreconcile.azure.cmd.lazy_group import LazyGroup
from asoreconcile.azure.cmd.terminal import waiting_shown, write
from asoreconcile.base import log

_FLAGS = {
    "--verbose": "verbose",
    "-v": "verbose",
    "--quiet": "quiet",
    "-q": "quiet",
    "--simple-logging": "simple",
}
_SHELLS = ("bash", "zsh", "fish")


class AsoctlGroup(LazyGroup):
    """The group of asoctl's commands."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remove the flags from the arguments, wherever they are, and set them for the
        whole program.
        """
        stated = args.index("--") if "--" in args else len(args)
        found = {_FLAGS[one] for one in args[:stated] if one in _FLAGS}
        rest = [one for one in args[:stated] if one not in _FLAGS] + args[stated:]
        ctx.obj = frozenset(found)
        if "verbose" in found:
            log.configure(json=False, level=logging.DEBUG)
        return super().parse_args(ctx, rest)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. A terminal shows that the command waits, unless `--quiet` is
        given.
        """
        if "quiet" in ctx.obj:
            return super().invoke(ctx)
        with waiting_shown(ctx.info_name or "asoctl"):
            return super().invoke(ctx)

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the options, and the flags that every command takes."""
        with formatter.section("Flags of every command"):
            formatter.write_dl(
                [
                    ("-v, --verbose", "Log each request, on standard error."),
                    ("-q, --quiet", "Show no progress; --verbose comes first."),
                    ("--simple-logging", "Show progress as lines, without a bar."),
                ]
            )
        super().format_options(ctx, formatter)


def is_flagged(flag: str) -> bool:
    """Return whether the program was called with `quiet`, `simple` or `verbose`."""
    ctx = click.get_current_context(silent=True)
    flags: Any = ctx.find_root().obj if ctx else None
    return isinstance(flags, frozenset) and flag in flags


@click.command("help")
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
@click.pass_context
def help_command(ctx: click.Context, words: Sequence[str]) -> None:
    """Show the help of a command.

    \b
    Example:
      asoctl help
      asoctl help import azure-resource
    """  # noqa: D301 -- click wants the character
    shown = ctx.find_root()
    for word in words:
        command = shown.command
        found = (
            command.get_command(shown, word)
            if isinstance(command, click.Group)
            else None
        )
        if found is None:
            raise click.UsageError(f"there is no command {' '.join(words)!r}")
        shown = click.Context(found, parent=shown, info_name=word)
    write(shown.get_help() + "\n")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes asoctl in a shell.

    \b
    Example:
      source <(asoctl completion bash)
    """  # noqa: D301 -- click wants the character
    root = ctx.find_root()
    made = get_completion_class(shell)
    assert made is not None  # noqa: S101 - each of the three has one
    name = root.command.name or "asoctl"
    write(made(root.command, {}, name, f"_{name.upper()}_COMPLETE").source())
