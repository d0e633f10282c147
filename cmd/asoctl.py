"""The `asoctl` command: what manifests mean to Azure, and manifests of what it has."""

import click

from asoreconcile.cmd.broken_pipe import QuietGroup
from asoreconcile.cmd.convert import convert
from asoreconcile.cmd.doctor import doctor
from asoreconcile.cmd.explain import explain
from asoreconcile.cmd.export import export_group
from asoreconcile.cmd.import_azure import import_group
from asoreconcile.cmd.plan import plan
from asoreconcile.cmd.render import render
from asoreconcile.version import __version__


@click.group(cls=QuietGroup)
@click.version_option(__version__, prog_name="asoctl")
def main() -> None:
    """Look at what Azure resources in Kubernetes manifests mean, and import some."""


main.add_command(convert)
main.add_command(plan)
main.add_command(render)
main.add_command(doctor)
main.add_command(explain)
main.add_command(export_group)
main.add_command(import_group)

if __name__ == "__main__":
    main()
