"""Conversion by example: who is the author, what is carried, what moves."""

import json

import pytest

from asoreconcile.azure.catalogue.conversion import (
    CONVERSION_DATA,
    KindConversionError,
    authored_version,
    convert,
    stored_name,
)
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind

SUBNET_ID = "/subscriptions/s/resourceGroups/g/providers/P.N/virtualNetworks/v/subnets/"


def kind(name):
    return builtin().kind(GroupKind(*name.split("/")))


VNET = kind("network.azure.com/VirtualNetwork")
SERVER = kind("dbformysql.azure.com/FlexibleServer")
COMPUTE = kind("machinelearningservices.azure.com/WorkspacesCompute")
POSTGRES = kind("dbforpostgresql.azure.com/FlexibleServer")
ACCOUNT = kind("documentdb.azure.com/DatabaseAccount")
SUBNET = kind("network.azure.com/VirtualNetworksSubnet")
GATEWAY = kind("network.azure.com/VirtualNetworkGateway")


def obj(of, version, spec=None, **rest):
    return {
        "apiVersion": f"{of.group}/{version}",
        "kind": of.group_kind.kind,
        "metadata": {"name": "it", "namespace": "ns"},
        "spec": spec or {},
        **rest,
    }


def carried(at):
    return json.loads(at["metadata"]["annotations"][CONVERSION_DATA])


# The author


def test_the_stored_form_names_the_version_the_user_wrote():
    written = obj(VNET, "v1api20240301", {"location": "westus"})

    stored = convert(VNET, written, "v20250301storage")

    assert stored["spec"] == {"location": "westus", "originalVersion": "v1api20240301"}
    assert "annotations" not in stored["metadata"]
    assert stored_name(VNET) == "v20250301storage"


def test_another_version_shows_no_trace_in_the_spec():
    stored = obj(
        VNET, "v20250301storage", {"location": "x", "originalVersion": "v1api20240301"}
    )

    read = convert(VNET, stored, "v20250301")

    assert read["spec"] == {"location": "x"}
    assert carried(read)["authored"] == "v1api20240301"
    assert "annotations" not in convert(VNET, stored, "v1api20240301")["metadata"]


def test_a_label_set_through_another_version_does_not_change_the_author():
    written = obj(VNET, "v1api20240301", {"location": "x"})
    read = convert(VNET, written, "v20250301")

    read["metadata"]["labels"] = {"team": "net"}

    assert authored_version(VNET, read) == "v1api20240301"
    assert convert(VNET, read, "v1api20240301") == {
        **written,
        "metadata": {**written["metadata"], "labels": {"team": "net"}},
    }


def test_a_spec_edited_through_another_version_has_that_author():
    read = convert(VNET, obj(VNET, "v1api20240301", {"location": "x"}), "v20250301")

    read["spec"]["tags"] = {"a": "b"}

    assert authored_version(VNET, read) == "v20250301"
    stored = convert(VNET, read, "v20250301storage")
    assert stored["spec"]["originalVersion"] == "v20250301"


@pytest.mark.parametrize("stated", [None, "v1beta1"])
def test_a_stored_object_without_a_known_author_is_of_its_own_version(stated):
    spec = {"location": "x"} | ({"originalVersion": stated} if stated else {})

    assert authored_version(VNET, obj(VNET, "v20250301storage", spec)) == "v20250301"


@pytest.mark.parametrize(
    ("version", "notes", "why"),
    [
        ("v20990101", {}, "has no version 'v20990101'"),
        (
            "v20250301",
            {CONVERSION_DATA: "no json"},
            f"annotation {CONVERSION_DATA} is unreadable",
        ),
    ],
    ids=["version", "annotation"],
)
def test_an_author_who_cannot_be_told_is_an_error_that_says_why(version, notes, why):
    made = obj(VNET, version)
    made["metadata"]["annotations"] = notes

    with pytest.raises(KindConversionError, match=why):
        authored_version(VNET, made)


# What is carried


def test_a_field_of_stored_forms_means_nothing_in_what_users_write():
    made = obj(VNET, "v20250301", {"location": "x", "originalVersion": "mine"})

    there = convert(VNET, made, "v1api20240301")

    kept = carried(there)["tree"]["fields"]["spec"]["kept"]
    assert kept == {"originalVersion": "mine"}


def test_a_bag_written_by_azure_service_operator_is_opened():
    """Its keys are names of Go fields; what no version has stays the text it is."""
    bag = {"AdminState": "Enabled", "Unheard": '{"$propertyBag": {"Of": "1"}}'}
    stored = obj(GATEWAY, "v1api20201101storage", {"$propertyBag": bag})

    read = convert(GATEWAY, stored, "v20250301")

    assert read["spec"] == {"adminState": "Enabled"}
    assert carried(read)["tree"]["fields"]["spec"]["bag"] == {"Unheard": bag["Unheard"]}


