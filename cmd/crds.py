"""`asoreconcile crds`: print CustomResourceDefinitions of a module's classes."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

from asoreconcile.azure.cmd import sharedoptions
from asoreconcile.azure.cmd.terminal import fail, write
from asoreconcile.azure.cmd.yamltext import yaml_text
from asoreconcile.resources.class_fields import ResourceError
from asoreconcile.resources.crd import by_kind, crd_of, declared_in

if TYPE_CHECKING:
    from asoreconcile.azure.catalogue.webhook_manifests import WebhookClient


@click.command()
@click.argument("modules", nargs=-1, required=True, metavar="MODULE...")
@sharedoptions.webhook_choice
@click.option(
    "--webhook-path",
    default="/convert",
    show_default=True,
    metavar="PATH",
    help="Where it does.",
)
def crds(
    *,
    modules: tuple[str, ...],
    webhook: "WebhookClient | None",
    webhook_path: str,
) -> None:
    """Print CustomResourceDefinitions of the classes of a module, as YAML.

    MODULE is the name of one, or a file. Its classes are those that @resource
    decorates, the imported ones too; versions of a kind become one definition.

    \b
    Example:
      asoreconcile crds websites.py > crds.yaml
      asoreconcile crds example.kinds --webhook-service example/webhooks |
        kubectl apply --server-side -f -
    """  # noqa: D301 -- click wants the character
    conversion = webhook.config(webhook_path) if webhook else None
    classes: dict[type, None] = {}
    for name in modules:
        found = declared_in(_module(name))
        if not found:
            fail(f"{name} has no class that @resource decorates", code=2)
        classes |= dict.fromkeys(found)
    try:
        made = [
            crd_of(*versions, conversion=conversion if len(versions) > 1 else None)
            for versions in by_kind(classes)
        ]
    except ResourceError as error:
        fail(error, code=2)
    write(yaml_text(made))


def _module(name: str) -> ModuleType:
    """Return a module by its name, searched here first, or from a file."""
    try:
        if not name.endswith(".py"):
            sys.path.insert(0, str(Path.cwd()))
            return importlib.import_module(name)
        path = Path(name)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None  # noqa: S101 - it ends in .py
        made = importlib.util.module_from_spec(spec)
        # Types are looked up by the name of the module that they are written in.
        sys.modules[spec.name] = made
        sys.path.insert(0, str(path.resolve().parent))
        assert spec.loader is not None  # noqa: S101
        spec.loader.exec_module(made)
    except ResourceError as error:
        fail(error, code=2)
    except (ImportError, OSError, SyntaxError) as error:
        fail(f"{name} cannot be imported: {error}", code=2)
    else:
        return made
