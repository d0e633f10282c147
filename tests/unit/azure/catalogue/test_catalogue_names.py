"""What resources are called in Azure."""

import uuid

import pytest

from asoreconcile.azure.catalogue.names import azure_name
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupVersionKind

RG_ID = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/myrg"
BY_NAME = {"group": "resources.azure.com", "kind": "ResourceGroup", "name": "myrg"}
ASSIGNMENT = ("authorization.azure.com", "RoleAssignment")
DEFINITION = ("authorization.azure.com", "RoleDefinition")
SQL = ("documentdb.azure.com", "SqlRoleAssignment")


def named(kind, version, spec, name="myroleassignment"):
    group, kind_name = kind
    obj = {"metadata": {"name": name, "namespace": "default"}, "spec": spec}
    return azure_name(
        builtin().version(GroupVersionKind(group, version, kind_name)), obj
    )


@pytest.mark.parametrize(
    ("version", "owner", "expected"),
    [
        pytest.param(
            version,
            BY_NAME,
            "69e1d155-c4e0-5c75-a5fc-7d990bc7325d",
            id=f"{version}-name",
        )
        for version in ("v20220401", "v1api20220401", "v1api20200801preview")
    ]
    + [
        pytest.param(
            version,
            {"armId": RG_ID},
            "d4312672-a98e-5ffe-9831-728f273607a3",
            id=f"{version}-arm-id",
        )
        for version in ("v20220401", "v20200801preview")
    ]
    + [
        pytest.param(
            version,
            {"armId": RG_ID},
            "aa84af1c-81f2-5a62-b3b4-155c829e36c4",
            id=f"{version}-legacy-arm-id",
        )
        for version in ("v1api20220401", "v1api20200801preview")
    ],
)
def test_r10_3_uuid_vectors(version, owner, expected):
    assert named(ASSIGNMENT, version, {"owner": owner}) == expected


@pytest.mark.parametrize(
    "name",
    [
        "0d1c2b3a-4f5e-6a7b-8c9d-0e1f2a3b4c5d",
        "0D1C2B3A-4F5E-6A7B-8C9D-0E1F2A3B4C5D",
        "{0d1c2b3a-4f5e-6a7b-8c9d-0e1f2a3b4c5d}",
        "urn:uuid:0d1c2b3a-4f5e-6a7b-8c9d-0e1f2a3b4c5d",
        "0d1c2b3a4f5e6a7b8c9d0e1f2a3b4c5d",
    ],
)
def test_r10_4_a_name_that_is_a_uuid_is_kept(name):
    assert named(ASSIGNMENT, "v20220401", {"owner": BY_NAME}, name=name) == name


def test_a_uuid_kind_without_owner_has_no_name_yet():
    assert named(ASSIGNMENT, "v20220401", {}) == ""


@pytest.mark.parametrize("convention", ["random", "Random", "RANDOM"])
def test_random_convention_gives_a_time_based_uuid_each_time(convention):
    spec = {"owner": BY_NAME, "operatorSpec": {"namingConvention": convention}}

    first, second = (named(DEFINITION, "v20220401", spec) for _ in range(2))

    assert uuid.UUID(first).version == 1
    assert first != second


@pytest.mark.parametrize(
    ("version", "known"), [("v20220401", False), ("v1api20220401", True)]
)
def test_unknown_convention_names_nothing_but_is_stable_in_legacy_versions(
    version, known
):
    spec = {"owner": BY_NAME, "operatorSpec": {"namingConvention": "sequential"}}

    stable = named(ASSIGNMENT, version, {"owner": BY_NAME})

    assert named(ASSIGNMENT, version, spec) == (stable if known else "")


def test_sql_role_assignment_uses_the_kind_that_owns_it_and_no_convention():
    owner = {"name": "account"}
    spec = {"owner": owner, "operatorSpec": {"namingConvention": "random"}}
    namespace = uuid.UUID("9a329043-7ad7-4b1c-812f-9c7a93d6392a")
    seed = (
        "documentdb.azure.com/DatabaseAccount:default/account"
        ":SqlRoleAssignment/documentdb.azure.com:default/myroleassignment"
    )

    for version in builtin().kind(_group_kind(SQL)).versions:
        assert named(SQL, version, spec) == str(uuid.uuid5(namespace, seed))
        said = {"owner": {**owner, "group": "other.azure.com", "kind": "Other"}}
        assert named(SQL, version, said) == named(SQL, version, spec)


def test_sql_role_assignment_forgets_the_arm_id_in_every_version():
    namespace = uuid.UUID("9a329043-7ad7-4b1c-812f-9c7a93d6392a")
    seed = "/:default/:SqlRoleAssignment/documentdb.azure.com:default/myroleassignment"

    for version in builtin().kind(_group_kind(SQL)).versions:
        name = named(SQL, version, {"owner": {"armId": RG_ID}})
        assert name == str(uuid.uuid5(namespace, seed))


def test_azure_name_beats_the_object_name():
    kind = ("network.azure.com", "VirtualNetwork")

    assert named(kind, "v20250301", {"azureName": "theirs"}, name="ours") == "theirs"
    assert named(kind, "v20250301", {}, name="ours") == "ours"


def test_a_name_from_a_config_map_is_not_known_here():
    kind = ("dbforpostgresql.azure.com", "FlexibleServersAdministrator")
    version = builtin().kind(_group_kind(kind)).storage
    from_config = {"azureNameFromConfig": {"name": "c", "key": "k"}}

    assert named(kind, version, from_config) == ""
    assert named(kind, version, {**from_config, "azureName": "n"}) == "n"


@pytest.mark.parametrize(
    ("kind", "fixed"),
    [
        ("cache.azure.com/RedisPatchSchedule", "default"),
        ("sql.azure.com/ServersAdvancedThreatProtectionSetting", "Default"),
        ("sql.azure.com/ServersDatabasesTransparentDataEncryption", "current"),
        ("sql.azure.com/ServersAdministrator", "ActiveDirectory"),
        ("apimanagement.azure.com/ProductPolicy", "policy"),
        ("web.azure.com/SitesSourcecontrol", "web"),
    ],
)
def test_fixed_names_are_all_azure_allows(kind, fixed):
    parts = tuple(kind.split("/"))
    version = builtin().kind(_group_kind(parts)).storage

    assert named(parts, version, {}, name="anything") == fixed


def _group_kind(parts):
    return (
        builtin()
        .version(next(k.gvk() for k in builtin().kinds() if str(k) == "/".join(parts)))
        .group_kind
    )
