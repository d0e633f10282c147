"""`asoctl render`: print the requests that manifests become, without Azure or a
cluster.
"""

from collections.abc import Sequence
from pathlib import Path

import click

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.manifests import ManifestError, read_manifests
from asoreconcile.azure.catalogue.problems import Problem
from asoreconcile.azure.catalogue.render import RenderError
from asoreconcile.azure.catalogue.render import render as rendered
from asoreconcile.azure.cmd import sharedoptions
from asoreconcile.azure.cmd.sharedoptions import answers_in
from asoreconcile.azure.cmd.terminal import fail, say
from asoreconcile.azure.cmd.yamltext import write_documents
from asoreconcile.azure.controllers.annotation_rules import annotation_problems
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.external_rendering import DESCRIBED
from asoreconcile.azure.expressions.api import shared
from asoreconcile.azure.expressions.process import EngineMissingError
from asoreconcile.azure.reconcile.exports.export_expressions import ExportExpressions
from asoreconcile.base.objects import JsonObject


@click.command()
@sharedoptions.manifest_files()
@sharedoptions.resolve_file
@sharedoptions.subscription
@click.option(
    "--show-secrets", is_flag=True, help="Print the values of Secrets instead of ***."
)
@sharedoptions.documents_output
def render(
    *,
    paths: Sequence[str],
    resolve: Path | None,
    subscription: str,
    show_secrets: bool,
    output: str,
) -> None:
    """Print the request that each Azure manifest becomes.

    One document a manifest: method, path, apiVersion and body of what the operator
    would send, with *** for the values of Secrets; of a kind without ARM what is asked
    where it is, such as Microsoft Graph. Nothing is contacted. Owners,
    references, Secrets and ConfigMaps are found among the manifests of the call, or in
    the --resolve file:

    \b
      {"owner": "/subscriptions/...",            owners that are not among the files
       "references": {"network.azure.com/VirtualNetwork/vnet": "/subscriptions/..."},
       "secrets": {"name/key": "value"},
       "secretMaps": {"name/*": {"key": "value"}},
       "configMaps": {"name/key": "value"}}

    \b
    Example:
      asoctl render -f group.yaml -f vnet.yaml \\
        --subscription 00000000-0000-0000-0000-000000000000

    Exit code 1 when anything is wrong with the manifests: every problem is listed, with
    file and line, and nothing is printed. Expressions (CEL) are checked against the
    types of the kind. What only Azure knows, such as child
    resources that a PUT has to keep, is not part of the body.
    """  # noqa: D301 -- click wants the character
    answers = answers_in(resolve)
    try:
        result = rendered(
            builtin(),
            read_manifests(paths),
            answers=answers,
            subscription_id=subscription,
            show_secrets=show_secrets,
            more_problems=further_problems,
            describe=DESCRIBED,
        )
    except EngineMissingError as error:
        fail(f"these manifests have expressions: {error}")
    except (ManifestError, RenderError) as error:
        fail(*error.problems)
    for manifest in result.skipped:
        kind = manifest.obj.get("kind")
        say(f"skipped {manifest.where}: {kind} is not an Azure kind", err=True)
    documents = [one.to_json() for one in result.requests]
    documents += [one.to_json() for one in result.outside]
    if not documents:
        fail("there is no Azure resource in these manifests")
    write_documents(documents, output)


def further_problems(version: KindVersion, obj: JsonObject) -> Sequence[Problem]:
    """Return the problems of an object's annotations and expressions, as the webhook
    and the operator find them. Raises as `expression_problems`.
    """
    return [*annotation_problems(version, obj), *expression_problems(version, obj)]


def expression_problems(version: KindVersion, obj: JsonObject) -> Sequence[Problem]:
    """Return the problems of an object's expressions, checked as the operator does.

    Raises EngineMissingError, EngineBusyError if there are expressions.
    """
    return ExportExpressions(shared(), version, obj).problems()
