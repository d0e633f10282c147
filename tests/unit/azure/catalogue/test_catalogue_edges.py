"""What is null, of another type, or said twice, on its way through the catalogue."""

import json

import pytest

from asoreconcile.azure.catalogue.conversion import (
    CONVERSION_DATA,
    KindConversionError,
    as_authored,
    authored_version,
    convert,
    rewritten,
    stored_name,
)
from asoreconcile.azure.catalogue.names import azure_name
from asoreconcile.azure.catalogue.payload import to_arm, verbatim_of
from asoreconcile.azure.catalogue.validation import rule_problems
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind, GroupVersionKind, copy_json

VNET = "network.azure.com/VirtualNetwork"
AKS = "containerservice.azure.com/ManagedCluster"
ASSIGNMENT = GroupVersionKind("authorization.azure.com", "v20220401", "RoleAssignment")
A_UUID = "0d1c2b3a-4f5e-6a7b-8c9d-0e1f2a3b4c5d"
GROUP = {"armId": "/subscriptions/s/resourceGroups/rg"}


def kind(name):
    return builtin().kind(GroupKind(*name.split("/")))


def properties(name, spec):
    """What a spec puts beside the name into a body; nothing it says is looked up."""
    body = to_arm(kind(name).version(), spec, name="it", inputs=None)
    return body.get("properties")


def told(name, spec):
    obj = {"metadata": {"name": "it"}, "spec": spec}
    return [str(problem) for problem in rule_problems(kind(name).version(), obj)]


def named(spec, name="it"):
    obj = {"metadata": {"name": name, "namespace": "ns"}, "spec": spec}
    return azure_name(builtin().version(ASSIGNMENT), obj)


def test_null_items_are_not_sent():
    flux = "kubernetesconfiguration.azure.com/FluxConfiguration"
    given = {"kustomizations": {"one": None, "two": {}}}
    assert properties(flux, given) == {"kustomizations": {"two": {}}}
    alert = {"scopesReferences": [None, {"armId": "/a"}]}
    sent = properties("insights.azure.com/ActivityLogAlert", alert)
    assert sent == {"scopes": ["/a"]}


def test_a_union_without_a_leaf_is_left_out_of_its_list():
    given = {"actions": [{}, {"cacheExpiration": {"name": "CacheExpiration"}}]}
    sent = properties("cdn.azure.com/Rule", given)
    assert sent == {"actions": [{"name": "CacheExpiration"}]}


def test_a_collection_that_is_always_sent_is_sent_as_it_is_given():
    fleet = kind("containerservice.azure.com/Fleet").version()
    assert to_arm(fleet, {"tags": {}}, name="it", inputs=None) == {
        "name": "it",
        "tags": {},
    }


def test_a_well_known_name_goes_before_an_id():
    assert verbatim_of({"wellKnownName": "Reader", "armId": "/a"}) == "Reader"


@pytest.mark.parametrize(
    "part",
    [{"key": "k"}, {"labels": {"l": "x"}}, {"annotations": {"l": "x"}}],
    ids=lambda part: next(iter(part)),
)
@pytest.mark.parametrize("field", ["secretExpressions", "configMapExpressions"])
def test_two_exports_into_one_place_are_refused(field, part):
    one = {"name": "out", "value": "self.metadata.name", **part}
    (text,) = told(VNET, {"owner": GROUP, "operatorSpec": {field: [one, one]}})
    assert text.startswith(f"spec.operatorSpec.{field}[1]: out/")
    assert f"is written by {field}[0] already" in text
    other = {**one, "name": "another"}
    assert not told(VNET, {"owner": GROUP, "operatorSpec": {field: [one, other]}})


def test_a_compatibility_pair_may_be_given_whole():
    both = {"actionGroupReference": GROUP, "actionGroupId": "/by/text"}
    alert = {"owner": GROUP, "actions": [both]}
    assert told("insights.azure.com/MetricAlert", alert) == []


def test_references_inside_maps_and_identities_are_looked_at():
    profile = {"identityProfile": {"kubelet": {"resourceReference": {"name": "n"}}}}
    (text,) = told(AKS, {"owner": GROUP, **profile})
    assert text.startswith("spec.identityProfile.kubelet.resourceReference: set group")
    identities = {"identity": {"userAssignedIdentities": [{}]}}
    (text,) = told(AKS, {"owner": GROUP, **identities})
    at = "spec.identity.userAssignedIdentities[0].reference"
    assert text == f"{at}: is required: set it"


@pytest.mark.parametrize("name", [f"{A_UUID}-x", f"{A_UUID}0", f"{{{A_UUID}"])
def test_r10_4_a_name_that_only_begins_as_a_uuid_is_not_kept(name):
    assert named({"owner": GROUP}, name) not in ("", name)


def test_r10_4_the_case_of_a_uuid_s_prefix_does_not_matter():
    assert named({"owner": GROUP}, f"URN:UUID:{A_UUID}") == f"URN:UUID:{A_UUID}"


def test_r10_4_an_owner_that_says_nothing_is_none_yet():
    assert named({"owner": {}}) == ""


