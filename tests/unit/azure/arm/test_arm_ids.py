"""ARM ids of every scope."""

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asoreconcile.azure.arm.ids import (
    ArmIdError,
    is_resource_group,
    key,
    parse,
    parse_stated,
    same,
    segment_problem,
    subscription_of,
    url_path,
)

NET = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network"
VAULT = "/providers/Microsoft.Management/managementGroups/m"

SCOPES = {
    "I1-subscription": ("/subscriptions/s", "Microsoft.Resources/subscriptions", "s", ""),
    "I1-resource-group": ("/subscriptions/s/resourceGroups/g",
                          "Microsoft.Resources/resourceGroups", "g", "/subscriptions/s"),
    "I1-top-level": (f"{NET}/virtualNetworks/v", "Microsoft.Network/virtualNetworks", "v",
                     "/subscriptions/s/resourceGroups/g"),
    "I1-nested": (f"{NET}/virtualNetworks/v/subnets/n",
                  "Microsoft.Network/virtualNetworks/subnets", "n",
                  "/subscriptions/s/resourceGroups/g"),
    "I4-subscription": ("/subscriptions/s/providers/Microsoft.Network/locations/westus",
                        "Microsoft.Network/locations", "westus", "/subscriptions/s"),
    "I4-tenant": ("/providers/Microsoft.Subscription/aliases/a",
                  "Microsoft.Subscription/aliases", "a", ""),
    "I1-management-group": (VAULT, "Microsoft.Management/managementGroups", "m", ""),
    "I4-under-management-group": (f"{VAULT}/providers/Microsoft.Authorization/roleAssignments/r",
                                  "Microsoft.Authorization/roleAssignments", "r", VAULT),
    "I4-extension": (f"{NET}/virtualNetworks/v/providers/Microsoft.Authorization/roleAssignments/r",
                     "Microsoft.Authorization/roleAssignments", "r",
                     f"{NET}/virtualNetworks/v"),
    "I1-provider": ("/subscriptions/s/providers/Microsoft.Network",
                    "Microsoft.Resources/providers", "Microsoft.Network", "/subscriptions/s"),
    "I1-monitor": ("/subscriptions/s/providers/Microsoft.Network/locations/westus/operations/o",
                   "Microsoft.Network/locations/operations", "o", "/subscriptions/s"),
    "I1-list": (f"{NET}/virtualNetworks", "Microsoft.Network/virtualNetworks", "",
                "/subscriptions/s/resourceGroups/g"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "type_", "name", "scope"), SCOPES.values(), ids=SCOPES
)
def test_i1_every_scope_is_parsed(text, type_, name, scope):
    found = parse(text)
    assert (found.text, found.type) == (text, type_)
    assert (found.name, found.scope) == (name, scope)
    if len(found.types) == 1:
        assert str(found.parent or "") == scope


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "x",
        "subscriptions/s",
        "/subscriptions",
        "/resourceGroups/g",
        "/subscriptions/s/resourceGroups",
        "/subscriptions/s/providers",
        "/subscriptions/s/resourceGroups/g/things",
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network",
    ],
)
def test_what_is_no_arm_id_is_refused(text):
    with pytest.raises(ArmIdError):
        parse(text)


def test_i1_parts_of_a_nested_id():
    found = parse(f"{NET}/virtualNetworks/v/subnets/n")
    assert (found.subscription_id, found.resource_group) == ("s", "g")
    assert (found.types, found.names) == (("virtualNetworks", "subnets"), ("v", "n"))


def test_i1_parents_lead_to_the_tenant():
    found = parse(
        f"{NET}/virtualNetworks/v/subnets/n/providers/Microsoft.Insights/settings/d"
    )
    chain = []
    while found is not None:
        chain.append(found.type)
        found = found.parent
    assert chain == [
        "Microsoft.Insights/settings",
        "Microsoft.Network/virtualNetworks/subnets",
        "Microsoft.Network/virtualNetworks",
        "Microsoft.Resources/resourceGroups",
        "Microsoft.Resources/subscriptions",
    ]


def test_ids_are_built_from_their_parents():
    group = parse("/subscriptions/s/resourceGroups/g")
    vnet = group.extension("Microsoft.Network", "virtualNetworks", "v")
    assert vnet.child("subnets", "n").text == f"{NET}/virtualNetworks/v/subnets/n"
    assert is_resource_group(group)
    assert not is_resource_group(vnet)


