"""Property bags to the byte: what ASO stored is read, what we store it would store."""

from functools import cache

import pytest

from asoreconcile.azure.catalogue.conversion import convert, form, stored_name
from asoreconcile.azure.catalogue.field_renames import field_renames
from asoreconcile.azure.catalogue.property_bag import entry_name, write_entry
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind

TEXTS = ["Standard", "123", "true", "null", '"quoted"', "{", "[]", "", "a<b"]
WITH_STRINGS = {
    "FlexibleServer.dbformysql.azure.com",
    "FlexibleServer.dbforpostgresql.azure.com",
    "FluxConfiguration.kubernetesconfiguration.azure.com",
    "ManagedCluster.containerservice.azure.com",
    "ManagedClustersAgentPool.containerservice.azure.com",
    "PublicIPAddress.network.azure.com",
    "Registry.containerregistry.azure.com",
    "ScheduledQueryRule.insights.azure.com",
    "StorageAccount.storage.azure.com",
    "Workspace.machinelearningservices.azure.com",
    "Workspace.operationalinsights.azure.com",
    "WorkspacesCompute.machinelearningservices.azure.com",
    "WorkspacesConnection.machinelearningservices.azure.com",
}


def kind(name):
    return builtin().kind(GroupKind(*name.split("/")))


def only_here(here, there, at=()):
    """Paths of the strings that one schema has and the other has not."""
    if here is there or not here or not there:
        return
    for keyword in ("items", "additionalProperties"):
        if keyword in here:
            yield from only_here(here[keyword], there.get(keyword), (*at, keyword))
    for name, field in here.get("properties", {}).items():
        other = there.get("properties", {}).get(name)
        if other is not None:
            yield from only_here(field, other, (*at, name))
        elif field.get("type") == "string":
            yield (*at, name)


@cache
def strings_in_bags():
    return [*_strings_in_bags()]


def _strings_in_bags():
    for one in builtin().kinds():
        hub = form(one, stored_name(one))
        for version in one.versions:
            own = form(one, version)
            renamed = field_renames(own.version, hub.version)
            for part in ("spec", "status"):
                for path in only_here(own.schema(part), hub.schema(part)):
                    plain = tuple(
                        p for p in path if p not in ("items", "additionalProperties")
                    )
                    if part == "status" or plain[-1] not in renamed.get(plain[:-1], {}):
                        yield one, version, part, path


def nested(path, value):
    for name in reversed(path):
        wraps = {"items": lambda v: [v], "additionalProperties": lambda v: {"key": v}}
        value = wraps.get(name, lambda v, name=name: {name: v})(value)
    return value


def obj(of, version, **parts):
    return {
        "apiVersion": f"{of.group}/{version}",
        "kind": of.group_kind.kind,
        "metadata": {"name": "it", "namespace": "ns"},
        "spec": {},
        **parts,
    }


def test_thirteen_kinds_keep_strings_in_bags():
    assert {str(one.group_kind) for one, *_ in strings_in_bags()} == WITH_STRINGS


@pytest.mark.parametrize("text", TEXTS)
def test_a_string_is_bare_however_it_looks(text):
    for of, version, part, path in strings_in_bags():
        bag = {"$propertyBag": {entry_name(path[-1]): text}}
        stored = obj(of, stored_name(of), **{part: nested(path[:-1], bag)})
        stored["spec"]["originalVersion"] = version
        written = obj(of, version, **{part: nested(path, text)})

        assert convert(of, stored, version) == written
        assert convert(of, written, stored_name(of)) == stored


@pytest.mark.parametrize("text", TEXTS)
def test_a_string_stays_bare_whichever_version_reads_it(text):
    for of, version, part, path in strings_in_bags():
        written = obj(of, version, **{part: nested(path, text)})
        stored = convert(of, written, stored_name(of))
        for other in of.versions:
            read = convert(of, stored, other)

            assert convert(of, read, stored_name(of)) == stored
            assert convert(of, read, version) == written


@pytest.mark.parametrize(
    ("name", "version", "spec", "stored"),
    [
        (
            "storage.azure.com/StorageAccount",
            "v1api20230101",
            {"sku": {"name": "Standard_LRS", "tier": "Standard"}},
            {"sku": {"name": "Standard_LRS", "$propertyBag": {"Tier": "Standard"}}},
        ),
        (
            "network.azure.com/PublicIPAddress",
            "v1api20201101",
            {"ddosSettings": {"protectionCoverage": "Basic"}},
            {"ddosSettings": {"$propertyBag": {"ProtectionCoverage": "Basic"}}},
        ),
        (
            "containerservice.azure.com/ManagedCluster",
            "v1api20240901",
            {"enablePodSecurityPolicy": True},
            {"$propertyBag": {"EnablePodSecurityPolicy": "true"}},
        ),
        (
            "containerservice.azure.com/ManagedCluster",
            "v20251002preview",
            {"creationData": {"sourceResourceReference": {"name": "<a>", "kind": "K"}}},
            {
                "$propertyBag": {
                    "CreationData": '{"sourceResourceReference":'
                    '{"kind":"K","name":"\\u003ca\\u003e"}}'
                }
            },
        ),
    ],
    ids=["string", "enum", "boolean", "struct"],
)
def test_samples_of_what_is_stored(name, version, spec, stored):
    of = kind(name)
    expected = obj(of, stored_name(of), spec={**stored, "originalVersion": version})
    written = obj(of, version, spec=spec)

    assert convert(of, written, stored_name(of)) == expected
    assert convert(of, expected, version) == written


ANY = {"x-kubernetes-preserve-unknown-fields": True}
STRING = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (STRING, "a", "a"),
        (None, "a", "a"),
        (ANY, "a", '"a"'),
        (ANY, {"b": 1, "a": 2}, '{"b":1,"a":2}'),
        ({"type": "number"}, 5.0, "5"),
        ({"type": "number"}, 0.5, "0.5"),
        ({"additionalProperties": STRING}, {"b": "&", "A": ""}, '{"A":"","b":"\\u0026"}'),
        ({"items": {"properties": {"zone": STRING, "aName": STRING}}},
         [{"zone": "z", "$propertyBag": {"X": "1"}, "aName": "n"}],
         '[{"aName":"n","$propertyBag":{"X":"1"},"zone":"z"}]'),
        ({"properties": {"key": STRING, "name": STRING}}, {"key": "k", "name": "n"},
         '{"name":"n","key":"k"}'),
        ({"properties": dict.fromkeys(["armId", "group", "kind", "name"], STRING)},
         {"armId": "/a", "group": "g", "kind": "k", "name": "n"},
         '{"group":"g","kind":"k","name":"n","armId":"/a"}'),
    ],
)  # fmt: skip
def test_an_entry_is_written_as_go_writes_it(schema, value, text):
    assert write_entry(value, schema) == text
