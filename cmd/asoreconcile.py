"""The `asoreconcile` command: one group, its subcommands loaded when called for."""

import importlib

import click

from asoreconcile.cmd.broken_pipe import QuietGroup
from asoreconcile.version import __version__

_COMMANDS = {
    "manager": "Run the operator against a cluster and Azure.",
    "sandbox": "Run the whole system on this machine, with nothing but Python.",
    "testserver": "Run the embedded Kubernetes API server or the ARM simulator alone.",
    "kinds": "Look into the catalogue of Azure kinds.",
    "extensions": "List the extension chains of each kind.",
}


class _LazyGroup(QuietGroup):
    """Imports a subcommand on use: `--help` must not pay for azure-identity."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"asoreconcile.cmd.{cmd_name}")
        command = getattr(module, cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_LazyGroup)
@click.version_option(__version__, prog_name="asoreconcile")
def main() -> None:
    """Manage Azure from Kubernetes with Azure Service Operator's own resources.

    Start with `asoreconcile sandbox`: a cluster API, an Azure simulator and the
    operator, all on this machine.
    """


if __name__ == "__main__":
    main()
