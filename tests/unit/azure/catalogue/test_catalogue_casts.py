"""Fields that two versions have as different types, shown as ASO shows them."""

import pytest

from asoreconcile.azure.catalogue.conversion import (
    KindConversionError,
    as_authored,
    convert,
    stored_name,
)
from asoreconcile.azure.catalogue.payload import to_arm
from asoreconcile.azure.catalogue.validation import problems
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind

REDIS = builtin().kind(GroupKind("cache.azure.com", "Redis"))
SERVER = builtin().kind(GroupKind("dbformysql.azure.com", "FlexibleServer"))
POLICY = builtin().kind(
    GroupKind("sql.azure.com", "ServersDatabasesBackupShortTermRetentionPolicy")
)
ACCOUNT = builtin().kind(GroupKind("documentdb.azure.com", "DatabaseAccount"))
MACHINE = builtin().kind(GroupKind("compute.azure.com", "VirtualMachine"))
BY_NAME = {"group": "network.azure.com", "kind": "VirtualNetworksSubnet", "name": "s"}


def obj(of, version, **parts):
    return {
        "apiVersion": f"{of.group}/{version}",
        "kind": of.group_kind.kind,
        "metadata": {"name": "it", "namespace": "ns"},
        "spec": {},
        **parts,
    }


def redis(version, part="spec", **values):
    return obj(
        REDIS,
        version,
        **{part: {"redisConfiguration": {"additionalProperties": values}}},
    )


def configured(of, part="spec"):
    return of[part]["redisConfiguration"]


@pytest.mark.parametrize("part", ["spec", "status"])
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("true", True),
        ('"quoted"', "quoted"),
        ('{"a":[1,null]}', {"a": [1, None]}),
    ],
)
def test_a_text_is_stored_as_the_json_that_it_is(part, text, value):
    old = redis("v1api20201201", part, key=text)

    stored = convert(REDIS, old, stored_name(REDIS))

    assert configured(stored, part) == {"additionalProperties": {"key": value}}
    assert convert(REDIS, stored, "v1api20201201") == old
    assert configured(convert(REDIS, stored, REDIS.storage), part) == {
        "additionalProperties": {"key": value}
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [("allkeys-lru", "allkeys-lru"), ("{", "{"), ("", ""), (" 1 ", 1)],
)
def test_a_text_that_json_would_not_say_is_kept_as_it_was_written(text, value):
    """ASO cannot store the first three at all."""
    old = redis("v1api20201201", key=text, other="1")

    stored = convert(REDIS, old, stored_name(REDIS))

    values = configured(stored)
    assert values["additionalProperties"] == {"key": value, "other": 1}
    assert [*values["$propertyBag"]] == ["AdditionalPropertiesAsWritten"]
    for version in (*REDIS.versions, "v1api20201201storage"):
        there = convert(REDIS, stored, version)
        assert convert(REDIS, there, "v1api20201201") == old
        assert convert(REDIS, there, stored_name(REDIS)) == stored


def test_what_was_written_first_does_not_overrule_who_edits_it_elsewhere():
    stored = convert(REDIS, redis("v1api20201201", key="lru"), stored_name(REDIS))
    new = convert(REDIS, stored, REDIS.storage)

    configured(new)["additionalProperties"]["key"] = "lfu"

    again = convert(REDIS, convert(REDIS, new, stored_name(REDIS)), "v1api20201201")
    assert configured(again) == {"additionalProperties": {"key": '"lfu"'}}


def test_a_text_that_was_mended_leaves_nothing_behind():
    stored = convert(REDIS, redis("v1api20201201", key="lru"), stored_name(REDIS))
    old = convert(REDIS, stored, "v1api20201201")

    configured(old)["additionalProperties"]["key"] = "7"

    again = convert(REDIS, old, stored_name(REDIS))
    assert configured(again) == {"additionalProperties": {"key": 7}}


IDENTITY = {"clientId": "c", "principalId": "p"}


