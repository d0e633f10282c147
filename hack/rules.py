"""Match the claimed rules with the tests that prove them.

    hack/rules [--tests] [ID...]

The rules are in tests/RULES.md. A test proves the rules with which its name begins
(test_wq2_..., test_r1_14_l29_...) or its parameter's id ("L17-zero"). Prints the number
of tests of each rule, or of the given IDs; --tests also prints their names. Rules that
the code cites and RULES.md lacks are listed, too. Exit code 1 if a claimed rule has no
test.
"""

import argparse
import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "tests" / "RULES.md"
SOURCES = ("asoreconcile", "controllers", "extensions", "cmd")
# In a name, R1.14 is r1_14; the other families have plain numbers.
_IN_NAME = re.compile(r"(r\d+_\d+|[a-z]{1,2}\d+)_")
_ID_OF = re.compile(r"[A-Z]{1,2}-?\d+(?:\.\d+)?(?![A-Za-z0-9])")
_IN_PARAMETER = re.compile(r"\[([A-Z]{1,2}-?\d+(?:\.\d+)?)(?![A-Za-z0-9])")
_CITATION = re.compile(r"\bRules?: ([^\n\"]*(?:\n(?!\s*(?:\"\"\"|\n))[^\n\"]*)*)")
_CLAIM = re.compile(r"- \*\*([A-Z]{1,2}-?\d+(?:\.\d+)?)\*\* (\S.*)")
_ID = re.compile(r"\b([A-Z]{1,2}-\d+|[A-Z]{1,2}\d+(?:\.\d+)?)\b")


def plain(rule: str) -> str:
    return rule.lower().replace("-", "").replace(".", "_")


def claimed_rules() -> dict[str, str]:
    """Return the claimed ids with their texts."""
    rules = {}
    for line in RULES.read_text().splitlines():
        if line.startswith("- "):
            if not (match := _CLAIM.fullmatch(line)):
                sys.exit(f"hack/rules: no `- **ID** text`: {line}")
            rule, text = match.groups()
            if rule in rules:
                sys.exit(f"hack/rules: {rule} is claimed twice")
            rules[rule] = text
    return rules


def proofs(root: Path = ROOT) -> list[str]:
    """Return the tests of all files, and those of their parameters that name a rule.

    Read from the source, without importing it: a parameter's id is in the test's
    decorator, or in a table of the same file that the decorator names.
    """
    found = []
    for path in sorted((root / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text())
        tables = {
            target.id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                test = f"{path.relative_to(root)}::{node.name}"
                ids = [name for name in parameters(node, tables) if _ID_OF.match(name)]
                found += [f"{test}[{name}]" for name in ids] or [test]
    return found


def parameters(test: ast.FunctionDef, tables: dict[str, ast.expr]) -> list[str]:
    """Return the words among the strings that a test's decorators name."""
    seen: dict[str, None] = {}
    todo: list[ast.AST] = [*test.decorator_list]
    used: set[str] = set()
    while todo:
        for node in ast.walk(todo.pop()):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if node.value and not re.search(r"\s", node.value):
                    seen.setdefault(node.value)
            elif isinstance(node, ast.Name) and node.id in tables.keys() - used:
                used.add(node.id)
                todo.append(tables[node.id])
    return list(seen)


def rules_of(test: str) -> set[str]:
    """Return the plain ids with which a test's name and its parameter begin."""
    name = test.rpartition("::test_")[2].partition("[")[0]
    found = set()
    while match := _IN_NAME.match(name):
        found.add(match[1])
        name = name[match.end() :]
    if match := _IN_PARAMETER.search(test):
        found.add(plain(match[1]))
    return found


def cited_rules() -> dict[str, str]:
    """Return the ids in the sources' `Rule:` lines, each with a file."""
    cited: dict[str, str] = {}
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for match in _CITATION.finditer(path.read_text()):
                for rule in _ID.findall(match[1].partition("\n\n")[0]):
                    cited.setdefault(rule, str(path.relative_to(ROOT)))
    return cited


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="hack/rules",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tests", action="store_true", help="name the tests")
    parser.add_argument("ids", nargs="*", metavar="ID", help="only these rules")
    options = parser.parse_args()
    rules = claimed_rules()
    if unknown := sorted(set(options.ids) - set(rules)):
        parser.error(f"not in {RULES.relative_to(ROOT)}: {', '.join(unknown)}")

    by_rule: defaultdict[str, list[str]] = defaultdict(list)
    for test in proofs():
        for rule in rules_of(test):
            by_rule[rule].append(test)
    for rule, text in rules.items():
        if not options.ids or rule in options.ids:
            tests = by_rule[plain(rule)]
            print(f"{rule:6} {len(tests) or '-':>4}  {text}")
            if options.tests:
                print("".join(f"             {test}\n" for test in tests), end="")

    cited = {r: path for r, path in cited_rules().items() if r not in rules}
    if cited and not options.ids:
        print("\nCited in the code, not claimed:")
        print("\n".join(f"{rule:6} {path}" for rule, path in sorted(cited.items())))
    bare = [rule for rule in rules if not by_rule[plain(rule)]]
    print(f"\n{len(rules)} rules claimed, {len(bare)} without a test", end="")
    print(f": {', '.join(bare)}" if bare else "")
    return 1 if bare else 0


if __name__ == "__main__":
    sys.exit(main())
