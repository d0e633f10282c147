"""What may change of a resource, what is filled in, and what single kinds want."""

import uuid

import pytest

from asoreconcile.azure.catalogue.changes import change_problems
from asoreconcile.azure.catalogue.defaults import with_defaults
from asoreconcile.azure.catalogue.validation import problems, rule_problems
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind

RG_ID = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/myrg"


def version(name, of=""):
    return builtin().kind(GroupKind(*name.split("/"))).version(of)


VNET = version("network.azure.com/VirtualNetwork")
MYSQL_USER = version("dbformysql.azure.com/User")
DOMAIN = version("communication.azure.com/Domain")
SENDER = version("communication.azure.com/SenderUsername")
ASSIGNMENT = version("authorization.azure.com/RoleAssignment", "v20220401")


def obj(spec, name="it"):
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}


def refused(kind, old, new, *, claimed=True, name=""):
    found = change_problems(kind, obj(old), obj(new), claimed=claimed, name=name)
    return [problem.path for problem in found]


# Name and owner


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ({"azureName": "a"}, {"azureName": "a"}, []),
        ({}, {"azureName": "a"}, []),
        ({"azureName": ""}, {"azureName": "a"}, []),
        ({"azureName": "a"}, {"azureName": "b"}, ["spec.azureName"]),
        ({"azureName": "a"}, {}, ["spec.azureName"]),
        ({"owner": {"name": "a"}}, {"owner": {"name": "b"}}, ["spec.owner.name"]),
        ({"owner": {"armId": "/a"}}, {"owner": {"armId": "/b"}}, ["spec.owner.armId"]),
        ({"owner": {"name": "a"}}, {"owner": {"armId": "/b"}}, ["spec.owner.name"]),
        ({}, {"owner": {"name": "b"}}, ["spec.owner"]),
        ({"owner": {"name": "a"}}, {}, ["spec.owner"]),
        ({"location": "a", "tags": {}}, {"location": "b"}, []),
        (
            {"azureName": "a", "owner": {"name": "a"}},
            {"azureName": "b", "owner": {"name": "b"}},
            ["spec.azureName", "spec.owner.name"],
        ),
    ],
    ids=[
        "R10.1-same",
        "R10.1-given",
        "R10.1-given-for-empty",
        "R10.1-changed",
        "R10.1-taken-away",
        "owner-name",
        "owner-id",
        "owner-name-to-id",
        "owner-added",
        "owner-removed",
        "anything-else",
        "both-at-once",
    ],
)
def test_r10_1_name_and_owner_are_written_once(old, new, paths):
    assert refused(VNET, old, new) == paths


@pytest.mark.parametrize(
    ("new", "paths"),
    [({"azureName": "It"}, []), ({"azureName": "b"}, ["spec.azureName"]), ({}, [])],
)
def test_r10_1_a_name_that_is_given_late_is_that_of_the_resource(new, paths):
    assert refused(VNET, {}, new, name="it") == paths


def test_r10_2_before_the_claim_anything_may_change():
    old, new = {"azureName": "a", "owner": {"name": "a"}}, {"azureName": "b"}

    assert refused(VNET, old, new, claimed=False) == []


def test_the_message_names_the_object_and_what_to_do():
    (problem,) = change_problems(
        VNET, obj({"azureName": "a"}), obj({"azureName": "b"}), claimed=True
    )

    assert str(problem) == (
        "spec.azureName: cannot change from 'a' to 'b': "
        "network.azure.com/v20250301/VirtualNetwork it is in Azure; change it back, or "
        "delete the object and create it anew"
    )


# Defaults