def identities(version, **values):
    return obj(SERVER, version, status={"identity": {"userAssignedIdentities": values}})


def test_free_form_identities_are_the_same_json_without_a_bag():
    old = identities("v1api20231230", a=IDENTITY, b={})

    stored = convert(SERVER, old, stored_name(SERVER))

    assert stored["status"] == old["status"]
    assert convert(SERVER, stored, "v1api20231230") == old


@pytest.mark.parametrize(
    ("entry", "shown"), [({**IDENTITY, "more": 1}, IDENTITY), ({"clientId": 1}, {})]
)
def test_what_an_identity_has_no_field_for_stands_beside_it(entry, shown):
    old = identities("v1api20231230", a=entry)

    stored = convert(SERVER, old, stored_name(SERVER))

    assert stored["status"]["identity"]["userAssignedIdentities"] == {"a": shown}
    assert convert(SERVER, stored, "v1api20231230") == old


@pytest.mark.parametrize("entry", ["text", 1, [IDENTITY]])
def test_an_identity_of_another_shape_is_carried(entry):
    old = identities("v1api20231230", a=entry)

    stored = convert(SERVER, old, stored_name(SERVER))

    assert "userAssignedIdentities" not in stored["status"]["identity"]
    assert convert(SERVER, stored, "v1api20231230") == old


@pytest.mark.parametrize("part", ["spec", "status"])
@pytest.mark.parametrize(("value", "whole"), [(12, 12), (12.0, 12), (12.5, 12)])
def test_a_number_is_whole_where_only_whole_ones_are_known(part, value, whole):
    new = obj(POLICY, POLICY.storage, **{part: {"diffBackupIntervalInHours": value}})

    old = convert(POLICY, new, "v1api20211101")

    shown = old[part]["diffBackupIntervalInHours"]
    assert (shown, type(shown)) == (whole, int)
    assert convert(POLICY, old, POLICY.storage) == new
    old[part]["diffBackupIntervalInHours"] = 24
    edited = convert(POLICY, old, stored_name(POLICY))
    assert edited[part]["diffBackupIntervalInHours"] == 24
    assert "$propertyBag" not in edited[part]


# Lists of ids, and of references


def account(version, **spec):
    return obj(ACCOUNT, version, spec=spec)


MIXED = [{"armId": "/a"}, BY_NAME, {"armId": "/b"}]


def test_the_ids_among_references_are_shown_where_only_ids_are_known():
    new = account(ACCOUNT.storage, networkAclBypassResourceReferences=MIXED)
    stored = convert(ACCOUNT, new, stored_name(ACCOUNT))

    old = convert(ACCOUNT, stored, "v1api20210515")

    assert old["spec"] == {"networkAclBypassResourceIds": ["/a", "/b"]}
    assert convert(ACCOUNT, old, ACCOUNT.storage) == new


@pytest.mark.parametrize(
    ("ids", "references"),
    [
        (["/c"], [{"armId": "/c"}, BY_NAME]),
        ([], [BY_NAME]),
        (["/a", "/b", "/c"], [*MIXED, {"armId": "/c"}]),
    ],
)
def test_an_edit_of_the_ids_leaves_the_references_in_place(ids, references):
    new = account(ACCOUNT.storage, networkAclBypassResourceReferences=MIXED)
    old = convert(ACCOUNT, new, "v1api20210515")

    old["spec"]["networkAclBypassResourceIds"] = ids

    edited = convert(ACCOUNT, old, ACCOUNT.storage)
    assert edited["spec"]["networkAclBypassResourceReferences"] == references


def test_ids_whose_references_were_removed_are_not_seen_again():
    """The stored form still has them under the old name; ASO does not read it."""
    old = account("v1api20210515", networkAclBypassResourceIds=["/a"])
    new = convert(ACCOUNT, convert(ACCOUNT, old, stored_name(ACCOUNT)), ACCOUNT.storage)

    del new["spec"]["networkAclBypassResourceReferences"]

    stored = convert(ACCOUNT, new, stored_name(ACCOUNT))
    assert convert(ACCOUNT, stored, "v1api20210515")["spec"] == {}


