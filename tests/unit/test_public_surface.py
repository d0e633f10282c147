"""What embedders may rely on: the names of `asoreconcile`, and their signatures.

After an intended change: python tests/unit/test_public_surface.py, and read the diff.
"""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import asoreconcile

HERE = Path(__file__).parent
STORED = HERE / "public_surface.txt"
WITHOUT_AZURE = HERE.parent / "withoutazure.py"
ROOMS = (
    "base",
    "cache",
    "kube",
    "observability",
    "queue",
    "redaction",
    "resources",
    "runtime",
    "serving",
    "webhooks",
)


def surface():
    """A text with each name's signature, and those of its public methods.

    Taken from the source, so that it is the same with every Python version.
    """
    return "\n".join(line for name in asoreconcile.__all__ for line in described(name))  # type: ignore[attr-defined]


def described(name):
    value = getattr(asoreconcile, name)
    if not inspect.isclass(value) and not inspect.isfunction(value):
        return [f"{name}: {type(value).__name__}" if name.isupper() else name]
    tree = ast.parse(inspect.getsource(value)).body[0]
    if isinstance(tree, ast.FunctionDef):
        return [signature(tree)]
    bases = ", ".join(ast.unparse(base) for base in tree.bases)  # type: ignore[attr-defined]
    decorators = [f"@{ast.unparse(node)}" for node in tree.decorator_list]  # type: ignore[attr-defined]
    return [*decorators, f"class {name}({bases})", *members(tree)]


def members(tree):
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and is_public(node.name):
            mark = "property " if is_property(node) else ""
            yield f"    {mark}{signature(node)}"
        if isinstance(node, ast.AnnAssign | ast.Assign) and is_public(target_of(node)):
            yield f"    {ast.unparse(node)}"


def signature(node):
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({ast.unparse(node.args)}){returns}"


def is_property(node):
    return any(ast.unparse(one) == "property" for one in node.decorator_list)


def is_public(name):
    return name == "__init__" or not name.startswith("_")


def target_of(node):
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    return target.id


def run_without_azure(program, folder):
    path = folder / "program.py"
    path.write_text(program)
    return subprocess.run(
        [sys.executable, WITHOUT_AZURE, path],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_names_are_those_that_type_checkers_are_told():
    tree = ast.parse(Path(asoreconcile.__file__).with_suffix(".pyi").read_text())
    told = [
        (alias.name, node.module)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    ]
    assert len(told) == len(dict(told)), "a name is there twice"
    assert dict(told) == asoreconcile._HOME_OF  # type: ignore[attr-defined]
    modules = {name for name, home in told if home == "asoreconcile.base"}
    assert modules == {"log", "reconcile_context"}
    assert asoreconcile.__all__ == sorted(set(dict(told)) - modules)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", asoreconcile.__all__)  # type: ignore[attr-defined]
def test_every_name_can_be_had_and_is_listed(name):
    home = importlib.import_module(asoreconcile._HOME_OF[name])  # type: ignore[attr-defined]
    assert getattr(asoreconcile, name) is getattr(home, name)
    assert name in dir(asoreconcile)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'asoreconcile' has no attribute 'Nope'"):
        _ = asoreconcile.Nope  # type: ignore[attr-defined]


def test_every_public_class_and_function_says_what_it_is_for():
    silent = [
        name
        for name in asoreconcile.__all__  # type: ignore[attr-defined]
        if inspect.isclass(getattr(asoreconcile, name))
        and not getattr(asoreconcile, name).__doc__
    ]
    assert silent == []


def test_signatures_are_as_stored():
    hint = f"if the change is meant: python {Path(__file__).name}, then read the diff"
    assert surface() + "\n" == STORED.read_text(), hint


def test_import_is_cheap_and_brings_nothing_along(tmp_path):
    program = """
import sys, time
before = set(sys.modules)
begun = time.thread_time()
import asoreconcile
print(time.thread_time() - begun)
print(*sorted(set(sys.modules) - before))
"""
    answer = run_without_azure(program, tmp_path)
    seconds, modules = answer.stdout.splitlines()
    # Before 3.14, Python's own start has loaded `typing`.
    brought = set(modules.split()) - {"_typing", "copyreg", "typing"}
    assert brought == {"asoreconcile"}
    assert float(seconds) < 0.1


def test_the_library_rooms_need_nothing_of_azure(tmp_path):
    root = Path(asoreconcile.__file__).parent
    paths: list[Path] = []
    for room in (*ROOMS, "testing/kube"):
        paths += (root / room).rglob("*.py")
    modules = [
        ".".join(["asoreconcile", *path.relative_to(root).with_suffix("").parts])
        for path in sorted(paths)
    ]
    names = ", ".join(asoreconcile.__all__)  # type: ignore[attr-defined]
    program = f"""
import sys
from importlib import import_module
for name in {modules}:
    import_module(name)
from asoreconcile import {names}
try:
    import azure.core
except ImportError as error:
    print(error)
print(any(name.startswith("asoreconcile.azure.arm") for name in sys.modules))
"""
    answer = run_without_azure(program, tmp_path)
    assert answer.stderr == ""
    assert answer.stdout.splitlines() == ["azure is refused here", "False"]


if __name__ == "__main__":
    STORED.write_text(surface() + "\n")
