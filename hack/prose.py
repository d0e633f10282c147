"""Count habits of unclear prose in docstrings and comments: hack/prose [FOLDER...].

Prints the number of each habit in each folder and, for the folders given, the places.
tests/prose.json keeps a count for each folder, and no folder may exceed its count:
`--check` compares, and says which places to change. `--update` writes the present
counts if none is higher; `--moved` with it allows a folder more if others lose as many.
"""

import argparse
import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "tests" / "prose.json"
TOPS = ("asoreconcile", "controllers", "extensions", "cmd", "hack", "tests")
# A kind of habit, the pattern that finds one, and what to write instead.
HABITS = {
    "who or what as a noun": (
        (
            r"(?:^|[.:;(]\s+|\b(?:of|for|from|to|with|by|than|as|in|on|at|about|is|are"
            r"|after|before|but|and|or)\s+)(?:who|whom|whoever|what|whatever)\b(?!:)"
        ),
        "name the thing: `the caller`, `the fields that ...`",
    ),
    "is no, is none": (
        (
            r"(?<!there )\b(?:is|are|was|were)\s+"
            r"(?:(?-i:none)|no\b(?!\s+(?:longer|more)))\b"
        ),
        "`is not a ...`, or `if there is no ...`",
    ),
    "parameter without a noun": (
        r"(?:^|\. )\w+(?:, \w+)*: (?:of|as|where|what|who|whose|that|to|for|by|from)\b",
        "begin with a noun: `headers: headers of the request`",
    ),
    "nobody, somebody": (
        r"\b(?:no|some|any|every)body\b",
        "name the actor: `no client`, `another process`",
    ),
    "where for if": (
        (
            r"(?:^|[.;,]\s+)where\b"
            r"|\bwhere\s+(?:there|it|they|none|nothing|one|no|nobody|that|this)\b"
        ),
        "`if ...`, or `when ...`",
    ),
    "anew": (r"\banew\b", "`again`, or `a new ...`"),
    "beside": (r"\bbeside\b", "`with`, `in addition to`, `next to`"),
    "stands": (r"\bstands?\b(?!\s+(?:for|in\s+for)\b)", "`is`"),
}
_PATTERNS = {
    name: re.compile(pattern, re.IGNORECASE) for name, (pattern, _) in HABITS.items()
}
FRAGMENT = "docstring that begins with a fragment"
_FRAGMENT = re.compile(
    r"(?:Of|As|Where|Whether|Who|Whom|Whose|What|How|Which|Why|When|Nothing|None)\b"
)
_COMMENT = re.compile(r"(?:^\s*|  )# (.*)$")
_MOST_PLACES = 12
_MARK = re.compile(r"(?:type|noqa|ruff|mypy|pragma)\b")
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each docstring."""
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and (text := ast.get_docstring(node)):
            yield node.body[0].lineno, text


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the first line and the text of each comment: lines in a row are one."""
    first, last = 0, 0
    words: list[str] = []
    for line, text in enumerate(source.splitlines(), 1):
        match = _COMMENT.search(text) if "#" in text else None
        if match is None or _MARK.match(match[1]):
            continue
        if words and line != last + 1:
            yield first, " ".join(words)
            words = []
        first = first if words else line
        last = line
        words.append(match[1])
    if words:
        yield first, " ".join(words)


def found(source: str) -> Iterator[tuple[str, int, str]]:
    """Yield each habit in a module: its kind, its line, and the words that show it."""
    for line, text in docstrings(ast.parse(source)):
        if first := _FRAGMENT.match(text):
            yield FRAGMENT, line, first[0]
        for paragraph in re.split(r"\n\s*\n|\n(?=\w+(?:, \w+)*: )", text):
            yield from _habits(line, paragraph)
    for line, text in comments(source):
        yield from _habits(line, text)


def _habits(line: int, text: str) -> Iterator[tuple[str, int, str]]:
    text = re.sub(r"`[^`]*`|\"[^\"]*\"", "``", " ".join(text.split()))
    for name, pattern in _PATTERNS.items():
        for match in pattern.finditer(text):
            yield name, line, text[max(0, match.start() - 15) : match.end() + 25]


