"""The modules that are shipped, each read once in a process."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = ("asoreconcile", "controllers", "extensions", "cmd")


@cache
def modules() -> tuple[Path, ...]:
    """Return the files of all modules, in order; a linked folder counts once."""
    found = {path.resolve() for top in SHIPPED for path in (ROOT / top).rglob("*.py")}
    assert len(found) > 300
    return tuple(sorted(found))


@cache
def tree(path: Path) -> ast.Module:
    """Return the syntax tree of a module. Callers do not change it."""
    return ast.parse(path.read_text())
