"""Write what the rows of annotations say into pages, the chart and `manager --help`.

    hack/annotations [--check]

Each annotation is declared once (`reconcile/model/annotation_table.py`). With --check
nothing is written; exit code 1 if a file would change.
"""

import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path

from asoreconcile.azure.reconcile.model.annotation_row import Whose
from asoreconcile.azure.reconcile.model.annotation_table import TABLE, AnyAnnotation

ROOT = Path(__file__).resolve().parent.parent
PAGE = Path("deploy/docs/ownership.md")
CHART = Path("deploy/helm/asoreconcile/values.yaml")
HELP = Path("cmd/manager.py")
BEGIN, END = "<!-- Made by hack/annotations. -->\n\n", "<!-- Until here. -->\n"
ON = {
    Whose.OBJECT: "objects",
    Whose.NAMESPACE: "Namespaces",
    Whose.NEAREST: "objects, Namespaces; the object's own counts",
    Whose.EITHER: "objects, Namespaces; each switches it on",
    Whose.TOGETHER: "objects, Namespaces; they add up",
}
HELP_BEGINS = "    Settings with the value for objects without the annotation:"
WIDTH = 88


def table(rows: Sequence[AnyAnnotation]) -> str:
    """Return the table of the page."""
    lines = [
        "| Annotation | On | Value | What it does | Without it | If it is wrong |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        name = f"`{row.name}`"
        name = f"[{name}]({row.section})" if row.section else name
        cells = (name, ON[row.whose], row.values, row.says, _without(row), row.effect)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _without(row: AnyAnnotation) -> str:
    text = shown_default(row)
    if row.setting:
        return f"`{row.setting}`, else `{text}`" if text else f"`{row.setting}`"
    return f"`{text}`" if text else ""


def shown_default(row: AnyAnnotation) -> str:
    """Return the default as a person would write it."""
    if isinstance(row.default, Enum):
        return str(row.default.value)
    if isinstance(row.default, float):
        return f"{row.default / 3600:.0f}h"
    return str(row.default or "")


def chart_key(row: AnyAnnotation) -> str:
    """Return the name of a setting in the values of the chart."""
    first, *others = row.setting.removeprefix("ASORECONCILE_").lower().split("_")
    return first + "".join(word.capitalize() for word in others)


def with_page(text: str, rows: Sequence[AnyAnnotation]) -> str:
    """Return the page with the table."""
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{PAGE} lacks {BEGIN.strip()!r} or {END.strip()!r} after it")
    return f"{before}{BEGIN}{table(rows)}\n{END}{after}"


def with_chart(text: str, rows: Sequence[AnyAnnotation]) -> str:
    """Return the chart's values with a comment above each setting of a row."""
    for row in rows:
        if not row.setting:
            continue
        start = "For" if row.setting.startswith("AZURE_") else "Own: for"
        plain = f"{start} objects without {row.name}: {row.says}. Values: {row.values}."
        if empty := shown_default(row):
            plain += f' "" is {empty}.'
        comment = textwrap.wrap(
            plain.replace("`", "").strip(),
            WIDTH,
            initial_indent="# ",
            subsequent_indent="# ",
            break_long_words=False,
        )
        pattern = re.compile(rf"(?:^# [^\n]*\n)*^({chart_key(row)}: )", re.MULTILINE)
        text, count = pattern.subn(
            lambda match, lines=comment: "\n".join([*lines, match[1]]), text
        )
        if count != 1:
            raise SystemExit(f"{CHART} has no single {chart_key(row)} for {row.name}")
    return text


def with_help(text: str, rows: Sequence[AnyAnnotation]) -> str:
    """Return the module of the command with the settings of rows in its help."""
    items = [
        f"{row.setting} ({shown_default(row) or 'none'}; {row.name})"
        for row in rows
        if row.setting
    ]
    wrapped = textwrap.fill(
        f"{HELP_BEGINS.strip()} {', '.join(items)}.",
        WIDTH,
        initial_indent="    ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    before, begin, rest = text.partition(HELP_BEGINS)
    if not begin:
        raise SystemExit(f"{HELP} has no paragraph {HELP_BEGINS.strip()!r}")
    return before + wrapped + rest[rest.index("\n\n") :]


def files(rows: Sequence[AnyAnnotation]) -> Iterator[tuple[Path, str]]:
    """Yield each file with its new text."""
    for path, made in ((PAGE, with_page), (CHART, with_chart), (HELP, with_help)):
        yield path, made((ROOT / path).read_text(encoding="utf-8"), rows)


def main() -> None:
    """Write the files, or compare them."""
    changed = [
        (path, text)
        for path, text in files(TABLE.rows)
        if (ROOT / path).read_text(encoding="utf-8") != text
    ]
    if "--check" in sys.argv[1:]:
        if changed:
            names = ", ".join(str(path) for path, _ in changed)
            sys.exit(f"hack/annotations would change {names}: run it")
        return
    for path, text in changed:
        (ROOT / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
