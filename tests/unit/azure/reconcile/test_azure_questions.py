"""A reader answers each of twenty questions in two modules at most."""

import ast

import pytest
from blocks import ROOT
from questions import QUESTIONS


def defined(path):
    """The names that a module defines, functions of its classes included."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_answer_is_where_the_table_says(question):
    places = QUESTIONS[question]
    assert 1 <= len(places) <= 2
    for path, name in places:
        assert name in set(defined(path)), path


def test_there_are_twenty_questions():
    assert len(QUESTIONS) == 20
