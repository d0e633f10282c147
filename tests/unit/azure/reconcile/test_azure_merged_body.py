"""The merged body: each row of moving values, and ignored paths of every shape."""

import pytest

from asoreconcile.azure.catalogue.body_shape import body_paths
from asoreconcile.azure.catalogue.ignored_fields import (
    IgnoredFieldError,
    ignored_field,
    ignored_fields,
)
from asoreconcile.azure.catalogue.type_facts import OWN, facts_of, type_facts
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.middleware.declared import TAGS, Declared, name_mark
from asoreconcile.azure.reconcile.model.differences import HIDDEN, differences
from asoreconcile.azure.reconcile.model.drift_baseline import DriftBaseline
from asoreconcile.azure.reconcile.model.foreign_values import places_of, replaced_values
from asoreconcile.azure.reconcile.model.merge_rules import merge_rules
from asoreconcile.azure.reconcile.model.merged_body import MergeRules, merged, value_at
from asoreconcile.base.objects import GroupKind, copy_json

ROWS = {
    f"{type_} {row.inside} {row.moved}": (type_, row)
    for type_, facts in type_facts().items()
    for row in facts.moving
    # These have a form of their own, and tests below.
    if not (row.keeps or row.by_owner)
}


def version_of_type(type_):
    return next(
        kind.version()
        for kind in builtin().kinds()
        if kind.is_arm and kind.version().arm_type.lower() == type_
    )


def version(group, kind):
    return builtin().kind(GroupKind(group, kind)).version()


def put_at(body, path, value):
    *above, leaf = path.split("/")
    for step in above:
        body = body.setdefault(step, {})
    body[leaf] = value


def at(body, path):
    for step in path.split("/"):
        body = body[step]
    return body


def bodies(row, *, is_on, own, theirs):
    """A body and a resource for a row; bounds are 2 and 8."""
    body = {}
    inner = body
    if row.inside:
        inner = {"name": "system"}
        put_at(body, row.inside, [inner])
    put_at(inner, row.moved, own)
    for bound, value in ((row.low, 2), (row.high, 8)):
        if isinstance(bound, str) and bound != OWN:
            put_at(inner, bound, value)
    on = row.on[0] if row.on else at_or(inner, row.switch) or "on"
    outer = body if row.switch.startswith("/") else inner
    if is_on:
        put_at(outer, row.switch.removeprefix("/"), on)
    elif row.on:
        put_at(outer, row.switch.removeprefix("/"), "off")
    else:
        drop(outer, row.switch)
    have = copy_json(body)
    put_at(at(have, row.inside)[0] if row.inside else have, row.moved, theirs)
    return body, have


def at_or(body, path):
    try:
        return at(body, path)
    except (KeyError, TypeError):
        return None


def drop(body, path):
    *above, leaf = path.split("/")
    for step in above:
        body = body.get(step, {})
    body.pop(leaf, None)


def result(row, **case):
    body, have = bodies(row, **case)
    found = merged(body, have, MergeRules(moving=(row,)), Declared())
    sent = at(found.body, row.inside)[0] if row.inside else found.body
    shown = at(found.shown, row.inside)[0] if row.inside else found.shown
    is_left = at_or(shown, row.moved) is None
    return at(sent, row.moved), bool(differences(found.wanted, have)), is_left


@pytest.mark.parametrize("name", ROWS)
def test_ow8_each_row_moves_within_its_bounds_and_only_while_switched_on(name):
    type_, row = ROWS[name]
    paths = body_paths(version_of_type(type_))
    prefix = f"{row.inside}/" if row.inside else ""
    stated = [row.moved, *(b for b in (row.low, row.high) if isinstance(b, str))]
    for path in (f"{prefix}{one}" for one in stated if one != OWN):
        assert path.casefold() in paths
    switch = (
        row.switch.removeprefix("/") if "/" in row.switch[:1] else prefix + row.switch
    )
    assert switch.casefold() in paths
    # Within the bounds: Azure's value is sent, and is no difference.
    assert result(row, is_on=True, own=3, theirs=5) == (5, False, True)
    if row.high is not None:
        assert result(row, is_on=True, own=3, theirs=9)[:2] == (8, True)
    if row.low is not None:
        lowest = 3 if row.low == OWN else 2
        assert result(row, is_on=True, own=3, theirs=1)[:2] == (lowest, True)
    if row.moved != row.high or row.on:
        assert result(row, is_on=False, own=3, theirs=5) == (3, True, False)


def test_ow8_the_value_of_an_autoscale_setting_is_one_of_the_types():
    moved = {t: facts.autoscaled for t, facts in type_facts().items()}
    for type_, path in moved.items():
        assert not path or path.casefold() in body_paths(version_of_type(type_))


