"""`asoreconcile kinds`: show the catalogue, and print CRDs from it."""

from collections.abc import Iterable, Sequence
from typing import Never

import click
import orjson

from asoreconcile.azure.catalogue.crd import crd as definition_of
from asoreconcile.azure.catalogue.kinds import (
    Kind,
    KindVersion,
    NotInCatalogueError,
    UnknownVersionError,
)
from asoreconcile.azure.catalogue.patterns import match
from asoreconcile.azure.catalogue.webhook_manifests import (
    WebhookClient,
    webhook_configurations,
)
from asoreconcile.azure.cmd import sharedoptions
from asoreconcile.azure.cmd.broken_pipe import QuietGroup
from asoreconcile.azure.cmd.kind_names import kind_patterns, kinds_matching
from asoreconcile.azure.cmd.terminal import fail, say_json, say_lines, say_table, write
from asoreconcile.azure.cmd.yamltext import yaml_text
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind, JsonObject


@click.group(cls=QuietGroup)
def kinds() -> None:
    """Look into the catalogue of Azure kinds.

    \b
    Example:
      asoreconcile kinds list 'network.azure.com/*'
      asoreconcile kinds show containerservice.azure.com/ManagedCluster
      asoreconcile kinds crd 'network.azure.com/VirtualNetwork*' |
        kubectl apply --server-side -f -
    """  # noqa: D301 -- click wants the character


@kinds.command("list")
@kind_patterns
@sharedoptions.table_output
def list_kinds(*, patterns: Sequence[str], output: str) -> None:
    """List kinds and their versions, the one a new install serves first.

    Each PATTERN is a glob over group/Kind, or several separated by ';', letter case
    aside; * crosses the slash. Without it every kind is listed.

    \b
    Example:
      asoreconcile kinds list '*/*redis*'
    """  # noqa: D301 -- click wants the character
    chosen = kinds_matching(patterns)
    if output == "json":
        say_json([_summary(k) for k in chosen])
        return
    rows = [("GROUP", "KIND", "PLURAL", "SCOPE", "VERSIONS")]
    for kind in chosen:
        versions = " ".join(_newest_first(kind))
        scope = kind.scope or "(not ARM)"
        rows.append((kind.group, kind.group_kind.kind, kind.plural, scope, versions))
    say_table(rows)


@kinds.command()
@click.argument("name", metavar="GROUP/KIND")
@click.option("--version", default="", metavar="V", help="Default: the newest GA.")
def show(*, name: str, version: str) -> None:
    """Show all that is known of one kind, as JSON.

    \b
    Example:
      asoreconcile kinds show network.azure.com/VirtualNetwork --version v20250301
    """  # noqa: D301 -- click wants the character
    kind = _kind(name)
    details = _details(kind, _version(kind, version))
    say_lines(orjson.dumps(details, option=orjson.OPT_INDENT_2).decode())


@kinds.command("crd")
@kind_patterns
@click.option(
    "--version",
    "versions",
    multiple=True,
    metavar="V",
    help="Serve this version, of the kinds that have it, instead of the newest GA; "
    "repeatable.",
)
@click.option(
    "--all-versions", is_flag=True, help="Serve every version there is of each kind."
)
@click.option(
    "--rules/--no-rules",
    default=True,
    show_default=True,
    help="With rules (CEL) for what the schema's keywords cannot say.",
)
@sharedoptions.webhook_choice
def print_crds(
    *,
    patterns: Sequence[str],
    versions: Sequence[str],
    all_versions: bool,
    rules: bool,
    webhook: WebhookClient | None,
) -> None:
    """Print CustomResourceDefinitions as YAML.

    Each PATTERN is a glob over group/Kind, or several separated by ';', letter case
    aside; * crosses the slash. Without it every kind that is run is printed.

    To serve several versions of a kind, the API server needs a webhook that converts
    between them: asoreconcile manager --webhook-port. Objects are then stored in a form
    that has the fields of all versions.

    \b
    Example:
      asoreconcile kinds crd 'network.azure.com/*' 'sql.azure.com/*' |
        kubectl apply --server-side -f -
      asoreconcile kinds crd 'network.azure.com/VirtualNetwork' --all-versions \\
        --webhook-service asoreconcile-system/asoreconcile --webhook-ca ca.pem
    """  # noqa: D301 -- click wants the character
    chosen = kinds_matching(patterns)
    served = [
        (kind, tuple(kind.versions) if all_versions else _asked(kind, versions))
        for kind in chosen
    ]
    if webhook is None and any(len(names) > 1 for _, names in served):
        _misused(
            "several versions of a kind need --webhook-service or --webhook-url: "
            "without conversion the API server drops what the stored version does not "
            "register"
        )
    for version in versions:
        if not any(version in kind.versions for kind in chosen):
            _version(chosen[0], version)
    for kind, names in served:
        made = definition_of(kind, versions=names, conversion=webhook, rules=rules)
        write(yaml_text([made]))


