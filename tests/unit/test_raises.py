"""Each `Raises X` of a public docstring: X exists, users can import it, code raises it.

"Users can import it" means: a module that the function's package imports has it.
"Code raises it" is checked by names: from the documented function over each function,
class or table whose name is mentioned, some path leads to a `raise` of X or a subclass.
"""

import ast
import builtins
import re
from collections import defaultdict
from functools import cache

import pytest
import sources

import asoreconcile

_RAISES = re.compile(
    r"\b[Rr]aises? ((?:`?[A-Z]\w+(?:\.[A-Z]\w+)*`?(?:, (?:or |and )?| or | and )?)+)"
)
_DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
# The functions from the docstring to the `raise`, or to a docstring that states it.
_MOST_STEPS = 3
# Names of other packages that a module raises without an import of its own.
_OF_OTHERS = {"UsageError": "click"}


@cache
def _modules():
    """The tree of each module by its dotted name; test servers raise for tests."""
    found = {}
    for path in sources.modules():
        parts = path.relative_to(sources.ROOT).with_suffix("").parts
        if "testing" not in parts:
            home = () if parts[0] == "asoreconcile" else (_AZURE,)
            name = ".".join([*home, *parts]).removesuffix(".__init__")
            found[name] = sources.tree(path)
    return found


_AZURE = "asoreconcile.azure"


@cache
def _imports(module):
    """The names that a module imports anywhere, with the modules they come from."""
    found = []
    for node in ast.walk(_modules()[module]):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                found += [
                    (alias.asname or alias.name, node.module or ""),
                    (alias.name, f"{node.module}.{alias.name}"),
                ]
        elif isinstance(node, ast.Import):
            found += [(alias.asname or alias.name, alias.name) for alias in node.names]
    return found


@cache
def _imported_by(package):
    """All modules that a module of the package imports, directly or not."""
    seen = set()
    waiting = [name for name in _modules() if name.rpartition(".")[0] == package]
    while waiting:
        name = waiting.pop()
        if name in _modules() and name not in seen:
            seen.add(name)
            waiting += [home for _, home in _imports(name)]
    return seen


@cache
def _homes():
    """The modules that have a class of each name."""
    found = defaultdict(set)
    for module, tree in _modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                found[node.name].add(module)
    return found


@cache
def _bases():
    """The names of the base classes of each shipped class, by name."""
    found = defaultdict(set)
    for tree in _modules().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                names = [ast.unparse(base) for base in node.bases]
                found[node.name] |= {
                    re.split(r"\[", n)[0].split(".")[-1] for n in names
                }
    return found


@cache
def _ancestors(name):
    direct = _bases().get(name, set()) - {name}
    return {name}.union(*(_ancestors(base) for base in direct))


def _is_exception(name):
    return any(
        isinstance(found := getattr(builtins, one, None), type)
        and issubclass(found, BaseException)
        for one in _ancestors(name)
    )


def _names(node):
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.Attribute):
            yield one.attr


# The parts whose names count as raised. `kind = X` comes before `kind(...)`.
_RAISED = {(ast.Raise, "exc"), (ast.Call, "func"), (ast.Assign, "value")}


@cache
def _mentions():
    """The names that each definition and table mentions, and those that it raises."""
    mentioned, raised = defaultdict(set), defaultdict(set)

    def note(node, around=(), *, is_raised=False):
        """Note the names below a node. around: the definitions that it is in."""
        if isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            for found in (mentioned, raised) if is_raised else (mentioned,):
                for one in around:
                    found[one].add(name)
        elif isinstance(node, _DEFINITIONS):
            around = (*around, node.name)
        for field, value in ast.iter_fields(node):
            below = is_raised or (type(node), field) in _RAISED
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    note(child, around, is_raised=below)

    for tree in _modules().values():
        note(tree)
        for node in tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                target = (
                    node.targets[0] if isinstance(node, ast.Assign) else node.target
                )
                if isinstance(target, ast.Name):
                    mentioned[target.id] |= {*_names(node.value)}
                    raised[target.id] |= {*_names(node.value)}
    return mentioned, raised


@cache
def _promised():
    """The errors that the docstrings of each name state."""
    found = defaultdict(set)
    for _, _, function, error in _stated():
        found[function].add(error)
    return found