def test_ow8_versions_are_upgraded_and_completed_but_not_taken_back():
    (row,) = (
        r for r in facts_of("microsoft.cache/redis").moving if "Version" in r.moved
    )
    for own, theirs, sent in (
        ("6", "7.2", "7.2"),
        ("6", "6.0.14", "6"),
        ("7", "6", "7"),
    ):
        assert result(row, is_on=True, own=own, theirs=theirs)[0] == sent


KEY = "https://v.vault.azure.net/keys/k"
SQL = facts_of("microsoft.sql/servers/encryptionprotector").moving[0]
APPLICATION = facts_of("microsoft.compute/virtualmachines").moving[0]
(KEY_ROW,) = facts_of("microsoft.compute/diskencryptionsets").moving
(REGION_ROW,) = facts_of("microsoft.documentdb/databaseaccounts").moving


def key_set(url, *, rotates=True):
    return {
        "properties": {
            "activeKey": {"keyUrl": url},
            "rotationToLatestKeyVersionEnabled": rotates,
        }
    }


def account(*regions, fails_over=True):
    return {
        "properties": {
            "enableAutomaticFailover": fails_over,
            "locations": [
                {"locationName": name, "failoverPriority": at}
                for at, name in enumerate(regions)
            ],
        }
    }


def sql_key(name):
    return {"properties": {"serverKeyName": name, "autoRotationEnabled": True}}


def machine(version):
    app = {
        "packageReferenceId": f"/subscriptions/s/applications/a/versions/{version}",
        "enableAutomaticUpgrade": True,
    }
    return {"properties": {"applicationProfile": {"galleryApplications": [app]}}}


def after_move(row, want, have, *, before=None):
    """Return the body, and whether the resource differs, if the last accepted PUT
    declared `before`."""
    last = Declared()
    last.declare_value(
        row.place, value_at(want if before is None else before, row.place)
    )
    declared = Declared(frozenset(last.now))
    found = merged(want, have, MergeRules(moving=(row,)), declared)
    return found.body, bool(differences(found.wanted, have))


MOVED = [
    pytest.param(KEY_ROW, key_set(f"{KEY}/1"), key_set(f"{KEY}/2"), id="key"),
    pytest.param(SQL, sql_key(f"v_k_{'1' * 32}"), sql_key(f"v_k_{'a' * 32}"), id="SQL"),
    pytest.param(APPLICATION, machine("1.0.0"), machine("1.1.0"), id="application"),
    pytest.param(
        REGION_ROW, account("westeurope", "eastus"), account("East US", "West Europe"),
        id="regions",
    ),
    pytest.param(
        REGION_ROW, account("a", "b", "c"), account("c", "a", "b"), id="three regions"
    ),
]  # fmt: skip


@pytest.mark.parametrize(("row", "want", "have"), MOVED)
def test_ow8_a_value_that_azure_moves_by_a_switch_is_no_drift(row, want, have):
    body, differs = after_move(row, want, have)
    assert not differs
    assert not differences(body, have)
    # Also if no record says what was declared: a fail-over is not taken back in doubt.
    found = merged(want, have, MergeRules(moving=(row,)), Declared())
    assert not differences(found.wanted, have)


@pytest.mark.parametrize(("row", "want", "have"), MOVED)
def test_ow8_another_declared_value_is_sent_although_azure_may_move_it(row, want, have):
    body, differs = after_move(row, want, have, before=have)
    assert differs
    assert body == want


@pytest.mark.parametrize(
    ("row", "want", "have"),
    [
        (KEY_ROW, key_set(f"{KEY}/1", rotates=False), key_set(f"{KEY}/2", rotates=False)),
        (KEY_ROW, key_set(f"{KEY}/1"), key_set(f"{KEY}2/1")),
        (SQL, sql_key(f"v_k_{'1' * 32}"), sql_key(f"w_k_{'1' * 32}")),
        (KEY_ROW, key_set(f"{KEY}/1"), key_set("https://w.vault.azure.net/keys/k/1")),
        (REGION_ROW, account("a", "b", fails_over=False), account("b", "a", fails_over=False)),
        (REGION_ROW, account("a", "b"), account("a", "c")),
        (REGION_ROW, account("a", "b"), account("b", "a", "c")),
    ],
)  # fmt: skip
def test_ow8_what_is_not_the_same_key_or_set_is_drift(row, want, have):
    assert after_move(row, want, have) == (want, True)


def test_ow8_a_key_without_a_version_is_the_one_that_azure_has():
    body, differs = after_move(KEY_ROW, key_set(KEY), key_set(f"{KEY}/2"))
    assert (body, differs) == (key_set(f"{KEY}/2"), False)


