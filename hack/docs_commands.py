"""For hack/docs: the pages that are made of the program itself.

The commands with their help and options, the reasons of conditions, and the alerts.
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import yaml

from asoreconcile.azure.cmd.asoctl import main as asoctl
from asoreconcile.azure.cmd.asoreconcile import main as asoreconcile
from asoreconcile.azure.cmd.lazy_group import HELP_NAMES
from asoreconcile.azure.reconcile.planning.advice import ADVICE, CAUSES

# The templates in the texts of alerts.
_TEMPLATE = re.compile(r"{{[^}]*}}")


class Described(NamedTuple):
    """A command of a program.

    path: the words that call it. rows: its options and arguments with their help,
    without the hidden ones. inner: the commands of a group, without the hidden ones.
    """

    command: click.Command
    path: list[str]
    usage: str
    rows: list[tuple[str, str]]
    inner: list[click.Command]


def described(command: click.Command, path: list[str]) -> Iterator[Described]:
    """Yield a command, and those within it."""
    context = click.Context(command, info_name=" ".join(path), **HELP_NAMES)
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    records = [one.get_help_record(context) for one in shown]
    inner = []
    if isinstance(command, click.Group):
        names = command.list_commands(context)
        found = [command.get_command(context, name) for name in names]
        inner = [one for one in found if one is not None and not one.hidden]
    usage = command.get_usage(context).removeprefix("Usage: ")
    yield Described(command, path, usage, [*filter(None, records)], inner)
    for one in inner:
        yield from described(one, [*path, one.name or ""])


def command_pages() -> dict[str, str]:
    """Return a page for each of the two programs: its place, and its text."""
    return {
        f"commands/{program.name}.md": "\n".join(
            line
            for one in described(program, [program.name or ""])
            for line in _lines(one)
        )
        for program in (asoctl, asoreconcile)
    }


def _lines(one: Described) -> Iterator[str]:
    yield f"{'#' * min(len(one.path), 3)} {' '.join(one.path)}\n"
    if not isinstance(one.command, click.Group):
        yield f"```\n{one.usage}\n```\n"
    yield _prose(one.command.help or "")
    if one.rows:
        yield "\n| Option | |\n|---|---|"
        for name, text in one.rows:
            # A bar within backticks does not end a cell.
            yield f"| `{' '.join(name.split())}` | {_cell(text)} |"
        yield ""


def _prose(text: str) -> str:
    r"""Return a help text as Markdown: paragraphs after \b are code."""
    made = []
    for part in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if "\b" in part:
            title, _, lines = part.replace("\b", "").strip("\n").partition("\n")
            title = title if title.strip().endswith(":") else ""
            code = inspect.cleandoc(lines if title else part.replace("\b", ""))
            made.append(f"{title.strip()}\n\n```\n{code}\n```")
        else:
            made.append(part.replace("<", "\\<"))
    return "\n\n".join(made) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def reasons_page() -> dict[str, str]:
    """Return the page of the reasons of Ready: its place, and its text."""
    rows = "\n".join(
        f"| `{reason}` | {CAUSES[reason]} | {_cell(ADVICE[reason]) or 'Nothing.'} |"
        for reason in sorted(ADVICE)
    )
    text = (
        "# Conditions and reasons\n\nThe condition `Ready` of an object has a reason: "
        "one of these, or Azure's own error code. `asoctl explain` prints the same for "
        "an object, with the names that Azure's message has.\n\n"
    )
    text += f"| Reason | Cause | To do |\n|---|---|---|\n{rows}\n"
    return {"operator/reasons.md": text}


def alerts_page(file: Path) -> dict[str, str]:
    """Return the page of the chart's alerts: its place, and its text."""
    text = "# Alerts\n\nThe Helm chart installs these (`prometheusRule.enable`). "
    text += "For each: when it fires, and what to do then.\n"
    for group in yaml.safe_load(file.read_text())["groups"]:
        for rule in group["rules"]:
            if "alert" not in rule:
                continue
            said = rule.get("annotations", {})
            lasting = f" for {rule['for']}" if "for" in rule else ""
            summary = " ".join(_TEMPLATE.sub(" ", said.get("summary", "")).split())
            description = _TEMPLATE.sub("...", said.get("description", ""))
            text += f"\n## {rule['alert']}\n\n{summary}. {description}\n\n"
            text += f"[Runbook](runbooks.md#{rule['alert'].lower()}). "
            text += f"Severity {rule.get('labels', {}).get('severity', 'none')}; "
            text += f"it fires when this holds{lasting}:\n\n```\n{rule['expr']}\n```\n"
    return {"operator/alerts.md": text}
