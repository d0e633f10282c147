"""`asoctl export template`: print an operator's manifests with chosen kinds."""

import re
from collections.abc import Sequence
from pathlib import Path

import click

from asoreconcile.azure.catalogue.patterns import match
from asoreconcile.azure.cmd.terminal import say, write
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.jsontext import dumps
from asoreconcile.base.version import __version__

_RELEASE = (
    "https://github.com/Azure/azure-service-operator/releases/download/"
    "{version}/azureserviceoperator_{version}.yaml"
)
_VERSION = re.compile(r"v\d+\.\d+\.\d+\S*")
_PLACE = re.compile(r"^(\s*- )(['\"]?)--crd-pattern=.*$", re.MULTILINE)
_PLAIN = re.compile(r"[A-Za-z0-9*./;?_-]+")
_SECONDS = 60.0


@click.command()
@click.option(
    "--source",
    default="",
    metavar="FILE|URL",
    help="The manifests: a file, or an address that http or https leads to.",
)
@click.option(
    "--version",
    "version",
    default="",
    metavar="vN.N.N",
    help="The manifests of a release of Azure Service Operator.",
)
@click.option(
    "-p",
    "--crd-pattern",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    help="The kinds to install, such as 'network.azure.com/*'; repeatable.",
)
@click.option("--raw", is_flag=True, help="Print the manifests as they are.")
def template(*, source: str, version: str, patterns: Sequence[str], raw: bool) -> None:
    """Print an operator's manifests with another --crd-pattern.

    A pattern that no known kind matches is only warned of: the manifests may be of an
    operator that knows more.

    \b
    Example:
      asoctl export template --source operator.yaml \\
        --crd-pattern 'network.azure.com/*' | kubectl apply --server-side -f -

    Exit code 1 when the manifests cannot be had, or have no --crd-pattern to replace; 2
    for a wrong call. Nothing is printed then.
    """  # noqa: D301 -- click wants the character
    if bool(source) == bool(version):
        raise click.UsageError("use either --source or --version")
    if bool(patterns) == raw:
        raise click.UsageError("use either --crd-pattern or --raw")
    if version and not _VERSION.fullmatch(version):
        raise click.UsageError(f"--version {version!r}: write vN.N.N, such as v2.13.0")
    for unmatched in match(patterns, [*builtin().kinds()]).unmatched:
        say(f"warning: {unmatched}", err=True)
    text = _text(source or _RELEASE.format(version=version))
    write(text if raw else with_pattern(text, ";".join(patterns)))


def with_pattern(text: str, pattern: str) -> str:
    """Return the manifests with the first argument `--crd-pattern=` replaced.

    Raises click.ClickException if there is none.
    """
    argument = f"--crd-pattern={pattern}"
    if not _PLAIN.fullmatch(pattern):
        argument = dumps(argument).decode()
    made, count = _PLACE.subn(lambda found: found[1] + argument, text, count=1)
    if not count:
        raise click.ClickException(
            "these manifests have no argument `- --crd-pattern=` to replace: give "
            "those of the operator's Deployment"
        )
    return made


def _text(source: str) -> str:
    if not source.startswith(("http://", "https://")):
        try:
            return Path(source).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise click.ClickException(f"{source}: cannot be read: {error}") from error
    return _fetched(source)


def _fetched(url: str) -> str:
    # Imported here, because it costs a tenth of a second of start-up.
    import requests

    headers = {"User-Agent": f"asoctl/{__version__}"}
    try:
        answer = requests.get(url, headers=headers, timeout=_SECONDS)
        answer.raise_for_status()
    except requests.RequestException as error:
        raise click.ClickException(f"{url}: cannot be fetched: {error}") from error
    answer.encoding = "utf-8"
    return answer.text