@pytest.mark.parametrize("item", [{}, {"reference": {}}])
def test_an_identity_is_stored_with_its_reference_even_an_empty_one(item):
    given = {"identity": {"userAssignedIdentities": [item, {"reference": BY_NAME}]}}
    written = obj(MACHINE, MACHINE.storage, spec=given)

    stored = convert(MACHINE, written, stored_name(MACHINE))

    assert stored["spec"]["identity"]["userAssignedIdentities"] == [
        {"reference": {}},
        {"reference": BY_NAME},
    ]


# Fields whose type another release has changed in the same version

CLUSTER = builtin().kind(GroupKind("containerservice.azure.com", "ManagedCluster"))
WORKSPACE = builtin().kind(GroupKind("synapse.azure.com", "Workspace"))


@pytest.mark.parametrize("written", ["in the field", "in a bag", "in a bag, as text"])
def test_a_secret_that_stands_in_the_spec_is_hidden_from_the_cluster_and_read(written):
    profile = {
        "in the field": {"serverAppSecret": "hush"},
        "in a bag": {"$propertyBag": {"ServerAppSecret": '"hush"'}},
        "in a bag, as text": {"$propertyBag": {"ServerAppSecret": "hush"}},
    }[written]
    stored = obj(CLUSTER, stored_name(CLUSTER), spec={"aadProfile": profile})

    shown = convert(CLUSTER, stored, "v1api20240901", lenient=True)
    back = convert(CLUSTER, shown, stored_name(CLUSTER), lenient=True)

    assert shown["spec"] == {"aadProfile": {}}
    for one in (stored, back):
        read = as_authored(CLUSTER, one)["spec"]
        assert read == {"aadProfile": {"serverAppSecret": "hush"}}
        body = to_arm(CLUSTER.version(), read, name="it", inputs=Texts())
        assert body["properties"]["aadProfile"]["serverAppSecret"] == "hush"


class Texts:
    """Resolves nothing but a secret that is its own text."""

    def secret(self, reference):
        assert isinstance(reference, str)
        return reference


def test_a_reference_to_a_secret_takes_the_place_of_the_text():
    reference = {"name": "s", "key": "k"}
    stored = obj(
        CLUSTER,
        stored_name(CLUSTER),
        spec={"aadProfile": {"serverAppSecret": "hush"}},
    )
    shown = convert(CLUSTER, stored, CLUSTER.storage, lenient=True)

    shown["spec"]["aadProfile"]["serverAppSecret"] = reference

    back = convert(CLUSTER, shown, stored_name(CLUSTER))
    assert back["spec"]["aadProfile"] == {"serverAppSecret": reference}
    assert "hush" not in str(back)


def test_a_secret_in_a_spec_is_refused_without_being_quoted():
    manifest = obj(
        CLUSTER, CLUSTER.storage, spec={"aadProfile": {"serverAppSecret": "hush"}}
    )
    told = " ".join(map(str, problems(CLUSTER.version(), manifest)))
    assert "serverAppSecret: must be an object, is a text; `asoctl convert`" in told
    assert "hush" not in told


@pytest.mark.parametrize(("text", "value"), [("true", True), ("False", False)])
def test_a_text_is_the_boolean_that_it_says(text, value):
    def spec(given):
        identity = {"useSystemAssignedIdentity": given}
        return {"encryption": {"cmk": {"kekIdentity": identity}}}

    stored = obj(WORKSPACE, stored_name(WORKSPACE), spec=spec(text))

    assert as_authored(WORKSPACE, stored)["spec"] == spec(value)
    with pytest.raises(KindConversionError, match=r"kekIdentity.use.* of another type"):
        as_authored(WORKSPACE, {**stored, "spec": spec({"expression": text})})