def test_a_bag_stands_in_the_object_it_belongs_to():
    subnets = [{"name": "a", "novelty": 1}, {"name": "b"}]
    stored = convert(VNET, obj(VNET, "v20250301", {"subnets": subnets}), "v20250301")
    assert stored["spec"]["subnets"] == subnets

    rule = {"name": "r", "properties_": 1}
    made = obj(SUBNET, "v20250301", {"delegations": [rule]})
    stored = convert(SUBNET, made, "v1api20201101storage")
    assert stored["spec"]["delegations"] == [
        {"name": "r", "$propertyBag": {"Properties_": "1"}}
    ]


def with_carried_items():
    """A gateway's list of which an older version hides `privateIPAddress`."""
    items = [
        {"name": name, "privateIPAllocationMethod": "Static", "novelty": name}
        for name in "abc"
    ]
    made = obj(GATEWAY, "v20250301", {"ipConfigurations": items})
    return items, convert(GATEWAY, made, "v1api20201101")


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1], [0, 2]])
def test_items_of_a_list_find_what_was_kept_of_them(order):
    items, read = with_carried_items()
    shown = read["spec"]["ipConfigurations"]
    assert all("novelty" not in item for item in shown)

    read["spec"]["ipConfigurations"] = [shown[i] for i in order]

    back = convert(GATEWAY, convert(GATEWAY, read, "v20250301"), "v20250301")
    kept = carried(back)["tree"]["fields"]["spec"]["fields"]["ipConfigurations"]
    assert [(at, tree["kept"]["novelty"]) for at, _, tree in kept["items"]["at"]] == [
        (at, items[i]["novelty"]) for at, i in enumerate(order)
    ]


def test_an_item_renamed_in_place_keeps_what_belongs_to_it():
    _, read = with_carried_items()
    read["spec"]["ipConfigurations"][1]["name"] = "other"

    back = convert(GATEWAY, read, "v20250301")

    kept = carried(back)["tree"]["fields"]["spec"]["fields"]["ipConfigurations"]
    assert [tree["kept"]["novelty"] for _, _, tree in kept["items"]["at"]] == [*"abc"]


def test_what_was_removed_is_not_brought_back():
    made = obj(GATEWAY, "v20250301", {"vpnClientConfiguration": {"novelty": 1}})
    read = convert(GATEWAY, made, "v1api20201101")
    assert read["spec"] == {"vpnClientConfiguration": {}}

    del read["spec"]["vpnClientConfiguration"]

    assert convert(GATEWAY, read, "v20250301")["spec"] == {}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("no json", " is unreadable"),
        ("[]", " is unreadable"),
        ('{"tree": {"items": {"at": [1]}}}', ": it is not what a conversion writes"),
    ],
)
def test_an_annotation_somebody_broke_is_named(text, why):
    made = obj(VNET, "v20250301")
    made["metadata"]["annotations"] = {CONVERSION_DATA: text}

    with pytest.raises(
        KindConversionError,
        match=f"v20250301 to v1api20240301: annotation {CONVERSION_DATA}{why}.*: remove it",
    ):
        convert(VNET, made, "v1api20240301")


@pytest.mark.parametrize("version", ["v20250301", "v20250301storage"])
@pytest.mark.parametrize("wrong", ["x", 1, [1], {"annotations": [1]}])
def test_metadata_of_another_shape_is_named(version, wrong):
    made = obj(VNET, version) | {"metadata": wrong}

    with pytest.raises(KindConversionError, match="metadata, or its annotations"):
        convert(VNET, made, "v1api20240301")


@pytest.mark.parametrize(
    ("own", "by"),
    [
        ("v20250301", "v1api20240301"),
        ("v20250301storage", "v1api20240301"),
        ("v20250301", "v20250301storage"),
    ],
)
@pytest.mark.parametrize("part", ["x", None, 1, [], [{"a": 1}]])
def test_a_spec_of_another_shape_is_carried_as_it_is(own, by, part):
    """An API server would not let it in; a file may hold anything."""
    made = obj(VNET, own) | {"spec": part, "status": part}

    there = convert(VNET, made, by)

    assert authored_version(VNET, there) == "v20250301"
    assert convert(VNET, there, own) == made


@pytest.mark.parametrize(
    "rest",
    [{}, {"metadata": None}, {"metadata": {"annotations": None}}],
    ids=["absent", "null", "no-annotations"],
)
def test_an_object_without_metadata_is_given_what_tells_its_author(rest):
    made = {"apiVersion": f"{VNET.group}/v20250301", "spec": {"location": "x"}, **rest}

    there = convert(VNET, made, "v1api20240301")

    assert authored_version(VNET, there) == "v20250301"
    assert convert(VNET, there, "v20250301")["spec"] == made["spec"]


UNREADABLE = ["{", "text", "1", "[1]"]


@pytest.mark.parametrize("text", UNREADABLE)
def test_an_entry_that_cannot_be_read_is_named(text):
    stored = obj(VNET, "v1api20240301storage", {"$propertyBag": {"AddressSpace": text}})

    with pytest.raises(KindConversionError, match=r"AddressSpace in a \$propertyBag"):
        convert(VNET, stored, "v20250301")


@pytest.mark.parametrize("text", UNREADABLE)
def test_a_lenient_conversion_carries_what_cannot_be_read(text):
    """The API server asks for lists: one object must not fail all."""
    bag = {"$propertyBag": {"AddressSpace": text}}
    stored = obj(VNET, "v20250301storage", {"location": "x", **bag})

    read = convert(VNET, stored, "v20250301", lenient=True)

    assert read["spec"] == {"location": "x"}
    back = convert(VNET, read, "v20250301storage", lenient=True)
    assert back["spec"] == {**stored["spec"], "originalVersion": "v20250301"}
    read["spec"]["addressSpace"] = {"addressPrefixes": ["10.0.0.0/8"]}
    mended = convert(VNET, read, "v20250301storage")
    assert mended["spec"] == {**read["spec"], "originalVersion": "v20250301"}


def test_an_entry_of_no_field_is_never_looked_into():
    stored = obj(VNET, "v20250301storage", {"$propertyBag": {"Field": "{"}})

    read = convert(VNET, stored, "v20250301")

    assert read["spec"] == {}
    back = convert(VNET, read, "v20250301storage")
    assert back["spec"]["$propertyBag"] == {"Field": "{"}


def test_a_status_is_read_without_what_cannot_be_read_of_it():
    """The next reconciliation writes it anew."""
    bag = {"$propertyBag": {"AddressSpace": "{"}}
    stored = obj(VNET, "v20250301storage", status={"name": "it", **bag})

    assert convert(VNET, stored, "v20250301")["status"] == {"name": "it"}


def test_a_bag_that_is_no_map_is_an_error():
    stored = obj(VNET, "v20250301storage", {"$propertyBag": ["AddressSpace"]})

    with pytest.raises(KindConversionError, match=r"\$propertyBag is no map"):
        convert(VNET, stored, "v20250301", lenient=True)


@pytest.mark.parametrize("to", ["v20990101", "v20990101storage"])
def test_an_unknown_version_is_named_with_the_known_ones(to):
    with pytest.raises(KindConversionError, match=f"'{to}'.*v20250301"):
        convert(VNET, obj(VNET, "v20250301"), to)


def test_equal_objects_carry_equal_texts():
    """Else each reading of one in another version would look like a change of it."""
    spec = {"one": 1, "two": 2}
    other = dict(reversed(spec.items()))

    ways = [
        convert(VNET, obj(VNET, "v20250301", s), "v1api20240301") for s in (spec, other)
    ]

    assert ways[0] == ways[1]
    assert carried(ways[0])["tree"]["fields"]["spec"]["kept"] == spec


@pytest.mark.parametrize("notes", [{}, {"a": "b"}])
def test_metadata_without_anything_carried_stays_as_it_is(notes):
    made = obj(VNET, "v20250301")
    made["metadata"]["annotations"] = notes

    stored = convert(VNET, made, "v20250301storage")

    assert stored["metadata"] == made["metadata"]
    assert convert(VNET, stored, "v20250301") == made


# What moves


def test_an_id_becomes_a_reference_and_a_reference_an_id():
    """The same property of the ARM body, under two names."""
    old = obj(SERVER, "v1api20210501", {"sourceServerResourceId": "/a/b"})
    new = obj(SERVER, "v20241230", {"sourceServerResourceReference": {"armId": "/a/b"}})

    assert convert(SERVER, old, "v20241230")["spec"] == new["spec"]
    assert convert(SERVER, new, "v1api20210501")["spec"] == old["spec"]


def test_ids_of_a_list_move_together():
    ids = ["/a", "/b"]
    old = obj(ACCOUNT, "v1api20210515", {"networkAclBypassResourceIds": ids})

    there = convert(ACCOUNT, old, "v1api20240815")

    assert there["spec"] == {
        "networkAclBypassResourceReferences": [{"armId": "/a"}, {"armId": "/b"}]
    }


