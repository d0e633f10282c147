"""`asoctl extensions`: show the extensions of each kind, in their order.

`asoreconcile extensions` is the same command.
"""

from collections.abc import Sequence

import click

from asoreconcile.azure.cmd import sharedoptions
from asoreconcile.azure.cmd.broken_pipe import QuietGroup
from asoreconcile.azure.cmd.kind_names import kind_patterns, kinds_matching
from asoreconcile.azure.cmd.terminal import fail, say_json, say_table
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.extensions.registry import builtin_sets
from asoreconcile.azure.middleware.chain import (
    ChainRow,
    Extensions,
    LinkRow,
    check_names,
)
from asoreconcile.azure.middleware.discovery import load_sets
from asoreconcile.azure.middleware.extension_set import ExtensionError
from asoreconcile.base.objects import JsonObject


@click.group(cls=QuietGroup)
def extensions() -> None:
    """Look into the extensions: special cases of Azure, kind by kind.

    \b
    Example:
      asoctl extensions list 'keyvault.azure.com/*'
    """  # noqa: D301 -- click wants the character


@extensions.command("list")
@kind_patterns
@sharedoptions.table_output
@click.option(
    "--extensions",
    "names",
    multiple=True,
    metavar="NAME",
    help="Load this set of an installed package too, as the manager does; repeatable.",
)
def list_extensions(
    *, patterns: Sequence[str], output: str, names: Sequence[str]
) -> None:
    """List every chain as it runs: kind, point, and its links, the outermost first.

    The last line of a chain is the operator's own step, which runs if every link
    calls the next one. At points that are not listed only that step runs.

    Each PATTERN is a glob over group/Kind, or several separated by ';', letter case
    aside; * crosses the slash. Without it every kind is listed.

    \b
    Example:
      asoctl extensions list '*/managedcluster*'
      asoctl extensions list --extensions my-policies -o json
    """  # noqa: D301 -- click wants the character
    chosen = {kind.group_kind for kind in kinds_matching(patterns)}
    rows = [row for row in _composed(names).describe() if row.kind in chosen]
    if output == "json":
        say_json([_plain(row) for row in rows])
        return
    lines = [("KIND", "POINT", "SET", "LINK", "DEFINED")]
    lines += [
        (str(row.kind), row.point, link.extension_set, link.name, link.defined)
        for row in rows
        for link in (*row.links, LinkRow("-", row.end, "-"))
    ]
    say_table(lines)


def _composed(names: Sequence[str]) -> Extensions:
    try:
        sets = [*builtin_sets(), *load_sets(names)]
        made = Extensions.of_catalogue(sets, builtin())
        # The operator checks only the sets of other packages when it starts.
        check_names(sets, builtin())
    except ExtensionError as error:
        fail(error)
    return made


def _plain(row: ChainRow) -> JsonObject:
    return {
        "group": row.kind.group,
        "kind": row.kind.kind,
        "point": row.point,
        "links": [
            {"set": link.extension_set, "name": link.name, "defined": link.defined}
            for link in row.links
        ],
        "end": row.end,
    }
