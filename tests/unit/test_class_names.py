"""One word, one meaning: no two classes or type aliases have one name."""

import ast
from collections import defaultdict

import sources

# Name -> why several places have it.
ALLOWED: dict[str, str] = {}


def _defined(path):
    """The public classes and type aliases at the top of a module."""
    for node in sources.tree(path).body:
        if isinstance(node, ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            call = node.value
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "TypeVar":
                continue  # of its module alone
            name = node.targets[0].id
        else:
            continue
        is_constant = name.isupper() and len(name) > 1
        if name[0].isupper() and not is_constant:
            yield name


def _twice(paths):
    found = defaultdict(set)
    for path in paths:
        for name in _defined(path):
            found[name].add(str(path))
    return {name: sorted(where) for name, where in found.items() if len(where) > 1}


def test_each_class_has_a_name_of_its_own():
    twice = _twice(sources.modules())
    assert {name: twice[name] for name in twice.keys() - ALLOWED.keys()} == {}
    assert ALLOWED.keys() <= twice.keys(), "allowed, and not needed any more"


def test_a_name_that_is_defined_twice_is_found(tmp_path):
    (tmp_path / "a.py").write_text("class Again: ...\nONE = 1\nT = TypeVar('T')\n")
    (tmp_path / "b.py").write_text("Again = str | int\nONE = 2\nT = TypeVar('T')\n")
    assert list(_twice(tmp_path.glob("*.py"))) == ["Again"]
