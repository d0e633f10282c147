"""The file that says what manifests name and do not define."""

import sys
from pathlib import Path

import click
import yaml

from asoreconcile.azure.catalogue.manifests import load_yaml
from asoreconcile.azure.catalogue.resolution import Answers, ResolutionError, answers_of


def answers_in(path: Path | None) -> Answers | None:
    """The answers in a file; ends the program with what is wrong with it."""
    if path is None:
        return None
    try:
        return answers_of(load_yaml(path.read_text(encoding="utf-8")) or {})
    except ResolutionError as error:
        problem = f"{path}: {error}"
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        problem = f"{path}: cannot be read: {error}"
    click.echo(problem, err=True)
    sys.exit(1)
