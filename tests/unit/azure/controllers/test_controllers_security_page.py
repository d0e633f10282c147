"""The page about security names tests that there are."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
PAGE = (ROOT / "deploy" / "docs" / "security.md").read_text()
FILES = sorted(set(re.findall(r"`(tests/[\w/]+\.py)`", PAGE)))
NAMES = sorted(set(re.findall(r"`(test_\w+)`", PAGE)))
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ")]


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_the_page_names_is_there(file):
    assert (ROOT / file).is_file()


@pytest.mark.parametrize("name", NAMES)
def test_a_test_that_the_page_names_is_in_a_file_that_it_names(name):
    assert any(f"def {name}(" in (ROOT / file).read_text() for file in FILES)


def test_each_line_about_the_operator_names_its_test():
    heads = ("| | Test |",)
    lines = [row for row in ROWS if row.count("|") == 3 and row not in heads]
    assert len(lines) > 10
    assert [line for line in lines if "tests/" not in line] == []


def test_each_attack_is_on_the_page():
    made = {
        name
        for file in (ROOT / "tests" / "security").glob("test_*.py")
        for name in re.findall(r"^def (test_\w+)\(", file.read_text(), re.MULTILINE)
    }
    attacks = PAGE.partition("\n## Attacks\n")[2].partition("\n## ")[0]
    assert made - set(re.findall(r"`(test_\w+)`", attacks)) == set()


def test_each_section_names_its_tests():
    sections = PAGE.split("\n## ")[1:]
    assert len(sections) > 3
    assert [one.partition("\n")[0] for one in sections if "tests/" not in one] == []