def test_a_reference_by_name_is_carried_where_only_ids_are_known():
    by_name = {"group": "dbformysql.azure.com", "kind": "FlexibleServer", "name": "src"}
    new = obj(SERVER, "v20241230", {"sourceServerResourceReference": by_name})

    old = convert(SERVER, new, "v1api20210501")

    assert old["spec"] == {}
    assert convert(SERVER, old, "v20241230") == new
    old["spec"]["sourceServerResourceId"] = "/written/there"
    assert convert(SERVER, old, "v20241230")["spec"] == {
        "sourceServerResourceReference": {"armId": "/written/there"}
    }


def test_another_spelling_is_the_same_field_of_a_manifest():
    name, other = (
        "applicationGatewayIpConfigurations",
        "applicationGatewayIPConfigurations",
    )
    old = obj(SUBNET, "v1api20201101", {name: [{"reference": {"armId": SUBNET_ID}}]})

    new = convert(SUBNET, old, "v1api20240301")

    assert [*new["spec"]] == [other]
    assert convert(SUBNET, new, "v1api20201101") == old


def test_another_spelling_is_another_field_of_a_stored_object():
    """As for ASO, which would not find it under the other name."""
    value = [{"reference": {"armId": SUBNET_ID}}]
    old = obj(SUBNET, "v1api20201101", {"applicationGatewayIpConfigurations": value})

    stored = convert(SUBNET, old, stored_name(SUBNET))

    text = f'[{{"reference":{{"armId":"{SUBNET_ID}"}}}}]'
    assert stored["spec"] == {
        "originalVersion": "v1api20201101",
        "$propertyBag": {"ApplicationGatewayIpConfigurations": text},
    }
    assert convert(SUBNET, stored, "v20250301")["spec"] == {}
    assert convert(SUBNET, stored, "v1api20201101") == old


@pytest.mark.parametrize("ids", [["/a", "/b"], []])
def test_the_stored_form_keeps_the_old_name_of_ids_too(ids):
    old = obj(ACCOUNT, "v1api20210515", {"networkAclBypassResourceIds": ids})

    stored = convert(ACCOUNT, old, stored_name(ACCOUNT))

    assert stored["spec"]["networkAclBypassResourceReferences"] == [
        {"armId": one} for one in ids
    ]
    text = json.dumps(ids, separators=(",", ":"))
    assert stored["spec"]["$propertyBag"] == {"NetworkAclBypassResourceIds": text}
    assert convert(ACCOUNT, stored, "v1api20210515") == old


@pytest.mark.parametrize("subnet", ["/a", ""])
def test_a_subnet_s_id_is_kept_in_its_bag_too(subnet):
    def properties(**values):
        return {"properties": {"aks": {"properties": values}}}

    old = obj(COMPUTE, "v1api20210701", properties(loadBalancerSubnet=subnet))

    stored = convert(COMPUTE, old, stored_name(COMPUTE))

    expected = properties(
        loadBalancerSubnetReference={"armId": subnet},
        **{"$propertyBag": {"LoadBalancerSubnet": subnet}},
    )
    assert stored["spec"] == {**expected, "originalVersion": "v1api20210701"}
    assert convert(COMPUTE, stored, "v1api20210701") == old


def test_a_server_s_id_is_kept_under_its_new_name_alone():
    old = obj(SERVER, "v1api20210501", {"sourceServerResourceId": "/a"})

    stored = convert(SERVER, old, stored_name(SERVER))

    assert stored["spec"] == {
        "sourceServerResourceReference": {"armId": "/a"},
        "originalVersion": "v1api20210501",
    }


@pytest.mark.parametrize(
    ("version", "shown"),
    [("v1api20240801", "switchover"), ("v20250801", "Switchover")],
)
@pytest.mark.parametrize("kept", ["switchover", "Switchover"])
def test_an_enum_has_the_letter_case_of_the_version(version, shown, kept):
    stored = obj(POSTGRES, "v20250801storage", {"replica": {"promoteMode": kept}})

    read = convert(POSTGRES, stored, version)

    assert read["spec"] == {"replica": {"promoteMode": shown}}


def test_what_an_enum_does_not_know_is_shown_as_it_is():
    stored = obj(POSTGRES, "v20250801storage", {"replica": {"promoteMode": "Never"}})

    read = convert(POSTGRES, stored, "v1api20240801")

    assert read["spec"] == {"replica": {"promoteMode": "Never"}}
