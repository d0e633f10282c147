"""The code blocks on the documentation's pages."""

import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / "asoreconcile" / "docs"
_BLOCK = re.compile(
    r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
_BLOCK_OR_HEADING = re.compile(
    r"^#+ (?P<heading>[^\n]+)$"
    r"|(?:^ *<!-- not run: (?P<reason>[^\n]+) -->\n)?"
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
# The parts of the repository whose pages are for users and contributors.
_FOLDERS = ("asoreconcile", "cmd", "controllers", "deploy", "extensions", "hack")


# Pages outside of the library's documentation, whose code is run too.
OTHERS = [
    ROOT / name
    for name in (
        "README.md",
        "asoreconcile/README.md",
        "asoreconcile/testing/README.md",
    )
]


def pages() -> list[Path]:
    return sorted(HOME.rglob("*.md"))


def blocks(page: Path, language: str) -> list[tuple[int, str, str]]:
    """Return the blocks of a language: line on the page, title or "", and text."""
    text = page.read_text()
    return [
        (text[: found.start(3)].count("\n"), found[2] or "", found[3])
        for found in _BLOCK.finditer(text)
        if found[1] == language
    ]


def written(folder: Path, *, among: Iterable[Path] | None = None) -> Path:
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


@attrs.frozen
class Block:
    """A code block. reason: why no test can run it, from the comment above it."""

    heading: str
    language: str
    text: str
    reason: str


def all_pages() -> Iterator[Path]:
    """Yield each page of the project, but for the tests' own."""
    yield from [ROOT / "README.md", *sorted((ROOT / ".github").glob("*.md"))]
    for name in _FOLDERS:
        yield from sorted((ROOT / name).rglob("*.md"))


def all_blocks(page: str | Path) -> list[Block]:
    """Return the blocks of a page in their order, each with the heading above it."""
    heading, found = "", []
    for one in _BLOCK_OR_HEADING.finditer((ROOT / page).read_text()):
        if one["heading"]:
            heading = one["heading"]
        else:
            text = textwrap.dedent(one["text"])
            found.append(Block(heading, one["language"], text, one["reason"] or ""))
    return found


def shown(page: str | Path, heading: str) -> list[str]:
    """Return the texts of the blocks below a heading, but for drawings."""
    found = [
        one.text
        for one in all_blocks(page)
        if one.heading == heading and one.language not in ("text", "mermaid")
    ]
    assert found, (page, heading)
    return found
