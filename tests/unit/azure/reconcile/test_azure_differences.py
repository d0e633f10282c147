"""What counts as a difference between a body to PUT and a body from a GET."""

import random
import re
from pathlib import Path

import pytest

from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.model import normalization
from asoreconcile.azure.reconcile.model.differences import (
    HIDDEN,
    differences,
    hidden_values,
)
from asoreconcile.azure.reconcile.model.distinctions import (
    EXACT,
    ORDERED,
    Distinctions,
    distinctions_of,
)
from asoreconcile.azure.reconcile.model.drift_baseline import (
    DriftBaseline,
    fingerprint,
    loads,
    marks,
)
from asoreconcile.azure.reconcile.model.normalization import is_empty, is_same
from asoreconcile.base import jsontext
from asoreconcile.base.objects import GroupKind

ROOT = Path(__file__).parents[4]


def found(want, have, **options):
    return [(one.path, one.kind) for one in differences(want, have, **options)]


@pytest.mark.parametrize(
    ("want", "have"),
    [
        ("westus2", "West US 2"),
        ("/subscriptions/s/resourceGroups/G", "/subscriptions/s/resourcegroups/g"),
        ("/providers/P/t/n", "/subscriptions/s/providers/P/t/n"),
        ("utf8", "UTF8"),
        (10, 10.0),
        ("5", 5),
        ("true", True),
        ("PT1H", "PT60M"),
        ("PT1H", "01:00:00"),
        ("P1DT12H", "1.12:00:00"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123+00:00"),
        ("<a>\n  <b/>\n</a>", "<a><b/></a>"),
        ("example.com.", "example.com"),
        ("10.0.0.1/32", "10.0.0.1"),
        ('{"a": [1, 2]}', '{"a":[1,2]}'),
    ],
)
def test_same_in_another_spelling(want, have):
    assert is_same(want, have)
    assert is_same(have, want) or want.startswith("/providers")


@pytest.mark.parametrize(
    ("want", "have"),
    [
        ("a", "b"),
        (1, 2),
        (True, False),
        (1, True),
        ("PT1H", "PT2H"),
        ("PT1H", "one hour"),
        ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
        ("/providers/P/t/n", "/providers/P/t/m"),
        ("10.0.0.0/24", "10.0.0.0"),
        ('{"a":1}', '{"a":2}'),
        ("utf8", "utf8mb3"),
    ],
)
def test_not_the_same(want, have):
    assert not is_same(want, have)
    assert not is_same(have, want)


@pytest.mark.parametrize("value", [None, "", 0, False, [], {}, {"a": {"b": []}}])
def test_what_is_empty_may_be_absent(value):
    assert is_empty(value)
    assert found({"properties": {"a": value}}, {"properties": {}}) == []
    assert found({"properties": {"a": value}}, {"properties": {"a": None}}) == []


@pytest.mark.parametrize(
    ("want", "have", "expected"),
    [
        # Neither additions of Azure nor the envelope are compared.
        ({"properties": {"a": 1}},
         {"properties": {"a": 1, "b": 2}, "systemData": {}, "sku": {"name": "x"}}, []),
        ({"id": "/a", "name": "parent/child", "type": "T", "location": "here"},
         {"name": "child"}, []),
        # Names of members are matched without case.
        ({"properties": {"networkACLs": {"defaultAction": "Deny"}}},
         {"properties": {"networkAcls": {"defaultAction": "Deny"}}}, []),
        # Leaves of an absent member are judged one by one.
        ({"properties": {"a": {"b": 1, "c": None, "d": {"e": "x", "f": []}}}},
         {"properties": {}}, [("properties/a/b", "absent"), ("properties/a/d/e", "absent")]),
        # Values and shapes
        ({"properties": {"a": 1, "b": [1], "c": {"d": 1}, "e": None}},
         {"properties": {"a": 2, "b": "1", "c": [], "e": 5}},
         [("properties/a", "value"), ("properties/b", "shape"), ("properties/c", "shape")]),
        # Tags and identities are compared both ways; Azure keeps a tag's spelling.
        ({"tags": {"a": "1", "b": "2", "d": ""}}, {"tags": {"A": "1", "c": "3"}},
         [("tags/a", "value"), ("tags/b", "absent"), ("tags/c", "map-extra"), ("tags/d", "absent")]),
        ({"identity": {"userAssignedIdentities": {"/x/ID": {}, "/x/gone": {}}}},
         {"identity": {"userAssignedIdentities": {"/x/id": {"clientId": "1"}}}},
         [("identity/userAssignedIdentities//x/gone", "absent")]),
        # Lists of scalars have no order.
        ({"zones": ["1", "2"]}, {"zones": ["2", "1"]}, []),
        ({"zones": ["1", "1"]}, {"zones": ["1", "2"]},
         [("zones", "list-extra"), ("zones", "list-missing")]),
        # Elements are paired by their identity, else by likeness; many by position.
        ({"rules": [{"name": "a", "port": 1}, {"name": "b", "port": 2}]},
         {"rules": [{"name": "B", "port": 3, "state": "on"}, {"name": "c", "port": 4}]},
         [("rules[a]", "list-missing"), ("rules[b]/port", "value"), ("rules[c]", "list-extra")]),
        ({"rules": [{"from": 1, "to": 2}, {"from": 3, "to": 4}]},
         {"rules": [{"from": 3, "to": 4}, {"from": 1, "to": 5}]}, [("rules[0]/to", "value")]),
        ({"rules": [{"a": n} for n in range(60)]},
         {"rules": [{"a": n} for n in (*range(59), 99)]}, [("rules[59]/a", "value")]),
    ],
)  # fmt: skip
def test_what_differs_and_how(want, have, expected):
    assert sorted(found(want, have)) == expected


@pytest.mark.parametrize("have", ["red Team", "RedTeam", "Red  Team"])
def test_tags_are_told_apart_to_the_letter(have):
    want = {"tags": {"team": "Red Team"}}
    assert found(want, {"tags": {"team": have}}) == [("tags/team", "value")]
    assert found(want, {"tags": {"team": "Red Team"}}) == []


APART = Distinctions(
    exact=frozenset({"properties/rules/query", "properties/args"}),
    ordered=frozenset({"properties/args", "properties/dns"}),
)


@pytest.mark.parametrize(
    ("want", "have", "expected"),
    [
        ({"rules": [{"name": "a", "query": "A | x"}]}, None, []),
        ({"rules": [{"name": "a", "query": "A | x"}]},
         {"rules": [{"name": "a", "query": "a |x"}]}, [("properties/rules[a]/query", "value")]),
        ({"dns": ["1.1.1.1", "8.8.8.8"]}, None, []),
        ({"dns": ["1.1.1.1", "8.8.8.8"]}, {"dns": ["8.8.8.8", "1.1.1.1"]},
         [("properties/dns", "value")]),
        ({"dns": ["1.1.1.1"]}, {"dns": ["8.8.8.8"]},
         [("properties/dns", "list-missing"), ("properties/dns", "list-extra")]),
        # Not the same texts in another order.
        ({"args": ["a", "B"]}, {"args": ["a", "b"]},
         [("properties/args", "list-missing"), ("properties/args", "list-extra")]),
        ({"other": ["a", "b"]}, {"other": ["B", "a"]}, []),
    ],
)  # fmt: skip
def test_what_a_type_tells_apart(want, have, expected):
    have = want if have is None else have
    one, other = {"properties": want}, {"properties": have}
    assert found(one, other, apart=APART) == expected


def test_the_page_for_users_names_every_field_that_is_distinctions_of():
    page = (ROOT / "deploy" / "docs" / "drift.md").read_text().lower()
    for end in (*EXACT, *ORDERED):
        assert f"`{end.replace('/', '.')}`" in page


def test_k4_the_page_for_users_has_an_equal_pair_for_each_rule_of_spelling(monkeypatch):
    page = (ROOT / "deploy" / "docs" / "drift.md").read_text()
    table = page.partition("| Equal in every")[2].partition("\n\n")[0]
    found = re.findall(r"`([^`]+)` and `([^`]+)`", table)
    pairs = [(scalar(one), scalar(other)) for one, other in found]
    assert [pair for pair in pairs if not is_same(*pair)] == []
    texts = [text for pair in found for text in pair]
    for mark in (" ", "/32", "/", ".", "/providers/"):
        assert any(mark in text for text in texts), mark
    # Without one of these rules a pair of the page is no longer equal.
    for rule in ("_duration", "_instant", "_document"):
        with monkeypatch.context() as patched:
            patched.setattr(normalization, rule, lambda _text: None)
            assert not all(is_same(*pair) for pair in pairs), rule


def scalar(text):
    """A number, a switch or a quoted text as such; any other text unchanged."""
    is_scalar = text.startswith('"') or text in {"5", "true"}
    return jsontext.loads(text) if is_scalar else text


def test_what_is_told_apart_is_there_in_the_bodies_of_some_type():
    """A misspelt name would forgive everything in silence."""
    versions = [kind.version() for kind in builtin().kinds() if kind.is_arm]
    apart = [distinctions_of(version) for version in versions]
    for ends, paths in (
        (EXACT, {path for one in apart for path in one.exact}),
        (ORDERED, {path for one in apart for path in one.ordered}),
    ):
        for end in ends:
            assert any(path.endswith(f"/{end}") for path in paths), end


def test_the_dns_servers_of_a_network_have_an_order():
    network = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork")).version()
    assert distinctions_of(network).ordered == {"properties/dhcpoptions/dnsservers"}


def test_children_that_are_resources_of_their_own_may_have_company():
    want = {"properties": {"subnets": [{"name": "a", "properties": {"x": 1}}]}}
    have = {
        "properties": {
            "subnets": [{"name": "a", "properties": {"x": 2}}, {"name": "b"}]
        }
    }
    subnets = frozenset({"subnets"})
    assert found(want, have, children=subnets) == [
        ("properties/subnets[a]/properties/x", "value")
    ]
    assert ("properties/subnets[b]", "list-extra") in found(want, have)


def test_what_is_hidden_is_not_compared():
    want = {"properties": {"password": HIDDEN, "keys": [HIDDEN], "in": {"a": HIDDEN}}}
    assert found(want, {"properties": {}}) == [("properties/keys", "absent")]
    have = {"properties": {"password": "", "keys": ["x"], "in": {"a": None}}}
    assert found(want, have) == []


def test_nothing_is_changed_and_order_does_not_matter():
    rng = random.Random(1)
    body = {
        "properties": {
            "rules": [{"name": str(n), "values": [n, n + 1]} for n in range(9)],
            "tags": {"a": "b"},
        }
    }
    text = str(body)
    shuffled = {
        "properties": {
            "tags": {"a": "b"},
            "rules": rng.sample(body["properties"]["rules"], 9),
        }
    }
    assert differences(body, body) == []
    assert differences(body, shuffled) == []
    assert str(body) == text


def test_marks_tell_differences_apart_and_hold_no_value():
    one, other = (
        differences({"properties": {"a": value}}, {"properties": {"a": "Azure's"}})
        for value in ("ours", "others")
    )
    assert marks(one) == marks(list(one))
    assert marks(one).isdisjoint(marks(other))
    assert all(len(mark) == 12 for mark in marks(one))
    assert "ours" not in repr(one)


def test_the_place_of_an_element_without_identity_does_not_mark_it():
    element = {"from": 1}
    have = {"rules": [{"from": 8}, {"from": 9}]}
    at_first = differences({"rules": [element, {"from": 8}]}, have)
    at_second = differences({"rules": [{"from": 8}, element]}, have)
    assert marks(at_first) == marks(at_second)


def test_the_note_survives_and_nonsense_counts_as_lost():
    note = DriftBaseline("f" * 32, frozenset({"b" * 12, "a" * 12}))
    assert loads(note.dumps()) == note
    assert len(note.dumps()) < 100
    for text in ("", "x", "[]", "{}", '{"put":1}'):
        assert loads(text) is None
    assert loads('{"put":"x","known":7,"v":3}') == DriftBaseline("x")


def test_a_record_of_an_older_making_is_no_record():
    assert loads('{"put":"x","known":[],"v":2}') is None
    assert loads('{"put":"x","known":[]}') is None


def test_the_fingerprint_is_of_all_that_is_sent():
    base = ("/id", "2026-01-01", {"a": 1, "b": 2}, "secrets", ("t", "c", "s"))
    same = (*base[:2], {"b": 2, "a": 1}, *base[3:])
    assert fingerprint(*base) == fingerprint(*same)
    others = [
        ("/other", *base[1:]),
        (base[0], "2025-01-01", *base[2:]),
        (*base[:2], {"a": 1}, *base[3:]),
        (*base[:3], "others", base[4]),
        (*base[:4], ("t", "another", "s")),
    ]
    assert len({fingerprint(*one) for one in (base, *others)}) == 6


def test_each_hidden_value_is_a_difference_of_its_own():
    body = {"a": HIDDEN, "b": [{"c": HIDDEN}, "seen"], "d": {"e": 1}}
    found = [(one.path, one.kind) for one in hidden_values(body)]
    assert found == [("a", "absent"), ("b[0]/c", "absent")]


def in_lists(levels, leaf):
    for _ in range(levels):
        leaf = {"q": [leaf]}
    return {"properties": leaf}


def test_lists_within_lists_are_compared_in_one_go(monkeypatch):
    """Looking for the likest of each list anew at each level would never end."""
    compared = []

    def counted(want, have):
        compared.append(1)
        return is_same(want, have)

    monkeypatch.setattr(
        "asoreconcile.azure.reconcile.model.differences.is_same", counted
    )
    found = differences(in_lists(45, {"z": 1}), in_lists(45, {"z": 2}))
    assert [(one.kind, one.want, one.have) for one in found] == [("value", 1, 2)]
    assert len(compared) < 200


@pytest.mark.parametrize("levels", [90, 300, 2000])
def test_what_is_nested_deep_differs_by_what_it_says_not_by_where_it_stands(levels):
    def wanted(leaf):
        text = '{"properties":{"x":' + '{"a":' * levels + leaf + "}" * levels + "}}"
        return jsontext.loads(text)

    def shown(leaf):
        text = '{"a":[' + jsontext.dumps(wanted(leaf)).decode() + "]}"
        return jsontext.loads(text)["a"][0]

    assert list(differences(wanted("1"), shown("1"))) == []
    assert len(list(differences(wanted("1"), shown("2")))) == 1


def test_lists_of_lists_nested_deep_are_distinctions_of():
    def body(leaf):
        return jsontext.loads('{"p":' + "[" * 300 + leaf + "]" * 300 + "}")

    assert list(differences(body("1"), body("1"))) == []
    assert list(differences(body("1"), body("2")))
