"""For hack/docs: man pages of the two programs, one for each command.

click-man makes none of commands that are loaded when they are called for, and loses the
lines of examples.
"""

import inspect
import re

from docs_commands import Described, described

from asoreconcile.azure.cmd.asoctl import main as asoctl
from asoreconcile.azure.cmd.asoreconcile import main as asoreconcile
from asoreconcile.base.version import __version__


def man_pages() -> dict[str, str]:
    """Return each page's text in roff by its file name, such as `asoctl-render.1`."""
    return {
        f"{'-'.join(one.path)}.1": _page(one)
        for program in (asoctl, asoreconcile)
        for one in described(program, [program.name or ""])
    }


def _page(page: Described) -> str:
    command, path, usage, rows, inner = page
    parts = re.split(r"\n\s*\n", inspect.cleandoc(command.help or ""))
    summary = _text(" ".join(parts[0].split()).rstrip("."))
    lines = [
        f'.TH "{"-".join(path).upper()}" 1 "" "asoreconcile {__version__}"',
        f".SH NAME\n{_text('-'.join(path))} \\- {summary}",
        f".SH SYNOPSIS\n{_text(' '.join(usage.split()))}",
        ".SH DESCRIPTION",
        *(_paragraph(part) for part in parts),
    ]
    if rows:
        lines.append(".SH OPTIONS")
        lines += [f".TP\n.B {_text(name)}\n{_text(said)}" for name, said in rows]
    if inner:
        lines.append(".SH COMMANDS")
        lines += [
            f".TP\n.BR {_text('-'.join([*path, one.name or '']))} (1)\n"
            f"{_text(one.get_short_help_str(200))}"
            for one in inner
        ]
    if path[1:]:
        lines.append(f".SH SEE ALSO\n.BR {_text('-'.join(path[:-1]))} (1)")
    return "\n".join(lines) + "\n"


def _paragraph(part: str) -> str:
    r"""Return a paragraph of a help text; the lines after \b keep their breaks."""
    if "\b" not in part:
        return f".PP\n{_text(' '.join(part.split()))}"
    lines = inspect.cleandoc(part.replace("\b", "").strip("\n")).splitlines()
    return "\n".join([".PP", ".nf", *map(_text, lines), ".fi"])


def _text(text: str) -> str:
    """Return text that roff prints as it is."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("\n", " ")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped
