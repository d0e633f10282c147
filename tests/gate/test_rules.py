"""hack/rules: which test proves which rule."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest
import rules as command

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("test", "rules"),
    [
        ("t.py::test_wq2_a_key_added_twice", {"wq2"}),
        ("t.py::test_r1_14_l29_a_monitor_that_vanished", {"r1_14", "l29"}),
        ("t.py::test_a_table[R11.5-wrong-type]", {"r11_5"}),
        ("t.py::test_l17_a_table[L17-zero]", {"l17"}),
        ("t.py::TestGroup::test_pq10_starves_nobody", {"pq10"}),
        ("t.py::test_fast_slow_changes[v1-twins]", set()),
        ("t.py::test_that_mentions_l17_later[x-L17]", set()),
        ("t.py::test_a_table[V1Secret]", set()),
    ],
)
def test_rules_are_read_from_the_beginning_of_names(test, rules):
    assert command.rules_of(test) == rules


def test_each_claim_says_something_short():
    rules = command.claimed_rules()
    assert all(10 < len(text) < 100 for text in rules.values())
    assert len({command.plain(rule) for rule in rules}) == len(rules)


def test_citations_are_read_over_the_ends_of_lines():
    cited = command.cited_rules()
    assert {"CA-5", "DQ-3"} <= set(cited)


# Written together with the family of its rule, so that no other word looks like one.
_ID = re.compile(r"(?<![\w/.])([A-Z]{1,2})-?(\d+(?:\.\d+)?)(?![\w]|\.\d|-\w)")
_RANGE = re.compile(r"(?<=\d)-(?=[A-Z]{1,2}-?\d)")


def _prose_of(path):
    """The docstrings and comments of a module."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            yield ast.get_docstring(node) or ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.partition("noqa")[0]


def _ids_in(text, families):
    text = _RANGE.sub(" - ", text)
    for family, number in _ID.findall(text):
        if family in families:
            yield f"{family}-{number}" if families[family] else f"{family}{number}"


def _families(rules):
    """Each family of rules, and whether its ids are written with a dash."""
    parts = (re.match(r"([A-Z]+)(-?)", rule) for rule in rules)
    return {family: bool(dash) for family, dash in (part.groups() for part in parts)}


def test_each_id_in_a_docstring_or_comment_is_a_rule():
    rules = command.claimed_rules()
    families = _families(rules)
    paths = {p.resolve() for top in command.SOURCES for p in (ROOT / top).rglob("*.py")}
    assert len(paths) > 400
    assert [
        f"{path.relative_to(ROOT)}: {cited}"
        for path in sorted(paths)
        for text in _prose_of(path)
        for cited in _ids_in(text, families)
        if cited not in rules
    ] == []


def test_ids_are_found_in_prose_and_in_ranges():
    families = {"R": False, "WQ": True, "L": False}
    text = "Rules: R1.4-R1.6, WQ-2 (L17). Not P-256, RE2, HTTP/1.1 or v1.29."
    assert list(_ids_in(text, families)) == ["R1.4", "R1.6", "WQ-2", "L17"]
    assert list(_ids_in("a rule L99", families)) == ["L99"]


def test_no_docstring_refers_to_a_text_that_is_not_here():
    """A reader cannot look up sections of documents that are not published."""
    elsewhere = re.compile(
        r"(?:reconcile|runtime)-semantics|kind-catalogue|arm-contract"
    )
    paths = [p for top in command.SOURCES for p in (ROOT / top).rglob("*.py")]
    assert [str(path) for path in paths if elsewhere.search(path.read_text())] == []


def test_proofs_are_read_from_names_decorators_and_their_tables(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("""
CASES = {"L17-zero": 1, "two words": 2, "V1Secret": 3}
OTHER = {"L18-elsewhere": 1}

@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_from_a_table(case): ...

class TestGroup:
    @pytest.mark.parametrize("n", [1, 2], ids=["CT-4-retry", "DQ-1"])
    def test_pq10_in_the_decorator(self, n): ...

def test_wq2_without_parameters(): ...

def helper(): ...
""")
    assert set(command.proofs(tmp_path)) == {
        "tests/test_a.py::test_from_a_table[L17-zero]",
        "tests/test_a.py::test_pq10_in_the_decorator[CT-4-retry]",
        "tests/test_a.py::test_pq10_in_the_decorator[DQ-1]",
        "tests/test_a.py::test_wq2_without_parameters",
    }
