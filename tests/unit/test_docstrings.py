"""Public classes, functions and methods say what they are for, in every folder."""

import ast
import re
from collections import defaultdict
from functools import cache

import sources

LEAST_SHARE = 0.95
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Of another definition with the same name, which has the docstring of both.
_PARTS = re.compile(r"(typing\.)?overload|\w+\.(setter|deleter)")
_WORD = re.compile(r"[a-z0-9]+")
_SMALL_WORDS = {"a", "an", "and", "as", "at", "is", "its", "of", "the", "this", "to"}


def _public(body, prefix=""):
    """The public definitions of a module or a class, by dotted name."""
    for node in body:
        if isinstance(node, (ast.If, ast.Try)):
            yield from _public(node.body, prefix)
        if not isinstance(node, (ast.ClassDef, *_FUNCTIONS)):
            continue
        decorators = map(ast.unparse, node.decorator_list)
        if node.name.startswith("_") or any(map(_PARTS.fullmatch, decorators)):
            continue
        yield prefix + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from _public(node.body, f"{prefix}{node.name}.")


@cache
def _defined_in(path):
    return list(_public(sources.tree(path).body))


@cache
def _silent(path):
    return [name for name, node in _defined_in(path) if not ast.get_docstring(node)]


def _says_its_name_again(name, node):
    """Whether a docstring has no word that the name does not have."""
    text = (ast.get_docstring(node) or "").lower()
    said = set(_WORD.findall(text)) - _SMALL_WORDS
    known = "".join(_WORD.findall(name.lower().replace("_", "")))
    return bool(text) and all(word in known for word in said)


def _modules():
    """All modules whose path says that they are for others."""
    for path in sources.modules():
        inside = path.relative_to(sources.ROOT).with_suffix("")
        if not any(part.startswith("_") for part in inside.parts):
            yield path


def _folders():
    folders = defaultdict(list)
    for path in _modules():
        folders[path.parent].append(path)
    assert len(folders) > 40
    return folders


def test_nearly_all_that_is_public_in_a_folder_has_a_docstring():
    for paths in _folders().values():
        count = sum(len(_defined_in(path)) for path in paths)
        silent = [f"{path}: {name}" for path in paths for name in _silent(path)]
        # A small folder may leave out one.
        assert len(silent) <= max(1, (1 - LEAST_SHARE) * count), silent


def test_nearly_all_of_the_tree_has_a_docstring():
    paths = list(_modules())
    silent = sum(len(_silent(path)) for path in paths)
    assert silent <= (1 - LEAST_SHARE) * sum(len(_defined_in(path)) for path in paths)


def test_every_module_says_what_it_is_about():
    assert [
        str(path)
        for path in _modules()
        if sources.tree(path).body and not ast.get_docstring(sources.tree(path))
    ] == []


def test_no_docstring_only_repeats_the_name():
    assert [
        f"{path}: {name}"
        for path in _modules()
        for name, node in _defined_in(path)
        if _says_its_name_again(name, node)
    ] == []


def test_what_is_silent_and_what_repeats_its_name_is_found(tmp_path):
    path = tmp_path / "example.py"
    path.write_text(
        "class Pool:\n"
        "    def drain(self): ...\n"
        "    def _inner(self): ...\n"
        "    @property\n"
        "    def size(self):\n"
        '        "Threads that run now."\n'
        "    @size.setter\n"
        "    def size(self, n): ...\n"
        "def group_kind():\n"
        '    "The group and kind."\n'
    )
    assert _silent(path) == ["Pool", "Pool.drain"]
    found = {name: _says_its_name_again(name, node) for name, node in _defined_in(path)}
    assert [name for name, is_empty in found.items() if is_empty] == ["group_kind"]