@kinds.command("webhooks")
@kind_patterns
@sharedoptions.webhook_choice
def print_webhooks(*, patterns: Sequence[str], webhook: WebhookClient | None) -> None:
    """Print the configurations of the admission webhooks, as YAML.

    With them a wrong object is refused when it is written, and names are filled in.
    Without them it is stored, and its Ready condition says what is wrong.

    \b
    Example:
      asoreconcile kinds webhooks 'network.azure.com/*' \\
        --webhook-service asoreconcile-system/asoreconcile --webhook-ca ca.pem |
        kubectl apply --server-side -f -
    """  # noqa: D301 -- click wants the character
    if webhook is None:
        _misused("say where the webhooks are: --webhook-service or --webhook-url")
    write(yaml_text(webhook_configurations(kinds_matching(patterns), webhook)))


def _kind(name: str) -> Kind:
    group, slash, kind = name.partition("/")
    catalogue = builtin()
    if not slash:
        known = map(str, catalogue.kinds())
        same = [k for k in known if k.partition("/")[2].casefold() == name.casefold()]
        near = same or [str(k) for k in match(f"*/*{name}*", catalogue.kinds()).kinds]
        meant = f"; did you mean {' or '.join(near[:3])}?" if near else ""
        _misused(f"{name!r} is not of the form GROUP/KIND{meant}")
    try:
        return catalogue.kind(GroupKind(group, kind))
    except NotInCatalogueError as error:
        # Letter case aside, as in patterns.
        same_kinds = match(name, catalogue.kinds()).kinds
        if len(same_kinds) == 1:
            return same_kinds[0]
        _misused(str(error))


def _asked(kind: Kind, versions: Sequence[str]) -> tuple[str, ...]:
    """Return the requested versions that the kind has; it must have one of them."""
    names = tuple(dict.fromkeys(v for v in versions if v in kind.versions))
    if versions and not names:
        _version(kind, versions[0])
    return names


def _version(kind: Kind, version: str) -> KindVersion:
    try:
        return kind.version(version)
    except UnknownVersionError as error:
        _misused(str(error))


def _summary(kind: Kind) -> JsonObject:
    return {
        "group": kind.group_kind.group,
        "kind": kind.group_kind.kind,
        "plural": kind.plural,
        "scope": kind.scope,
        "versions": list(_newest_first(kind)),
    }


def _details(kind: Kind, version: KindVersion) -> JsonObject:
    owner = version.owner
    return {
        **_summary(kind),
        "version": version.gvk.version,
        "armType": version.arm_type,
        "apiVersion": version.api_version,
        "owner": f"{owner.group}/{owner.kind}" if owner else version.any_owner and "*",
        "fixedName": version.fixed_name,
        "operations": sorted(version.operations),
        "exports": {
            "secrets": list(version.exports.secrets),
            "configMaps": list(version.exports.config_maps),
        },
        "spec": version.spec_schema,
    }


def _newest_first(kind: Kind) -> Iterable[str]:
    others = [v for v in reversed(kind.versions) if v != kind.storage]
    return (kind.storage, *others)


def _misused(*problems: object) -> Never:
    fail(*problems, code=2)
