"""Strict type checkers accept what users are shown, and refuse what is wrong.

Each checker runs once over all files, because every run reads the whole library.
"""

import ast
import re
from pathlib import Path

import pytest
from blocks import ROOT, pages, written
from typecheckers import mypy, pyright

# The checker is to refuse their marked lines, and no other.
CLASSES = "typed_resources.py"  # of which class a client or reconciler is
POINTS = "points_reject_foreign_functions.py"  # functions on the wrong point
EXAMPLES = (
    "ephemeral_volumes.py",
    "memcached.py",
    "mirror_config_maps.py",
    "typed_websites.py",
    "websites.py",
)
# Tests are shown without types in the others, as on pytest's own pages.
PAGES = (*pages(), ROOT / "README.md", ROOT / "asoreconcile" / "README.md")
_REVEALED = re.compile(r'(?:Revealed type|Type of ".*") is "(.*)"', re.DOTALL)
# A cold mypy reads the whole dependency tree.
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    """The examples, with questions for the types of their names."""
    folder = tmp_path_factory.mktemp("questions")
    for name in EXAMPLES:
        text = (ROOT / "tests" / "examples" / name).read_text()
        (folder / name).write_text(with_questions(text))
    return [folder / name for name in EXAMPLES]


@pytest.fixture(scope="module")
def by_mypy(questions, tmp_path_factory):
    """The lines that mypy prints of each file, with their texts."""
    folder = written(tmp_path_factory.mktemp("pages"), among=PAGES)
    shown = sorted(folder.rglob("*.py"))
    assert len(shown) > 20
    snippets = [Path(__file__).with_name(name) for name in (CLASSES, POINTS)]
    with pytest.MonkeyPatch.context() as patch:
        # Its modules import one another.
        patch.setenv("MYPYPATH", str(folder / "tutorial"))
        return by_file(mypy([*snippets, *shown, *questions]))


@pytest.fixture(scope="module")
def by_pyright(questions, tmp_path_factory):
    files = [Path(__file__).with_name(CLASSES), *questions]
    return by_file(pyright(files, tmp_path_factory.mktemp("pyright")))


def by_file(said):
    found = {}
    for file, line, text in said:
        found.setdefault(file, []).append((line, text))
    return found


def marked(name):
    """The lines that are to be refused, and mypy's word for why."""
    lines = Path(__file__).with_name(name).read_text().splitlines()
    found = {
        (number, line.partition("# error: ")[2].strip())
        for number, line in enumerate(lines, 1)
        if "  # error: " in line
    }
    assert len(found) >= 4
    return found


@pytest.mark.parametrize("name", [CLASSES, POINTS])
def test_mypy_refuses_exactly_the_marked_lines(by_mypy, name):
    said = by_mypy[name]
    refused = {(line, re.search(r"\[([\w-]+)\]$", text)[1]) for line, text in said}
    assert refused == marked(name), said


def test_pyright_refuses_exactly_the_marked_lines(by_pyright):
    said = by_pyright[CLASSES]
    assert {line for line, _ in said} == {line for line, _ in marked(CLASSES)}, said


def test_the_examples_and_what_the_pages_show_are_typed(by_mypy):
    """The checker reveals the types that it was asked for, and has no errors."""
    said = {file: by_mypy[file] for file in by_mypy.keys() - {CLASSES, POINTS}}
    assert said.keys() == set(EXAMPLES)
    types(said)


def test_pyright_infers_what_mypy_infers(by_mypy, by_pyright):
    of_mypy, of_pyright = (
        types({name: said[name] for name in EXAMPLES}) for said in (by_mypy, by_pyright)
    )
    assert len(of_mypy) > 70
    assert of_pyright == of_mypy


def with_questions(text):
    """A program that asks for the type of each parameter and each name that is set.

    Left out are `self`, which pyright calls `Self@Class`, and names set to a dict
    display, because the checkers join the types of its values differently.
    """
    asked = {}
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef):
            continue
        body = function.body[0]
        for parameter in function.args.args + function.args.kwonlyargs:
            if parameter.arg != "self":
                asked.setdefault(body.lineno - 1, []).append((body, parameter.arg))
        for statement in ast.walk(function):
            if isinstance(statement, ast.Assign | ast.AnnAssign):
                if isinstance(statement.value, ast.Dict):
                    continue
                is_one = isinstance(statement, ast.AnnAssign)
                targets = [statement.target] if is_one else statement.targets
                asked.setdefault(statement.end_lineno, []).extend(
                    (statement, name.id)
                    for target in targets
                    for name in ast.walk(target)
                    if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
                )
    lines = []
    for number, line in enumerate(text.splitlines()):
        for statement, name in asked.get(number, ()):
            lines.append(f"{' ' * statement.col_offset}reveal_type({name})")
        lines.append(line)
    return "\n".join(lines) + "\n"


def types(said):
    """The types by place; the checker may have said no more than these."""
    found = {}
    for file, lines in said.items():
        for line, text in lines:
            revealed = _REVEALED.fullmatch(text)
            assert revealed, (file, line, text)
            found[file, line] = in_short(revealed[1])
    return found


def in_short(shown):
    """Without modules; Literal['a'] | Literal['b'] is Literal['a', 'b']. Named tuples,
    of which mypy also says what is in them, by their names alone.
    """
    bare = re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", shown)
    named = re.sub(r"tuple\[[^\[\]]*, fallback=(\w+)\]", r"\1", bare)
    return named.replace("] | Literal[", ", ")