def test_i2_ids_compare_without_case_and_keep_it():
    upper = parse("/SUBSCRIPTIONS/S/resourcegroups/G")
    lower = parse("/subscriptions/s/resourceGroups/g/")
    assert upper == lower
    assert hash(upper) == hash(lower)
    assert upper.text == "/SUBSCRIPTIONS/S/resourcegroups/G"
    assert upper.resource_group == "G"
    assert same("/subscriptions/S//x/", "/SUBSCRIPTIONS/s/X")
    assert not same("/subscriptions/s/x", "/subscriptions/s/y")


def test_i1_a_name_may_be_called_providers():
    found = parse("/subscriptions/s/resourceGroups/providers/providers/A.B/t/providers")
    assert (found.resource_group, found.type) == ("providers", "A.B/t")
    assert found.name == "providers"


def test_subscription_of_any_path():
    assert subscription_of("/subscriptions/s/x/y") == "s"
    assert subscription_of("/providers/a/b") is None
    assert subscription_of("") is None


@pytest.mark.parametrize(
    ("text", "path"),
    [
        pytest.param("/a/b c", "/a/b%20c", id="I3-space"),
        pytest.param("/a/100%", "/a/100%25", id="I3-percent"),
        pytest.param("/a/%41", "/a/%2541", id="I3-once"),
        pytest.param("/a/k:v@x", "/a/k:v@x", id="I3-colon"),
        pytest.param("/a/b?c#d", "/a/b%3Fc%23d", id="I3-query"),
        pytest.param("/a/é", "/a/%C3%A9", id="I3-unicode"),
        pytest.param("/a/../b/./c", "/a/%2E%2E/b/%2E/c", id="I3-dots"),
        pytest.param("/a/b\r\nX: y", "/a/b%0D%0AX:%20y", id="I3-no-header-injection"),
        pytest.param("//a///b/", "/a/b", id="I3-empty-segments"),
    ],
)
def test_i3_segments_are_encoded_once(text, path):
    assert url_path(text) == path


SEGMENT = st.text(min_size=1, max_size=12).filter(lambda text: "/" not in text)


@given(SEGMENT, SEGMENT, st.lists(st.tuples(SEGMENT, SEGMENT), min_size=1, max_size=4))
def test_any_names_come_back_from_the_parser(subscription, group, pairs):
    path = "/".join(f"t{i}/{name}" for i, (_, name) in enumerate(pairs))
    text = f"/subscriptions/{subscription}/resourceGroups/{group}/providers/A.B/{path}"
    found = parse(text)
    assert found.text == text
    assert found.names == tuple(name for _, name in pairs)
    assert (found.subscription_id, found.resource_group) == (subscription, group)
    assert parse(str(found)) == found


@given(st.lists(SEGMENT, min_size=1, max_size=5))
def test_i3_an_encoded_path_decodes_to_the_id(segments):
    text = "/" + "/".join(segments)
    assert unquote(url_path(text)) == text
    assert url_path(text).isascii()


@given(st.text(max_size=60))
def test_parsing_any_text_gives_an_id_or_an_id_error(text):
    try:
        found = parse("/subscriptions/" + text)
    except ArmIdError:
        return
    assert key(found.text) == key("/subscriptions/" + text)
    assert len(found.types) == len(found.names) > 0


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("a", ""),
        ("a..b", ""),
        ("...", ""),
        ("é $(x)", ""),
        ("", "is empty"),
        (".", "is '.'"),
        ("..", "is '..'"),
        ("a/b", "holds a slash"),
        ("/a", "holds a slash"),
        ("a\\b", "holds a slash"),
        ("a\r\nb", "holds a control character"),
        ("a\x7f", "holds a control character"),
        ("a\u200b", "holds a control character"),
        ("\ud800", "holds a control character"),
    ],
)
def test_a_segment_leads_nowhere_else(name, problem):
    assert segment_problem(name) == problem


@pytest.mark.parametrize("odd", ["..", ".", "a\nb", "a\\b"])
def test_an_id_that_somebody_states_holds_no_odd_segment(odd):
    with pytest.raises(ArmIdError, match="a part of this ARM id"):
        parse_stated(f"{NET}/virtualNetworks/{odd}/subnets/s")
    assert parse_stated(f"{NET}/virtualNetworks/v") == parse(f"{NET}/virtualNetworks/v")