@pytest.mark.parametrize(
    ("channel", "theirs", "sent"),
    [
        ("patch", "1.31.4", "1.31.4"),
        ("stable", "1.29.0", "1.30.1"),
        ("node-image", "1.31.4", "1.30.1"),
        (None, "1.31.4", "1.30.1"),
        ("no object", "1.31.4", "1.31.4"),
    ],
)
def test_ow8_a_pool_follows_the_channel_of_its_cluster(channel, theirs, sent):
    pool = version("containerservice.azure.com", "ManagedClustersAgentPool")
    cluster = {"spec": {"autoUpgradeProfile": {"upgradeChannel": channel}}}
    owner = None if channel == "no object" else cluster
    rules = merge_rules(pool, {}, {}, owner_of=lambda: owner)
    want = {"properties": {"orchestratorVersion": "1.30.1"}}
    have = {"properties": {"orchestratorVersion": theirs}}
    body = merged(want, have, rules, Declared()).body
    assert body["properties"]["orchestratorVersion"] == sent


CLUSTER = version("containerservice.azure.com", "ManagedCluster")
VAULT = version("keyvault.azure.com", "Vault")
SCALE_SET = version("compute.azure.com", "VirtualMachineScaleSet")
NETWORKS = "spec.virtualMachineProfile.networkProfile.networkInterfaceConfigurations"


def network_of(*configurations):
    inner = {"name": "n", "properties": {"ipConfigurations": [*configurations]}}
    profile = {"networkProfile": {"networkInterfaceConfigurations": [inner]}}
    return {"properties": {"virtualMachineProfile": profile}}


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("spec.agentPoolProfile[*].count", "spec.agentPoolProfiles"),
        ("spec.agentPoolProfiles[nam=a].count", "spec.agentPoolProfiles[*].name"),
        ("spec.agentPoolProfiles.count", "spec.agentPoolProfiles[*].count"),
        ("spec.agentPoolProfiles[*].cuont", "spec.agentPoolProfiles[*].count"),
        ("spec.networkProfile.dnsServiceIp", "spec.networkProfile.dnsServiceIP"),
        ("tags.a", "write spec.<field>"),
        ("spec", "write spec.<field>"),
        ("spec.tags[", "at '['"),
        ("spec.tags.a.b", "spec.tags.a has no members"),
        ("spec.tags[a=b]", 'write spec.tags["a"]'),
        ("spec.agentPoolProfiles[*].nodeLabels[a=b]", 'nodeLabels["a"]'),
        ("spec.agentPoolProfiles[0].count", "write [*] for all"),
        ("spec.agentPoolProfiles[].count", "write [*] for all"),
        ("spec.owner", "spec.owner is no value of the resource"),
    ],
)
def test_ow2_an_unknown_path_is_refused_with_the_nearest_right_one(path, near):
    with pytest.raises(IgnoredFieldError) as caught:
        ignored_fields(CLUSTER, path)
    assert near in str(caught.value)
    assert ignored_fields(CLUSTER, "", (path, "spec.tags.a"))[-1].text == "spec.tags.a"