def vnet(version, **spec):
    return {
        "apiVersion": f"network.azure.com/{version}",
        "kind": "VirtualNetwork",
        "metadata": {"name": "it", "namespace": "ns"},
        "spec": {"location": "westus", "tags": {"a": "b"}, **spec},
    }


@pytest.mark.parametrize("to", ["v20250301", "v1api20240301", "v20250301storage"])
def test_what_is_converted_shares_nothing_and_changes_nothing(to):
    given = vnet("v20250301", addressSpace={"addressPrefixes": ["10.0.0.0/8"]})
    before = copy_json(given)
    made = convert(kind(VNET), given, to)
    made["spec"]["tags"]["a"] = "changed"
    made["spec"]["addressSpace"]["addressPrefixes"].clear()
    made["metadata"]["name"] = "changed"
    assert given == before


def test_the_version_of_a_newer_release_is_kept_through_conversions():
    """As an operator that knows more versions has left it."""
    read = convert(kind(VNET), vnet("v1api20240301"), "v20250301")
    notes = read["metadata"]["annotations"]
    assert authored_version(kind(VNET), read) == "v1api20240301"
    notes[CONVERSION_DATA] = notes[CONVERSION_DATA].replace(
        "v1api20240301", "v30250301"
    )
    assert authored_version(kind(VNET), read) == "v30250301"
    stored = convert(kind(VNET), read, "v20250301storage")
    assert stored["spec"]["originalVersion"] == "v30250301"
    made = as_authored(kind(VNET), stored)
    assert made["apiVersion"] == "network.azure.com/v20250301"
    # An edit is a person's, and in the version that the person saw.
    read["spec"]["location"] = "eastus"
    assert authored_version(kind(VNET), read) == "v20250301"


def test_what_this_release_would_lose_of_a_newer_one_waits():
    stored = vnet(
        "v20250301storage",
        originalVersion="v30250301",
        **{"$propertyBag": {"new": "1"}},
    )
    with pytest.raises(
        KindConversionError, match=r"written in v30250301.*sets spec\.new"
    ):
        as_authored(kind(VNET), stored)


def test_a_manifest_in_the_stored_form_is_only_converted():
    given, to = vnet("v20250301"), stored_name(kind(VNET))
    assert rewritten(kind(VNET), given, to) == (convert(kind(VNET), given, to), [])


def test_a_name_that_is_drawn_is_not_kept_in_a_manifest():
    given = {
        "apiVersion": "authorization.azure.com/v1api20220401",
        "kind": "RoleAssignment",
        "metadata": {"name": "reads", "namespace": "ns"},
        "spec": {"owner": GROUP, "operatorSpec": {"namingConvention": "random"}},
    }
    of = kind("authorization.azure.com/RoleAssignment")
    made, _ = rewritten(of, given, "v20220401")
    assert "azureName" not in made["spec"]
    given["spec"]["operatorSpec"] = {}
    made, _ = rewritten(of, given, "v20220401")
    assert made["spec"]["azureName"]


def test_a_name_that_is_not_known_is_not_made_up_for_a_manifest():
    """Older versions make one up under conventions that newer ones do not know."""
    given = {
        "apiVersion": "authorization.azure.com/v20220401",
        "kind": "RoleAssignment",
        "metadata": {"name": "reads", "namespace": "ns"},
        "spec": {"owner": GROUP, "operatorSpec": {"namingConvention": "ours"}},
    }
    of = kind("authorization.azure.com/RoleAssignment")
    made, _ = rewritten(of, given, "v1api20220401")
    assert made["spec"] == given["spec"]


@pytest.mark.parametrize(
    ("own", "to"), [("v20211101", "v20250101"), ("v20250101", "v20211101")]
)
def test_a_fixed_name_is_not_written_where_versions_spell_it_otherwise(own, to):
    """`default` and `Default`, and in neither version is there a field for it."""
    given = {
        "apiVersion": f"sql.azure.com/{own}",
        "kind": "ServersDatabasesSecurityAlertPolicy",
        "metadata": {"name": "alerts", "namespace": "ns"},
        "spec": {"owner": {"name": "db"}, "state": "Enabled"},
    }
    of = kind("sql.azure.com/ServersDatabasesSecurityAlertPolicy")
    made, unknown = rewritten(of, given, to)
    assert made == given | {"apiVersion": f"sql.azure.com/{to}"}
    assert unknown == []


def test_who_rewrites_a_manifest_is_its_author():
    """No trace is left of the version before, but what this one does not know."""
    given = vnet("v1api20240301")
    made, _ = rewritten(kind(VNET), given, "v20250301")
    assert made == given | {"apiVersion": "network.azure.com/v20250301"}
    server = kind("dbformysql.azure.com/FlexibleServer")
    by_name = {"group": "a", "kind": "b", "name": "c"}
    given = {
        "apiVersion": "dbformysql.azure.com/v20241230",
        "kind": "FlexibleServer",
        "metadata": {"name": "it", "namespace": "ns"},
        "spec": {"sourceServerResourceReference": by_name},
    }
    made, unknown = rewritten(server, given, "v1api20210501")
    assert [*json.loads(made["metadata"]["annotations"][CONVERSION_DATA])] == ["tree"]
    assert unknown == ["spec.sourceServerResourceReference"]
