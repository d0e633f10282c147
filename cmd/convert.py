"""`asoctl convert`: convert manifests to another version of their kinds."""

from collections.abc import Sequence

import click

from asoreconcile.azure.catalogue.conversion import KindConversionError, rewritten
from asoreconcile.azure.catalogue.inputs import with_secrets
from asoreconcile.azure.catalogue.kinds import NotInCatalogueError, UnknownVersionError
from asoreconcile.azure.catalogue.manifests import (
    Manifest,
    ManifestError,
    read_manifests,
)
from asoreconcile.azure.catalogue.problems import schema_problems
from asoreconcile.azure.cmd import sharedoptions
from asoreconcile.azure.cmd.terminal import fail, say
from asoreconcile.azure.cmd.yamltext import write_documents
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import JsonObject, gvk_of, key_of

_NEWEST = "newest"


@click.command()
@sharedoptions.manifest_files()
@click.option(
    "--to",
    "to",
    required=True,
    metavar="VERSION",
    help="A version as in apiVersion, such as v20250301; or 'newest', each kind's own.",
)
@sharedoptions.documents_output
def convert(*, paths: Sequence[str], to: str, output: str) -> None:
    """Print Azure manifests in another version of their kinds.

    Nothing is contacted and no file changes. Fields keep their names, ids become
    references where the version wants them, and the Azure name stays the same. What the
    version does not know is kept in an annotation and named on standard error. A secret
    in a field that takes a Secret's key now is moved to a Secret, which is printed too.
    Other manifests are printed as they are.

    \b
    Example:
      asoctl convert -f vnet.yaml --to newest > vnet-new.yaml

    Exit code 1 when something cannot be converted, or has a field that its own version
    does not know: every problem is listed, and nothing is printed.
    """  # noqa: D301 -- click wants the character
    try:
        manifests = read_manifests(paths)
    except ManifestError as error:
        fail(*error.problems)
    converted: list[JsonObject] = []
    problems: list[str] = []
    for manifest in manifests:
        found = _unknown_fields(manifest.obj)
        if not found:
            try:
                converted += _one(manifest, to)
            except KindConversionError as error:
                found = [error]
        problems += [f"{_label(manifest)}: {problem}" for problem in found]
    if problems:
        fail(*problems)
    write_documents(converted, output)


def _one(manifest: Manifest, to: str) -> list[JsonObject]:
    obj = manifest.obj
    try:
        kind = builtin().kind(gvk_of(obj).group_kind)
    except NotInCatalogueError:
        return [obj]
    version = kind.storage if to == _NEWEST else to
    made, unknown = rewritten(kind, obj, version)
    for path in unknown:
        say(
            f"{_label(manifest)}: {version} has no {path}: it stays in the annotation",
            err=True,
        )
    return with_secrets(kind.version(version), made)


def _unknown_fields(obj: JsonObject) -> Sequence[object]:
    """Return the problems with fields that the manifest's own version does not have:
    the annotation would keep such a field, and hide the mistake.
    """
    try:
        source = builtin().version(gvk_of(obj))
    except (NotInCatalogueError, UnknownVersionError):
        return []  # `rewritten` knows more versions, and says so of others
    found = schema_problems(source.spec_schema, obj.get("spec") or {}, "spec")
    return [problem for problem in found if problem.is_unknown]


def _label(manifest: Manifest) -> str:
    return f"{manifest.where}: {gvk_of(manifest.obj).kind} {key_of(manifest.obj).name}"
