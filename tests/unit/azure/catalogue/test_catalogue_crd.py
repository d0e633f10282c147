"""CustomResourceDefinitions."""

import re

import pytest

from asoreconcile.azure.catalogue.conversion import stored_name
from asoreconcile.azure.catalogue.crd import crd, stored_schema
from asoreconcile.azure.catalogue.descriptions import explained_version
from asoreconcile.azure.catalogue.kinds import UnknownVersionError
from asoreconcile.azure.catalogue.webhook_manifests import WebhookClient
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind

REDIS = builtin().kind(GroupKind("cache.azure.com", "Redis"))


def test_definition_of_the_newest_release():
    made = crd(REDIS)

    assert made["metadata"] == {"name": "redis.cache.azure.com"}
    assert made["spec"]["names"] == {
        "categories": ["azure", "cache"],
        "kind": "Redis",
        "listKind": "RedisList",
        "plural": "redis",
        "singular": "redis",
    }
    assert made["spec"]["scope"] == "Namespaced"
    assert "conversion" not in made["spec"]
    assert "preserveUnknownFields" not in made["spec"]
    (version,) = made["spec"]["versions"]
    assert version["name"] == "v20241101"
    assert version["served"] is version["storage"] is True
    assert version["subresources"] == {"status": {}}
    schema = version["schema"]["openAPIV3Schema"]
    assert undescribed(schema) == undescribed(REDIS.version().schema)


def undescribed(schema):
    """A schema without what is said of its fields."""
    if not isinstance(schema, dict):
        return schema
    return {
        keyword: {name: undescribed(child) for name, child in value.items()}
        if keyword == "properties"
        else undescribed(value)
        for keyword, value in schema.items()
        if keyword != "description"
    }


def test_columns_are_the_ready_condition_and_nothing_else():
    (version,) = crd(REDIS)["spec"]["versions"]

    assert version["additionalPrinterColumns"] == [
        {
            "name": name,
            "type": "string",
            "jsonPath": f".status.conditions[?(@.type=='Ready')].{member}",
        }
        for name, member in (
            ("Ready", "status"),
            ("Severity", "severity"),
            ("Reason", "reason"),
            ("Message", "message"),
        )
    ]


def test_versions_asked_for_are_served_and_one_is_stored():
    made = crd(REDIS, versions=["v1api20230401", "v20230801"])

    assert [(v["name"], v["storage"]) for v in made["spec"]["versions"]] == [
        ("v1api20230401", False),
        ("v20230801", True),
    ]


def test_the_stored_version_can_be_chosen():
    made = crd(REDIS, versions=["v20241101", "v20230801"], storage="v20230801")

    assert [v["name"] for v in made["spec"]["versions"] if v["storage"]] == [
        "v20230801"
    ]


def test_unknown_version_is_refused():
    with pytest.raises(UnknownVersionError, match="v20241101"):
        crd(REDIS, versions=["v20241102"])


def test_categories_beyond_the_group_are_kept():
    group = builtin().kind(GroupKind("entra.azure.com", "SecurityGroup"))

    assert crd(group)["spec"]["names"]["categories"] == ["azure", "entra", "aad"]


def test_every_kind_has_a_structural_schema():
    """What the API server demands of each node of a schema."""

    def check(schema, at):
        assert "$def" not in schema
        assert "union" not in schema
        preserves = schema.get("x-kubernetes-preserve-unknown-fields")
        assert schema.get("type") or preserves, at
        assert not ("properties" in schema and "additionalProperties" in schema), at
        assert set(schema.get("required", ())) <= set(schema.get("properties", ())), at
        if schema.get("type") == "array":
            check(schema["items"], f"{at}[]")
        if "additionalProperties" in schema:
            check(schema["additionalProperties"], f"{at}{{}}")
        for name, child in schema.get("properties", {}).items():
            check(child, f"{at}.{name}")

    for kind in builtin().kinds():
        (version,) = crd(kind)["spec"]["versions"]
        check(version["schema"]["openAPIV3Schema"], str(kind))


def test_a_stored_form_has_room_for_what_any_version_says():
    made = crd(REDIS, conversion=WebhookClient(url="https://h"), complete=True)

    served = {v["name"]: v for v in made["spec"]["versions"]}
    assert [*served] == ["v20241101", "v20241101storage"]
    stored = served["v20241101storage"]["schema"]["openAPIV3Schema"]
    spec = stored["properties"]["spec"]
    assert spec["properties"]["originalVersion"] == {"type": "string"}
    bag = {"type": "object", "additionalProperties": {"type": "string"}}
    assert spec["properties"]["$propertyBag"] == bag
    assert spec["properties"]["sku"]["properties"] == {
        "$propertyBag": bag,
        "capacity": {"type": "integer"},
        "family": {"type": "string"},
        "name": {"type": "string"},
    }
    assert stored["properties"]["status"]["properties"]["$propertyBag"] == bag
    assert "originalVersion" not in stored["properties"]["status"]["properties"]


def test_parts_that_the_operator_writes_keep_whatever_they_are_given():
    whole, lean = (
        {v["name"]: v["schema"]["openAPIV3Schema"]["properties"] for v in served}
        for served in (
            crd(
                REDIS,
                versions=REDIS.versions,
                conversion=WebhookClient(url="https://h"),
                complete=complete,
            )["spec"]["versions"]
            for complete in (True, False)
        )
    )
    explained, stored = explained_version(REDIS.versions), stored_name(REDIS)
    keeps = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

    assert lean.keys() == whole.keys() == {*REDIS.versions, stored}
    assert lean[stored] == {"spec": keeps, "status": keeps}
    known = {"apiVersion", "kind", "metadata"}
    assert lean[explained] == {
        name: part for name, part in whole[explained].items() if name not in known
    }
    for name in {*REDIS.versions} - {explained}:
        assert lean[name] == {"spec": whole[name]["spec"], "status": keeps}


def test_rules_name_no_field_that_is_left_out():
    """An API server refuses a CRD with a rule about a field that its schema lacks."""
    hook = WebhookClient(url="https://h")
    for kind in builtin().kinds():
        made = crd(kind, versions=kind.versions, conversion=hook, rules=True)
        for version in made["spec"]["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            rules = schema.get("x-kubernetes-validations", [])
            asked = re.findall(r"elf\.status\.(\w+)", str(rules))
            assert {*asked} <= {*schema["properties"]["status"].get("properties", ())}


def test_without_a_conversion_every_status_has_its_schema():
    """Nobody fills in then what another version's schema would prune."""
    for version in crd(REDIS, versions=REDIS.versions)["spec"]["versions"]:
        status = version["schema"]["openAPIV3Schema"]["properties"]["status"]
        assert "provisioningState" in status["properties"]


def test_the_stored_form_of_every_kind_knows_all_its_newest_version_knows():
    for kind in builtin().kinds():
        if kind.is_arm:
            stored = stored_schema(kind.version())

            assert missing(kind.version().schema, stored) == []


def missing(schema, other, at=""):
    found = [
        f"{at}.{n}"
        for n in schema.get("properties", {})
        if n not in other["properties"]
    ]
    for name, child in schema.get("properties", {}).items():
        if name != "metadata":
            found += missing(child, other["properties"][name], f"{at}.{name}")
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            found += missing(schema[keyword], other[keyword], f"{at}[]")
    constraints = {"enum", "pattern", "required", "minimum", "maxItems"}
    return found + [f"{at} {word}" for word in constraints & {*other} if at]
