"""`asoctl version`: show the build."""

import platform

import click

from asoreconcile.azure.cmd import sharedoptions
from asoreconcile.azure.cmd.terminal import say, say_json
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.version import __version__


@click.command()
@sharedoptions.output("text", "json", default="text")
def version(*, output: str) -> None:
    """Print the version of this program, of its Python, and how many kinds it knows.

    \b
    Example:
      asoctl version -o json
    """  # noqa: D301 -- click wants the character
    kinds = [*builtin().kinds()]
    facts = {
        "version": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
        "kinds": len(kinds),
        "kindVersions": sum(len(kind.versions) for kind in kinds),
    }
    if output == "json":
        say_json(facts)
        return
    say(
        f"asoctl {__version__} (Python {facts['python']}, {facts['platform']}; "
        f"{facts['kinds']} kinds in {facts['kindVersions']} versions)"
    )
