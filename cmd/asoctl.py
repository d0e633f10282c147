"""The `asoctl` command, also `kubectl aso`: commands for manifests, Azure and a
cluster.
"""

import click

from asoreconcile.azure.cmd.aso_options import AsoctlGroup
from asoreconcile.azure.cmd.lazy_group import HELP_NAMES
from asoreconcile.base.version import __version__

_COMMANDS = {
    "clean": ("clean:clean_group", "Clean up what upgrades leave behind in a cluster."),
    "completion": ("aso_options:completion", "Print the completions of a shell."),
    "convert": ("convert:convert", "Print manifests in another version."),
    "doctor": ("doctor:doctor", "Check an installation, and repair some of it."),
    "explain": ("explain:explain", "Say why an object is not Ready, and what to do."),
    "export": ("export:export_group", "Print what a cluster or a release has."),
    "extensions": (
        "extensions:extensions",
        "List the extensions of a kind as they run.",
    ),
    "graph": ("graph:graph", "Draw owners and references of objects."),
    "help": ("aso_options:help_command", "Show the help of a command."),
    "import": ("import_azure:import_group", "Print manifests for resources in Azure."),
    "plan": ("plan:plan", "Show what manifests would change in Azure."),
    "render": ("render:render", "Print the requests that manifests become."),
    "ui": ("ui.command:ui", "Show the objects of a cluster on a page of the browser."),
    "uninstall": (
        "uninstall:uninstall",
        "Remove the operator; keep or delete what is in Azure.",
    ),
    "version": ("version:version", "Print the version of this program."),
}


@click.group("asoctl", cls=AsoctlGroup, lazy=_COMMANDS, context_settings=HELP_NAMES)
@click.version_option(__version__, message="%(prog)s, version %(version)s")
def main() -> None:
    """Check, plan, explain and import Azure resources of Kubernetes manifests."""


if __name__ == "__main__":
    main()
