"""The `asoctl` command, which is `kubectl aso` too: manifests, Azure and a cluster."""

import click

from asoreconcile.cmd.lazy_group import LazyGroup
from asoreconcile.version import __version__

_COMMANDS = {
    "clean": ("clean:clean_group", "Clean up what upgrades leave behind in a cluster."),
    "convert": ("convert:convert", "Print manifests in another version."),
    "doctor": ("doctor:doctor", "Look an installation over, and mend some of it."),
    "explain": ("explain:explain", "Say why an object is as it is, and what to do."),
    "export": ("export:export_group", "Write down what a cluster or a release has."),
    "import": ("import_azure:import_group", "Write manifests for what Azure has."),
    "plan": ("plan:plan", "Show what manifests would change in Azure."),
    "render": ("render:render", "Print the requests that manifests become."),
    "version": ("version:version", "Print the version of this program."),
}


@click.group("asoctl", cls=LazyGroup, lazy=_COMMANDS)
@click.version_option(__version__, message="%(prog)s, version %(version)s")
def main() -> None:
    """Look at what Azure resources in Kubernetes manifests mean, and import some."""


if __name__ == "__main__":
    main()
