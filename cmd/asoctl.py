"""The `asoctl` command: work on manifests without a cluster or Azure."""

import click

from asoreconcile.cmd.broken_pipe import QuietGroup
from asoreconcile.cmd.convert import convert
from asoreconcile.cmd.render import render
from asoreconcile.version import __version__


@click.group(cls=QuietGroup)
@click.version_option(__version__, prog_name="asoctl")
def main() -> None:
    """Look at what Azure resources in Kubernetes manifests mean."""


main.add_command(convert)
main.add_command(render)

if __name__ == "__main__":
    main()
