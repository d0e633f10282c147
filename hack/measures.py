"""Counts how far the operator's policies are from one place each.

    hack/measures                the tree as it is
    hack/measures REVISION ...   revisions of git, one column each, and then the tree

Counted are modules that name a policy in their code (identifiers, not comments or
texts), the lines and functions of the PUT path, fields that all reconciles share, and
lines of code. A line of code is neither blank, nor a comment, nor a docstring.
"""

import ast
import io
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECONCILE = "asoreconcile/azure/reconcile/"
ROOMS = (RECONCILE, "controllers/")
# The kinds without ARM use the same policies.
COUNTED = (
    *ROOMS,
    *(f"asoreconcile/azure/{n}/" for n in ("entra", "sql_users", "non_arm")),
)
POLICIES = {
    "protection": "protect",
    "windows": "window|closed_at|^closed$",
    "if-exists": "if_?exists|stated_policy|undecided|observing|require_adoptable",
    "wait-for-references": "wait(s|ing)?_for_reference|reference_wait|^waiting_for$",
    "pause": "^(why_|is_|not_)?paused?$|paused_(row|reason)",
    "foreign-tags": "foreign_?tags",
    "on-immutable": "on_?immutable|is_asked_for",
}


def code_lines(text: str) -> int:
    """Return the number of lines of code of a module."""
    docs: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                docs.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return sum(
        1
        for number, line in enumerate(text.splitlines(), 1)
        if number not in docs and line.strip() and not line.lstrip().startswith("#")
    )


def identifiers(text: str) -> Iterator[str]:
    """Yield the names that a module's code uses: variables, attributes, imports."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.keyword(arg=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.ImportFrom(module=str(module), names=names):
                yield module.rpartition(".")[2]
                yield from (alias.name for alias in names)


def fields(modules: Mapping[str, str], name: str) -> int:
    """Return the number of annotated fields of a class; 0 if there is no such class."""
    for text in modules.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and node.name == name:
                return sum(isinstance(one, ast.AnnAssign) for one in node.body)
    return 0


def functions(text: str) -> Iterator[tuple[int, int]]:
    """Yield lines and parameters of each function of a module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            given = node.args
            count = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
            source = ast.get_source_segment(text, node) or ""
            yield code_lines(source), count


def measures(modules: Mapping[str, str]) -> dict[str, int]:
    """Return all measures. modules: text of each module by its path."""
    ours = {n: t for n, t in modules.items() if n.startswith(COUNTED)}
    found: dict[str, int] = {}
    for policy, words in POLICIES.items():
        word = re.compile(words, re.IGNORECASE)
        naming = (n for n, t in ours.items() if any(map(word.search, identifiers(t))))
        found[f"modules that name {policy}"] = sum(1 for _ in naming)
    put = next((t for n, t in ours.items() if n.endswith("/put.py")), "")
    sizes = list(functions(put)) or [(0, 0)]
    found["put.py: code lines"] = code_lines(put)
    found["put.py: longest function"] = max(lines for lines, _ in sizes)
    found["put.py: most parameters"] = max(count for _, count in sizes)
    found["fields of SharedDependencies"] = fields(ours, "SharedDependencies")
    found["fields of ObjectMemory"] = fields(ours, "ObjectMemory")
    rooms = (t for n, t in ours.items() if n.startswith(ROOMS))
    found["code lines of reconcile + controllers"] = sum(map(code_lines, rooms))
    return found


def modules_of(revision: str) -> dict[str, str]:
    """Return the modules of a revision of git, by path."""
    command = ["git", "archive", revision, "asoreconcile/azure", "controllers"]
    packed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        return {
            one.name: content.read().decode()
            for one in archive
            if one.name.endswith(".py") and (content := archive.extractfile(one))
        }


def modules_here() -> dict[str, str]:
    """Return the modules of the working tree, by path."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text()
        for room in COUNTED
        for path in (ROOT / room).rglob("*.py")
    }


def main(revisions: list[str]) -> None:
    """Print a table: a measure a row, a revision a column."""
    columns = {name: measures(modules_of(name)) for name in revisions}
    columns["tree"] = measures(modules_here())
    sys.stdout.write(f"{'':40}" + "".join(f"{name:>12}" for name in columns) + "\n")
    for row in columns["tree"]:
        counts = "".join(f"{column[row]:>12}" for column in columns.values())
        sys.stdout.write(f"{row:40}{counts}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
