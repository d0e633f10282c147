"""The code blocks on the documentation's pages."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "asoreconcile" / "docs"
_BLOCK = re.compile(
    r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


# Pages outside of the library's documentation, whose code is run too.
OTHERS = [
    ROOT / name
    for name in (
        "README.md",
        "asoreconcile/README.md",
        "asoreconcile/testing/README.md",
    )
]


def pages():
    return sorted(HOME.rglob("*.md"))


def blocks(page, language):
    """Yield the blocks of a language: line on the page, title or "", and text."""
    text = page.read_text()
    return [
        (text[: found.start(3)].count("\n"), found[2] or "", found[3])
        for found in _BLOCK.finditer(text)
        if found[1] == language
    ]


def written(folder, *, among=None):
    """Write each Python block to a file, on the same lines as on its page.

    Blocks with a title get it as their module name, because they import one another.
    """
    for path in among or pages():
        base = HOME if path.is_relative_to(HOME) else ROOT
        name = path.relative_to(base).as_posix().removesuffix(".md")
        place = folder / re.sub(r"\W", "_", name)
        place.mkdir()
        for number, (line, title, text) in enumerate(blocks(path, "python")):
            file = place / (title or f"test_{place.name}_{number}.py")
            file.write_text("\n" * line + text)
    return folder
