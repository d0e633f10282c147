"""Both type checkers infer the same types, of each name that the examples use."""

import ast
import re
from pathlib import Path

import pytest
from typecheckers import REPOSITORY, mypy, pyright

EXAMPLES = (
    "ephemeral_volumes.py",
    "memcached.py",
    "mirror_config_maps.py",
    "typed_websites.py",
    "websites.py",
)
_REVEALED = re.compile(r'(?:Revealed type|Type of ".*") is "(.*)"', re.DOTALL)


@pytest.mark.timeout(300)  # a cold mypy reads the whole dependency tree
def test_pyright_infers_what_mypy_infers(tmp_path):
    files = []
    for name in EXAMPLES:
        files.append(tmp_path / name)
        text = (REPOSITORY / "tests" / "examples" / name).read_text()
        files[-1].write_text(with_questions(text))
    by_mypy, by_pyright = types(mypy(files)), types(pyright(files, tmp_path))
    assert len(by_mypy) > 70
    assert by_pyright == by_mypy


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
    """By place; nothing but revealed types may have been said."""
    found = {}
    for file, line, text in said:
        revealed = _REVEALED.fullmatch(text)
        assert revealed, (file, line, text)
        found[Path(file).name, line] = in_short(revealed[1])
    return found


def in_short(shown):
    """Without modules; Literal['a'] | Literal['b'] is Literal['a', 'b']. Named tuples,
    of which mypy also says what is in them, by their names alone.
    """
    bare = re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", shown)
    named = re.sub(r"tuple\[[^\[\]]*, fallback=(\w+)\]", r"\1", bare)
    return named.replace("] | Literal[", ", ")