@pytest.mark.parametrize(
    ("kind", "spec", "name", "expected"),
    [
        (VNET, {}, "vnet", "vnet"),
        (VNET, {"azureName": "other"}, "vnet", "other"),
        (ASSIGNMENT, {"owner": {"armId": RG_ID}}, "myroleassignment",
         "d4312672-a98e-5ffe-9831-728f273607a3"),
        (ASSIGNMENT, {"owner": {"armId": RG_ID}}, "0D3D5A4C-1F0E-4DF5-8F0C-AB4D9C5E1C9B",
         "0D3D5A4C-1F0E-4DF5-8F0C-AB4D9C5E1C9B"),
        (ASSIGNMENT, {}, "myroleassignment", None),
        (version("dbforpostgresql.azure.com/FlexibleServersAdministrator"),
         {"azureNameFromConfig": {"name": "c", "key": "k"}}, "admin", None),
        (version("storage.azure.com/StorageAccountsBlobService"), {}, "blobs", None),
        (DOMAIN, {"domainManagement": "AzureManaged"}, "mine", "AzureManagedDomain"),
        (DOMAIN, {"domainManagement": "CustomerManaged"}, "a.example", "a.example"),
        (SENDER, {"username": "DoNotReply"}, "donotreply", "DoNotReply"),
        (MYSQL_USER, {"localUser": {}}, "app", "app"),
    ],
    ids=[
        "R10.1-the-object-s-name",
        "R10.1-what-is-given-stays",
        "R10.3-uuid",
        "R10.4-a-name-that-is-one",
        "no-owner-yet",
        "from-a-config-map",
        "fixed",
        "managed-domain",
        "own-domain",
        "sender",
        "user",
    ],
)  # fmt: skip
def test_r10_1_the_azure_name_by_default(kind, spec, name, expected):
    given = obj(spec, name)

    made = with_defaults(kind, given)

    assert made["spec"].get("azureName") == expected
    assert given == obj(spec, name)
    assert with_defaults(kind, made) is made


def test_a_random_name_is_a_uuid_and_stays():
    spec = {"owner": {"armId": RG_ID}, "operatorSpec": {"namingConvention": "Random"}}
    assignment = version("authorization.azure.com/RoleAssignment", "v1api20220401")

    made = with_defaults(assignment, obj(spec))

    assert uuid.UUID(made["spec"]["azureName"]).version == 1
    assert with_defaults(assignment, made) is made


def test_a_security_group_adopts_or_creates():
    group = version("entra.azure.com/SecurityGroup")

    made = with_defaults(group, obj({"operatorSpec": {"configmaps": {}}}))
    strict = obj({"operatorSpec": {"creationMode": "AlwaysCreate"}})

    assert made["spec"]["operatorSpec"] == {
        "configmaps": {},
        "creationMode": "AdoptOrCreate",
    }
    assert with_defaults(group, strict) is strict


# Single kinds


@pytest.mark.parametrize(
    ("kind", "spec", "message"),
    [
        (
            DOMAIN,
            {"domainManagement": "AzureManaged", "azureName": "mine"},
            "must be 'AzureManagedDomain' here",
        ),
        (SENDER, {"username": "a", "azureName": "b"}, "must be 'a' here"),
        (MYSQL_USER, {}, "set exactly one of localUser and aadUser"),
        (MYSQL_USER, {"localUser": {"a": 1}, "aadUser": {"a": 1}}, "set exactly one"),
    ],
    ids=["domain", "sender", "no-user", "two-users"],
)
def test_a_rule_of_one_kind_is_kept(kind, spec, message):
    spec = {**spec, "owner": {"name": "o"}}

    assert message in str(rule_problems(kind, obj(spec)))
    assert message in str(problems(kind, obj(spec)))


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        (
            DOMAIN,
            {"domainManagement": "AzureManaged", "azureName": "azuremanageddomain"},
        ),
        (DOMAIN, {"domainManagement": "CustomerManaged", "azureName": "a.example"}),
        (SENDER, {"username": "DoNotReply", "azureName": "donotreply"}),
        (MYSQL_USER, {"aadUser": {"serverAdminUsername": "a"}}),
    ],
    ids=["domain", "own-domain", "sender", "user"],
)
def test_letter_case_of_such_a_name_does_not_matter(kind, spec):
    assert rule_problems(kind, obj({**spec, "owner": {"name": "o"}})) == []


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ({"localUser": {"a": 1}}, {"aadUser": {"a": 1}}, ["spec.localUser"]),
        ({"aadUser": {"a": 1}}, {"localUser": {"a": 1}}, ["spec.aadUser"]),
        (
            {"aadUser": {"alias": "a"}},
            {"aadUser": {"alias": "b"}},
            ["spec.aadUser.alias"],
        ),
        ({"aadUser": {"alias": "a"}}, {"aadUser": {"alias": "a", "x": 1}}, []),
    ],
    ids=["to-aad", "to-local", "alias", "else"],
)
def test_a_mysql_user_stays_of_its_type(old, new, paths):
    assert refused(MYSQL_USER, old, new, claimed=False) == paths
