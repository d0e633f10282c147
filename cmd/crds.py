"""`asoreconcile crds`: print CustomResourceDefinitions of a module's classes."""

import importlib
import importlib.util
import sys
from base64 import b64encode
from pathlib import Path
from types import ModuleType

import click

from asoreconcile.azure.cmd import sharedoptions
from asoreconcile.azure.cmd.terminal import fail, write
from asoreconcile.azure.cmd.yamltext import yaml_text
from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.class_fields import ResourceError
from asoreconcile.resources.crd import by_kind, crd_of, declared_in


@click.command()
@click.argument("modules", nargs=-1, required=True, metavar="MODULE...")
@click.option(
    "--webhook-service",
    default="",
    metavar="NAMESPACE/NAME",
    help="The Service that converts between the versions of a kind.",
)
@click.option(
    "--webhook-path",
    default="/convert",
    show_default=True,
    metavar="PATH",
    help="Where it does.",
)
@click.option(
    "--webhook-ca",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="PEM that its certificate is checked with.",
)
def crds(
    *,
    modules: tuple[str, ...],
    webhook_service: str,
    webhook_path: str,
    webhook_ca: Path | None,
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
    conversion = _conversion(webhook_service, webhook_path, webhook_ca)
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


def _conversion(service: str, path: str, ca: Path | None) -> JsonObject | None:
    if not service:
        return None
    namespace, name = sharedoptions.service_named(service)
    client: JsonObject = {
        "service": {"namespace": namespace, "name": name, "path": path}
    }
    if ca is not None:
        client["caBundle"] = b64encode(ca.read_bytes()).decode()
    return client
