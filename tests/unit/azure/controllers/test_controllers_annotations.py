"""Annotations of our own: each that the code has is in the guide, and the other way."""

import ast
import re

import sources

from asoreconcile.azure.controllers.annotation_rules import new_warnings
from asoreconcile.azure.reconcile.model.annotations import OWN_PREFIX
from asoreconcile.azure.reconcile.scope.extension_operations import _annotation

DEPLOY = sources.ROOT / "deploy"
GUIDE = (DEPLOY / "README.md").read_text()
PAGE = (DEPLOY / "docs" / "ownership.md").read_text()
# Extensions name their operations themselves.
OPERATIONS = _annotation("<operation>")


def in_code():
    """Names that are written out, or put behind the prefix."""
    found = set()
    for path in sources.modules():
        if "testing" in path.parts:
            continue
        for node in ast.walk(sources.tree(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if re.fullmatch(OWN_PREFIX + "[a-z-]+", node.value):
                    found.add(node.value)
            elif isinstance(node, ast.BinOp) and "OWN_PREFIX" in ast.unparse(node):
                if isinstance(node.right, ast.Constant):
                    found.add(OWN_PREFIX + node.right.value)
                else:
                    assert path.name == "extension_operations.py", (
                        f"{path}: what is it called?"
                    )
                    found.add(OPERATIONS)
    return found


def in_guide():
    (section,) = re.findall(
        r"## What it writes on objects\n(.*?)\n## ", GUIDE, re.DOTALL
    )
    written = re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)
    (table,) = re.findall(r"## All annotations\n(.*?)\n## ", PAGE, re.DOTALL)
    named = re.findall(r"^\| \[?`([^`]+)`", table, re.MULTILINE)
    return written + [name for name in named if name.startswith(OWN_PREFIX)]


def test_the_guide_has_each_annotation_of_ours_and_no_other():
    assert sorted(in_guide()) == sorted(in_code())


def test_no_annotation_of_ours_counts_as_misspelt():
    named = {"metadata": {"annotations": dict.fromkeys(in_guide(), "x")}}
    found = new_warnings(named, None)
    assert [one for one in found if "did you mean" in one] == []


def test_a_name_with_azure_service_operators_prefix_may_be_misspelt_or_ours():
    names = ("serviceoperator.azure.com/paused", "serviceoperator.azure.com/credential")
    wrong = {"metadata": {"annotations": dict.fromkeys(names, "x")}}
    assert [text.rpartition("mean ")[2] for text in new_warnings(wrong, None)] == [
        "serviceoperator.azure.com/credential-from?",
        "asoreconcile/paused?",
    ]