@cache
def _is_raised(function, error):
    mentioned, raised = _mentions()
    wanted = {name for name in _bases() if error in _ancestors(name)}
    # A base that is raised may be any of its subclasses: a status chooses the class.
    wanted |= _ancestors(error) & {"ApiError", "ArmError", "ServerError"}
    seen, level = {function}, {function}
    for step in range(_MOST_STEPS):
        if any(raised[name] & wanted for name in level if name in raised):
            return True
        # A called function is checked against its own docstring.
        if step and any(_promised()[name] & wanted for name in level):
            return True
        level = {m for name in level for m in mentioned[name] if m in mentioned} - seen
        seen |= level
    return False


def _documented(body, prefix=""):
    """The public definitions of a module or class with their docstrings."""
    for node in body:
        if isinstance(node, _DEFINITIONS) and (
            not node.name.startswith("_") or node.name == "__init__"
        ):
            yield prefix, node, " ".join((ast.get_docstring(node) or "").split())
            yield from _documented(node.body, f"{prefix}{node.name}.")


def _stated():
    """Each error that a docstring names: module, function, and the error's name."""
    for module, tree in _modules().items():
        for prefix, node, text in _documented(tree.body):
            for match in _RAISES.finditer(text):
                for error in re.findall(r"[A-Z]\w+(?:\.[A-Z]\w+)*", match[1]):
                    yield module, prefix, node.name, error.split(".")[-1]


def _problem(module, function, error):
    if hasattr(builtins, error):
        return ""
    if error not in _bases():
        own = {*_names(_modules()[module]), *dict(_imports(module))}
        known = error in own or _OF_OTHERS.get(error) in own
        return "" if known else "there is no such error"
    if not _is_exception(error):
        return "it is no exception"
    homes = _homes()[error] & _imported_by(module.rpartition(".")[0])
    if error.startswith("_") or not homes:
        return "no module that its package imports has it"
    # A class states what its methods raise, which for a protocol are written elsewhere.
    if function in _bases() or _is_raised(function, error):
        return ""
    return "nothing raises it"


def test_each_error_of_a_docstring_exists_and_is_raised():
    problems = [
        f"{module}: {prefix}{function}: {error}: {problem}"
        for module, prefix, function, error in _stated()
        if (problem := _problem(module, function, error))
    ]
    assert problems == []


def test_the_check_finds_what_it_is_for():
    module = "asoreconcile.kube.discovery"
    assert _problem(module, "resource", "UnknownKindError") == ""
    assert _problem(module, "resource", "EstateError") == "there is no such error"
    assert _problem(module, "resource", "Discovery") == "it is no exception"
    assert _problem(module, "resource", "NotCachedError").startswith("no module")
    assert _is_raised("create_or_patch", "ConflictError")
    assert not _is_raised("is_deleting", "CrdNotEstablishedError")


@pytest.mark.parametrize("name", asoreconcile.__all__)  # type: ignore[attr-defined]
def test_errors_of_public_names_are_public(name):
    value = getattr(asoreconcile, name)
    members = vars(value).items() if isinstance(value, type) else ()
    texts = [getattr(value, "__doc__", None)]
    for member, one in members:
        if not member.startswith("_") or member == "__init__":
            texts.append(getattr(one, "__doc__", None))
    for text in texts:
        for match in _RAISES.finditer(" ".join(str(text or "").split())):
            for error in re.findall(r"[A-Z]\w+", match[1]):
                is_known = hasattr(builtins, error) or error in asoreconcile.__all__  # type: ignore[attr-defined]
                assert is_known, f"{name}: users cannot import {error}"


def test_no_definition_has_two_docstrings():
    def is_text(node):
        value = node.value if isinstance(node, ast.Expr) else None
        return isinstance(value, ast.Constant) and isinstance(value.value, str)

    found = []
    for module, tree in _modules().items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef):
                continue
            texts = [one.lineno for one in node.body[1:] if is_text(one)]
            # A text after an assignment documents an attribute.
            before = {
                after.lineno
                for first, after in zip(node.body, node.body[1:], strict=False)
                if isinstance(first, ast.Assign | ast.AnnAssign)
            }
            found += [f"{module}:{line}" for line in set(texts) - before]
    assert found == []
