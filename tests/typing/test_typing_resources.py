"""Type checkers know the class that a client, an informer or a reconciler is of."""

import re
from pathlib import Path

import pytest
from typecheckers import mypy, pyright

SNIPPET = Path(__file__).parent / "typed_resources.py"


def marked():
    """The lines that are to be refused, and mypy's word for why."""
    lines = SNIPPET.read_text().splitlines()
    found = {
        (number, line.partition("# error: ")[2].strip())
        for number, line in enumerate(lines, 1)
        if "  # error: " in line
    }
    assert len(found) == 13
    return found


@pytest.mark.timeout(300)  # a cold mypy reads the whole dependency tree
def test_mypy_refuses_exactly_the_marked_lines():
    said = [(line, text) for _, line, text in mypy([SNIPPET])]
    refused = {(line, re.search(r"\[([\w-]+)\]$", text)[1]) for line, text in said}
    assert refused == marked(), said


@pytest.mark.timeout(300)
def test_pyright_refuses_exactly_the_marked_lines(tmp_path):
    said = pyright([SNIPPET], tmp_path)
    assert {line for _, line, _ in said} == {line for line, _ in marked()}, said
