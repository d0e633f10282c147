"""hack/rules: which test proves which rule."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def command():
    loader = SourceFileLoader("rules_command", str(ROOT / "hack" / "rules"))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


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
def test_rules_are_read_from_the_beginning_of_names(command, test, rules):
    assert command.rules_of(test) == rules


def test_each_claim_says_something_short(command):
    rules = command.claimed_rules()
    assert all(10 < len(text) < 100 for text in rules.values())
    assert len({command.plain(rule) for rule in rules}) == len(rules)


def test_citations_are_read_over_the_ends_of_lines(command):
    cited = command.cited_rules()
    assert cited["CA-5"] == "asoreconcile/cache/informer.py"
    assert "DQ-3" in cited