@pytest.mark.parametrize(
    ("kind", "paths", "body", "have", "sent"),
    [
        (
            CLUSTER,
            "spec.agentPoolProfiles[name=system].count",
            {
                "properties": {
                    "agentPoolProfiles": [
                        {"name": "system", "count": 3},
                        {"name": "user", "count": 3},
                    ]
                }
            },
            {
                "properties": {
                    "agentPoolProfiles": [
                        {"name": "user", "count": 9},
                        {"name": "system", "count": 9},
                    ]
                }
            },
            {
                "properties": {
                    "agentPoolProfiles": [
                        {"name": "system", "count": 9},
                        {"name": "user", "count": 3},
                    ]
                }
            },
        ),
        (
            CLUSTER,
            "- spec.tags[*]\n- spec.agentPoolProfiles[*].nodeLabels",
            {"tags": {"a": "1"}, "properties": {"agentPoolProfiles": [{"name": "s"}]}},
            {
                "tags": {"a": "2", "b": "3"},
                "properties": {
                    "agentPoolProfiles": [{"name": "s", "nodeLabels": {"x": "y"}}]
                },
            },
            {
                "tags": {"a": "2", "b": "3"},
                "properties": {
                    "agentPoolProfiles": [{"name": "s", "nodeLabels": {"x": "y"}}]
                },
            },
        ),
        (
            CLUSTER,
            """spec.tags["a.b"], spec.tags.C, spec.tags['e/f,g']""",
            {"tags": {"a.b": "1", "d": "1", "e/f,g": "1"}},
            {"tags": {"a.b": "2", "c": "2", "d": "2", "e/f,g": "2"}},
            {"tags": {"a.b": "2", "c": "2", "d": "1", "e/f,g": "2"}},
        ),
        (
            # An element of a list in an element of a list, whatever their order.
            SCALE_SET,
            f"[{NETWORKS}[*].ipConfigurations[name=j].primary, spec.tags.a]",
            network_of({"name": "i"}, {"name": "j", "properties": {"primary": True}}),
            network_of({"name": "j", "properties": {"primary": False}}, {"name": "i"}),
            network_of({"name": "i"}, {"name": "j", "properties": {"primary": False}}),
        ),
        (
            # The whole sub-tree, without what only Azure writes, and with the secret
            # of the spec.
            CLUSTER,
            "spec.windowsProfile",
            {
                "properties": {
                    "windowsProfile": {"adminUsername": "a", "adminPassword": HIDDEN}
                }
            },
            {
                "properties": {
                    "windowsProfile": {
                        "adminUsername": "b",
                        "madeUp": 1,
                        "licenseType": "None",
                    }
                }
            },
            {
                "properties": {
                    "windowsProfile": {
                        "adminUsername": "b",
                        "licenseType": "None",
                        "adminPassword": HIDDEN,
                    }
                }
            },
        ),
        (
            VAULT,
            "spec.properties.accessPolicies[objectId=b]",
            {"properties": {"accessPolicies": [{"objectId": "a", "tenantId": "1"}]}},
            {
                "properties": {
                    "accessPolicies": [
                        {"objectId": "b", "tenantId": "2"},
                        {"objectId": "c"},
                    ]
                }
            },
            {
                "properties": {
                    "accessPolicies": [
                        {"objectId": "a", "tenantId": "1"},
                        {"objectId": "b", "tenantId": "2"},
                    ]
                }
            },
        ),
    ],
    ids=["element", "yaml list", "keys", "lists", "sub-tree", "foreign element"],
)
def test_ow2_an_ignored_place_is_sent_as_azure_has_it(kind, paths, body, have, sent):
    before = copy_json(body), copy_json(have)
    rules = MergeRules(ignored=ignored_fields(kind, paths))
    found = merged(body, have, rules, Declared())
    assert found.body == sent
    assert (body, have) == before
    # The first PUT sends the spec's values.
    assert merged(body, None, rules, Declared()).body is body


def test_ow2_a_secret_is_never_the_resources():
    inside = ignored_field(CLUSTER, "spec.windowsProfile").inside
    assert inside["adminpassword"] is None


def test_without_a_rule_and_without_foreign_tags_the_body_is_the_same_object():
    body = {"tags": {"a": "1"}, "properties": {"x": 1}}
    have = {"tags": {"A": "2", "old": "3"}, "properties": {"x": 2, "y": 3}}
    declared = Declared(before=frozenset({name_mark(TAGS, "old")}))
    found = merged(body, have, MergeRules(keeps_tags=True), declared)
    assert found.body is body
    assert found.shown is have


BEFORE = {
    "properties": {
        "policies": [{"objectId": "a", "rights": ["get"]}],
        "ips": [{"value": "1.1.1.1", "action": "Allow"}],
        "zones": ["1"],
        "tls": "1.2",
    }
}


@pytest.mark.parametrize(
    ("change", "paths"),
    [
        (
            {"policies": [{"objectId": "a"}, {"objectId": "b"}]},
            ["properties/policies[b]"],
        ),
        ({"ips": [{"value": "2.2.2.2", "action": "Allow"}]}, ["properties/ips[0]"]),
        ({"zones": ["1", "2"]}, ["properties/zones"]),
        ({"tls": "1.0"}, []),
        ({"public": "on"}, ["properties/public"]),
    ],
    ids=["named element", "element without a name", "text", "declared", "new"],
)
@pytest.mark.parametrize("was_declared", [True, False])
def test_ow9_only_what_the_last_put_did_not_declare_is_foreign(
    change, paths, was_declared
):
    have = copy_json(BEFORE)
    have["properties"].update(change)
    now = {"properties": {"policies": [], "ips": [], "zones": [], "tls": "1.3"}}
    now["properties"]["public"] = "off"
    found = differences(now, have)
    declared = places_of(have if was_declared else BEFORE)
    record = DriftBaseline("before", places=declared)
    replaced = replaced_values(found, record, "now")
    assert sorted(replaced.paths) == ([] if was_declared else sorted(paths))


def test_ow9_a_long_list_is_not_recorded_by_element():
    body = {"list": [str(number) for number in range(500)]}
    assert len(places_of(body)) < 20