def modules() -> Iterator[tuple[str, Path]]:
    """Yield each module with its folder. All extensions count as one folder."""
    for top in TOPS:
        for path in sorted((ROOT / top).rglob("*")):
            if path.is_dir() or path.resolve() != path or ".venv" in path.parts:
                continue
            if path.suffix == ".py":
                folder = path.parent.relative_to(ROOT)
                depth = {"extensions": 1, "tests": 2}.get(top, len(folder.parts))
                yield "/".join(folder.parts[:depth]), path


def places() -> dict[str, list[tuple[str, str]]]:
    """Return the habits of each folder: kind, and place with the words."""
    by_folder: dict[str, list[tuple[str, str]]] = {}
    for folder, path in modules():
        here = by_folder.setdefault(folder, [])
        for name, line, words in found(path.read_text()):
            here.append((name, f"{path.relative_to(ROOT)}:{line}: {words}"))
    return by_folder


def counted(by_folder: dict[str, list[tuple[str, str]]]) -> dict[str, dict[str, int]]:
    """Return the number of each habit in each folder, without zeros."""
    counts = {f: Counter(name for name, _ in here) for f, here in by_folder.items()}
    return {f: dict(sorted(c.items())) for f, c in sorted(counts.items()) if c}


def kept() -> dict[str, dict[str, int]]:
    """Return the counts that no folder may exceed."""
    known: dict[str, dict[str, int]] = json.loads(KEPT.read_text())
    return known


def excess(
    counts: dict[str, dict[str, int]], limits: dict[str, dict[str, int]]
) -> list[tuple[str, str]]:
    """Return each folder and habit with more places than the folder may have."""
    return [
        (folder, name)
        for folder, by_name in counts.items()
        for name, count in by_name.items()
        if count > limits.get(folder, {}).get(name, 0)
    ]


def totals(counts: dict[str, dict[str, int]]) -> Counter[str]:
    """Return the number of each habit in all folders."""
    total: Counter[str] = Counter()
    for by_name in counts.values():
        total.update(by_name)
    return total


def complaints(
    by_folder: dict[str, list[tuple[str, str]]], limits: dict[str, dict[str, int]]
) -> Iterator[str]:
    """Yield the lines that say which folder has too many of which habit, and where."""
    counts = counted(by_folder)
    for folder, name in excess(counts, limits):
        advice = HABITS[name][1] if name in HABITS else "begin with a verb or a noun"
        allowed = limits.get(folder, {}).get(name, 0)
        yield f"{folder}: {name}: {counts[folder][name]}, at most {allowed}: {advice}"
        found_here = [place for kind, place in by_folder[folder] if kind == name]
        yield from (f"    {place}" for place in found_here[:_MOST_PLACES])
        if len(found_here) > _MOST_PLACES:
            yield f"    ... hack/prose {folder} shows all"


def main() -> int:
    """Print, check or update the counts. Return 1 if a folder exceeds its count."""
    parser = argparse.ArgumentParser(prog="hack/prose", description=__doc__)
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="show its places")
    parser.add_argument("--check", action="store_true", help="compare with kept counts")
    parser.add_argument("--update", action="store_true", help="lower the kept counts")
    parser.add_argument(
        "--moved", action="store_true", help="only totals must not rise"
    )
    options = parser.parse_args()
    by_folder = places()
    counts = counted(by_folder)
    if options.check or (options.update and not options.moved and KEPT.exists()):
        lines = [*complaints(by_folder, kept())]
        print("\n".join(lines), end="\n" if lines else "")
        if lines or options.check:
            return 1 if lines else 0
    if options.update:
        if KEPT.exists() and (more := totals(counts) - totals(kept())):
            sys.exit(f"hack/prose: more than before: {dict(more)}")
        lines = [f"  {json.dumps(f)}: {json.dumps(c)}" for f, c in counts.items()]
        KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return 0
    for folder, by_name in counts.items():
        if not options.folders:
            print(folder, *(f"{n} {name}" for name, n in by_name.items()), sep="\n    ")
        elif folder in options.folders:
            print(*(f"{name}: {place}" for name, place in by_folder[folder]), sep="\n")
    print(*(f"{n:5} {name}" for name, n in totals(counts).most_common()), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
