"""The `asoreconcile` command: one group, whose subcommands are loaded on use."""

import click

from asoreconcile.azure.cmd.lazy_group import HELP_NAMES, LazyGroup
from asoreconcile.base.version import __version__

_COMMANDS = {
    "manager": ("manager:manager", "Run the operator against a cluster and Azure."),
    "sandbox": (
        "sandbox:sandbox",
        "Run the whole system on this machine, with nothing but Python.",
    ),
    "testserver": (
        "testserver:testserver",
        "Run the embedded Kubernetes API server or the ARM simulator alone.",
    ),
    "kinds": ("kinds:kinds", "Look into the catalogue of Azure kinds."),
    "crds": ("crds:crds", "Print the CRDs of Python classes."),
    "extensions": ("extensions:extensions", "List the extension chains of each kind."),
}


@click.group("asoreconcile", cls=LazyGroup, lazy=_COMMANDS, context_settings=HELP_NAMES)
@click.version_option(__version__, prog_name="asoreconcile")
def main() -> None:
    """Manage Azure from Kubernetes with Azure Service Operator's own resources.

    Start with `asoreconcile sandbox`: a cluster API, an Azure simulator and the
    operator, all on this machine.
    """


if __name__ == "__main__":
    main()
