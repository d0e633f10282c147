"""The rules a CRD carries: written out, and equal in effect to the functions."""

import itertools
import re

import pytest

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.catalogue.descriptions import explained_version
from asoreconcile.azure.catalogue.rules import RULES, ruled_schema
from asoreconcile.azure.catalogue.validation import rule_problems
from asoreconcile.azure.catalogue.webhook_manifests import WebhookClient
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind


def newest(name):
    return builtin().kind(GroupKind(*name.split("/"))).version()


def at(schema, path):
    for name in path.split("."):
        schema = schema["properties"][name]
    return schema


def rules_at(name, path):
    schema = ruled_schema(newest(name))
    if path:
        schema = at(schema, path)
    return [rule["rule"] for rule in schema.get(RULES, ())]


def test_an_owner_is_named_or_given_by_id():
    assert rules_at("network.azure.com/VirtualNetwork", "spec.owner") == [
        "(has(self.armId) && self.armId != '') != (has(self.name) && self.name != '')"
    ]


def test_an_owner_of_any_kind_is_named_in_full():
    (rule,) = rules_at("authorization.azure.com/RoleAssignment", "spec.owner")

    assert rule.startswith("(has(self.armId) && self.armId != '') ? !(")


def test_r10_1_r10_2_name_and_owner_stay_once_azure_has_the_resource():
    rules = rules_at("network.azure.com/VirtualNetwork", "")

    name = (
        "(has(self.spec) && has(self.spec.azureName) ? self.spec.azureName"
        " : self.metadata.name) == (has(oldSelf.spec) && has(oldSelf.spec.azureName)"
        " ? oldSelf.spec.azureName : self.metadata.name)"
    )
    assert len(rules) == 2
    assert rules[0].endswith(f"|| {name}")
    for part in ("owner.name", "owner.armId"):
        assert f"|| self.spec.{part} == oldSelf.spec.{part})" in rules[1]
    for rule in rules:
        assert rule.startswith("!has(oldSelf.status) || !has(oldSelf.status.id) || ")


@pytest.mark.parametrize(
    "name",
    ["authorization.azure.com/RoleAssignment", "communication.azure.com/Domain"],
)
def test_a_name_that_is_made_up_may_be_given_or_left_out(name):
    rule = rules_at(name, "")[0]

    assert rule.endswith("|| self.spec.azureName == oldSelf.spec.azureName)")


def test_a_union_has_exactly_one_leaf():
    (rule,) = rules_at("kusto.azure.com/DataConnection", "spec")

    leaves = ("cosmosDb", "eventGrid", "eventHub", "iotHub")
    given = [f"(has(self.{leaf}DataConnection) ? 1 : 0)" for leaf in leaves]
    assert rule == " + ".join(given) + " == 1"


def test_two_sources_of_one_property_exclude_each_other():
    rules = rules_at("authorization.azure.com/RoleAssignment", "spec")

    assert "!(has(self.principalId) && has(self.principalIdFromConfig))" in rules


def test_names_that_are_no_identifiers_are_escaped():
    """The way Kubernetes has it: dashes, dots and CEL's own words."""
    texts = [
        rule["rule"]
        for kind in builtin().kinds()
        for schema in schemas(ruled_schema(kind.version()))
        for rule in schema.get(RULES, ())
    ]

    assert len(texts) > 1100
    for text in texts:
        for name in re.findall(r"self((?:\.\w+)*)", text):
            assert not {"namespace", "import", "in"} & {*name.split(".")}
        assert not re.search(r"self\.\w*-", text)


def test_no_rule_stands_below_a_list_or_a_map():
    for kind in builtin().kinds():
        for schema in schemas(ruled_schema(kind.version())):
            for keyword in ("items", "additionalProperties"):
                below = schemas(schema.get(keyword, {}))
                assert not any(RULES in child for child in below), kind


def test_of_what_is_converted_the_shown_version_alone_has_them():
    """An admission webhook holds them for all versions, where there is a conversion."""
    kind = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork"))
    hook = WebhookClient(url="https://h")
    made = crd(kind, versions=kind.versions, conversion=hook, rules=True)

    ruled = {
        v["name"]
        for v in made["spec"]["versions"]
        if any(RULES in s for s in schemas(v["schema"]["openAPIV3Schema"]))
    }
    assert ruled == {explained_version(kind.versions)}
    (plain,) = crd(kind)["spec"]["versions"]
    assert not any(RULES in s for s in schemas(plain["schema"]["openAPIV3Schema"]))


def schemas(schema):
    yield schema
    for child in schema.get("properties", {}).values():
        yield from schemas(child)
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            yield from schemas(schema[keyword])


# As the API server would evaluate them.


def accepts(rules, value):
    """Whether all rules hold for a value, by the CEL engine the project uses."""
    cel = pytest.importorskip(
        "cel_expr_python.cel", reason="the CEL engine is an extra"
    )
    env = cel.NewEnv(variables={"self": cel.Type.Map(cel.Type.STRING, cel.Type.DYN)})
    return all(
        env.compile(rule["rule"]).eval(data={"self": value}).plain_value()
        for rule in rules
    )


FIELDS = ("armId", "group", "kind", "name", "wellKnownName")
SHAPES = [
    dict(zip(FIELDS, chosen, strict=True))
    for chosen in itertools.product(
        (None, "", "/subscriptions/s/resourceGroups/r"),
        ("g",),
        ("k", None),
        ("n", None, ""),
        (None, "System"),
    )
]


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("network.azure.com/VirtualNetwork", "owner"),
        ("authorization.azure.com/RoleAssignment", "owner"),
        ("authorization.azure.com/RoleAssignment", "roleDefinitionReference"),
    ],
)
def test_a_reference_that_a_rule_refuses_is_a_problem_and_the_other_way_round(
    name, field
):
    version = newest(name)
    schema = at(ruled_schema(version), f"spec.{field}")
    verdicts = set()
    for shape in SHAPES:
        value = {
            part: text
            for part, text in shape.items()
            if text is not None and part in schema["properties"]
        }
        obj = {"metadata": {"name": "x"}, "spec": {field: value}}
        problems = [
            p for p in rule_problems(version, obj) if p.path.startswith(f"spec.{field}")
        ]

        assert accepts(schema[RULES], value) == (not problems), (value, problems)
        verdicts.add(not problems)
    assert verdicts == {True, False}
