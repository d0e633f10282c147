"""CRDs from classes: what is made, and what is refused with the field and the rule."""

import dataclasses
import enum
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, NewType

import attrs
import pytest

from asoreconcile.resources.annotations import PrinterColumn, Rule, ScalePaths, Schema
from asoreconcile.resources.class_fields import ResourceError
from asoreconcile.resources.crd import by_kind, crd_of
from asoreconcile.resources.declaration import resource
from asoreconcile.resources.metadata import ObjectMeta
from asoreconcile.resources.schema import object_schema
from asoreconcile.resources.stored_data import dropped_data
from asoreconcile.resources.values import Quantity
from asoreconcile.resources.violations import violations

API = "example.com/v1"
HostName = NewType("HostName", str)


class Size(enum.IntEnum):
    ONE = 1
    TWO = 2


@attrs.define
class Template:
    """What each pod is."""

    metadata: ObjectMeta = attrs.field(factory=ObjectMeta)
    image: str = "nginx"
    "What runs."


@attrs.define
class Item:
    key: str
    value: Annotated[str, "What it is."] = ""


def schema_of(hint, **default):
    """The schema of one field of a class."""
    inner = attrs.make_class("Spec", {"field": attrs.field(type=hint, **default)})
    outer = attrs.make_class(
        "Kind",
        {"metadata": attrs.field(type=ObjectMeta), "spec": attrs.field(type=inner)},
    )
    made = object_schema(outer)["properties"]["spec"]
    return made["properties"]["field"]


INT = {"type": "integer", "format": "int64"}
INT_OR_STRING = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (int, INT),
        (str, {"type": "string"}),
        (HostName, {"type": "string"}),
        (bool, {"type": "boolean"}),
        (float, {"type": "number"}),
        (bytes, {"type": "string", "format": "byte"}),
        (datetime, {"type": "string", "format": "date-time"}),
        (timedelta, {"type": "string"}),
        (int | str, INT_OR_STRING),
        (int | None, {**INT, "nullable": True}),
        (list[int], {"type": "array", "items": INT}),
        (tuple[int, ...], {"type": "array", "items": INT}),
        (list[str | None], {"type": "array", "items": {"type": "string", "nullable": True}}),
        (dict[str, int], {"type": "object", "additionalProperties": INT}),
        (dict[str, Any], {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        (Any, {"x-kubernetes-preserve-unknown-fields": True}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Size, {"type": "integer", "enum": [1, 2]}),
        (
            Item,
            {
                "type": "object",
                "properties": {
                    "key": {"type": "string"},
                    "value": {
                        "description": "What it is.",
                        "type": "string",
                        "default": "",
                    },
                },
                "required": ["key"],
            },
        ),
        (Annotated[int, Schema(minimum=1, maximum=9, multiple_of=2)],
         {**INT, "minimum": 1, "maximum": 9, "multipleOf": 2}),
        (Annotated[float, Schema(minimum=0, exclusive_minimum=True)],
         {"type": "number", "minimum": 0, "exclusiveMinimum": True}),
        (Annotated[str, Schema(pattern="^a", min_length=1, max_length=3)],
         {"type": "string", "pattern": "^a", "minLength": 1, "maxLength": 3}),
        (Annotated[str, Schema(format="ipv4", title="Address", example="10.0.0.1")],
         {"type": "string", "format": "ipv4", "title": "Address", "example": "10.0.0.1"}),
        (Annotated[str, Schema(enum=["a", "b"])], {"type": "string", "enum": ["a", "b"]}),
        (
            Annotated[list[str], Schema(unique=True, max_length=3)],
            {
                "type": "array",
                "items": {"type": "string"},
                "maxItems": 3,
                "x-kubernetes-list-type": "set",
            },
        ),
        (
            Annotated[dict[str, str], Schema(max_length=3, atomic=True)],
            {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "maxProperties": 3,
                "x-kubernetes-map-type": "atomic",
            },
        ),
        (Annotated[list[str], Schema(items=Schema(min_length=2))],
         {"type": "array", "items": {"type": "string", "minLength": 2}}),
        (list[Annotated[str, Schema(min_length=2)]],
         {"type": "array", "items": {"type": "string", "minLength": 2}}),
        (
            Annotated[int, Schema(rules=[Rule("self > 1", "more", reason="FieldValueInvalid")])],
            {
                **INT,
                "x-kubernetes-validations": [
                    {"rule": "self > 1", "message": "more", "reason": "FieldValueInvalid"}
                ],
            },
        ),
        (
            Annotated[str, Schema(immutable=True)],
            {
                "type": "string",
                "x-kubernetes-validations": [
                    {"rule": "self == oldSelf", "message": "is immutable"}
                ],
            },
        ),
    ],
)  # fmt: skip
def test_a_type_becomes_its_schema(hint, expected):
    assert schema_of(hint) == expected


def test_a_quantity_is_int_or_string_of_a_form():
    made = schema_of(Quantity)
    assert made.pop("pattern")
    assert made == INT_OR_STRING


def test_an_object_in_an_object_has_the_metadata_that_its_writer_says():
    made = schema_of(Template, factory=Template)
    assert made["description"] == "What each pod is."
    assert made["properties"]["image"] == {
        "description": "What runs.",
        "type": "string",
        "default": "nginx",
    }
    assert {"name", "labels", "annotations"} <= made["properties"]["metadata"][
        "properties"
    ].keys()
    assert made["default"] == {"image": "nginx"}


def test_the_string_below_a_field_is_found_wherever_the_class_is():
    class Outer:
        @attrs.define
        class Inner:
            size: int = 1
            """How large."""

    made = schema_of(Outer.Inner, factory=Outer.Inner)
    assert made["properties"]["size"]["description"] == "How large."


def test_an_immutable_field_that_may_be_left_out_is_not_taken_away():
    inner = attrs.make_class(
        "Spec",
        {"for_": attrs.field(type=Annotated[str, Schema(immutable=True)], default="")},  # type: ignore[call-overload]
    )
    outer = attrs.make_class(
        "Kind",
        {"metadata": attrs.field(type=ObjectMeta), "spec": attrs.field(type=inner)},
    )
    (rule,) = object_schema(outer)["properties"]["spec"]["x-kubernetes-validations"]
    assert rule["rule"] == "!has(oldSelf.__for__) || has(self.__for__)"


@dataclasses.dataclass
class Loop:
    inner: "Loop | None" = None


@pytest.mark.parametrize(
    ("hint", "default", "said"),
    [
        (Loop, {}, r"Kind\.spec\.field\.inner: Loop holds itself"),
        (Annotated[str, Schema(minimum=1)], {}, "minimum says nothing about string"),
        (Annotated[int, Schema(pattern="a")], {}, "pattern says nothing about integer"),
        (Annotated[int, Schema(min_length=1)], {}, "minLength says nothing about int"),
        (Annotated[Any, Schema(maximum=1)], {}, "nothing about a value of any type"),
        (Annotated[str, Schema(unique=True)], {}, "unique, map_keys and atomic are for"),
        (Annotated[list[Item], Schema(unique=True)], {}, "unique is for lists of str"),
        (
            Annotated[list[str], Schema(unique=True, atomic=True)],
            {},
            "a list is one of unique, map_keys and atomic",
        ),
        (Annotated[list[Item], Schema(map_keys=["id"])], {}, "'id' is no plain field"),
        (Annotated[str, Schema(items=Schema())], {}, "items are said of lists and maps"),
        (Annotated[str, Schema(preserve_unknown=True)], {}, "is for objects, not string"),
        (Literal["a", 1], {}, "of one type"),
        (
            Annotated[int, Schema(minimum=1)],
            {"default": 0},
            r"Kind\.spec\.field: its default must be 1 at least, not 0",
        ),
        (
            Annotated[str, Schema(enum=["a"])],
            {"default": "b"},
            "its default must be one of a, not 'b'",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_a_structural_schema_is_refused(hint, default, said):
    with pytest.raises(ResourceError, match=said) as caught:
        schema_of(hint, **default)
    assert str(caught.value).startswith("Kind.spec.field")


def test_a_map_key_is_required_or_has_a_default():
    @attrs.define
    class Keyed:
        name: str
        zone: str | None = None
        port: int = 80

    for keys, fits in ((["name", "port"], True), (["zone"], False)):
        hint = Annotated[list[Keyed], Schema(map_keys=keys)]
        if fits:
            assert schema_of(hint)["x-kubernetes-list-map-keys"] == keys
            continue
        with pytest.raises(ResourceError, match="has to be required, or to have a def"):
            schema_of(hint)


@attrs.define
class SiteSpec:
    host: str
    replicas: Annotated[int, Schema(minimum=0)] = 1
    until: datetime | None = None


@attrs.define
class SiteStatus:
    replicas: int = 0
    selector: str = ""


@resource(
    API,
    plural="websites",
    kind="Website",
    short_names=["ws"],
    categories=["all"],
    columns=[
        PrinterColumn("Host", ".spec.host"),
        PrinterColumn("Replicas", ".spec.replicas", wide=True),
        PrinterColumn("Until", ".spec.until"),
        PrinterColumn("Age", ".metadata.creationTimestamp"),
    ],
    scale=ScalePaths(selector=".status.selector"),
    rules=[Rule("self.metadata.name.size() < 20", "a short name")],
    selectable=[".spec.host"],
    deprecated="use v2",
)
@attrs.define
class SiteV1:
    """A site.

    Served by pods.
    """

    metadata: ObjectMeta
    spec: SiteSpec
    status: SiteStatus = attrs.field(factory=SiteStatus)


def version(cls_name, number, spec, **said):
    made = attrs.make_class(
        cls_name,
        {"metadata": attrs.field(type=ObjectMeta), "spec": attrs.field(type=spec)},
    )
    return resource(
        f"example.com/{number}", **{"plural": "websites", "kind": "Website", **said}
    )(made)


def test_a_crd_says_all_that_was_declared():
    made = crd_of(SiteV1)
    assert made["metadata"] == {"name": "websites.example.com"}
    assert made["spec"]["names"] == {
        "kind": "Website",
        "listKind": "WebsiteList",
        "plural": "websites",
        "singular": "website",
        "shortNames": ["ws"],
        "categories": ["all"],
    }
    assert made["spec"]["scope"] == "Namespaced"
    (only,) = made["spec"]["versions"]
    assert only["additionalPrinterColumns"] == [
        {"name": "Host", "type": "string", "jsonPath": ".spec.host"},
        {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas", "priority": 1},
        {"name": "Until", "type": "date", "jsonPath": ".spec.until"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]  # fmt: skip
    assert only["subresources"] == {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    }
    assert only["selectableFields"] == [{"jsonPath": ".spec.host"}]
    assert (only["deprecated"], only["deprecationWarning"]) == (True, "use v2")
    schema = only["schema"]["openAPIV3Schema"]
    assert schema["description"] == "A site.\n\nServed by pods."
    assert schema["required"] == ["spec"] or schema["required"] == ["metadata", "spec"]
    assert schema["x-kubernetes-validations"][0]["message"] == "a short name"
    assert "default" not in schema["properties"]["status"]


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"columns": [PrinterColumn("Host", ".spec.hosts")]}, "column .spec.hosts: there"),
        ({"scale": ScalePaths(".spec.size")}, "scale .spec.size: there is no such field"),
        ({"selectable": [".spec.nobody"]}, "selectable .spec.nobody: there is no such"),
    ],
)  # fmt: skip
def test_a_path_that_leads_nowhere_is_refused(said, error):
    with pytest.raises(ResourceError, match=error):
        crd_of(version("Site", "v1", SiteSpec, **said))


@attrs.define
class Odd:
    host: Annotated[str, Schema(pattern="(?=a)")]


@attrs.define
class Frozen:
    hosts: list[Annotated[str, Schema(immutable=True)]]


@attrs.define
class Hosts:
    hosts: list[str]


def test_rules_with_functions_of_kubernetes_are_taken_with_the_engine_or_without(
    monkeypatch,
):
    rule = "isURL(self.spec.host) || cidr('10.0.0.0/8').containsIP(self.spec.host)"
    crd_of(version("Site", "v1", SiteSpec, rules=[Rule(rule)]))
    monkeypatch.setattr("asoreconcile.resources.crd.find_spec", lambda _: None)
    crd_of(version("Site", "v1", SiteSpec, rules=[Rule("only the server can tell")]))


@pytest.mark.parametrize(
    ("spec", "said", "error"),
    [
        (SiteSpec, {"short_names": ["A B"]}, r"spec\.names\.shortNames\[0\]: .*label"),
        (SiteSpec, {"categories": ["all", ""]}, r"spec\.names\.categories\[1\]"),
        (SiteSpec, {"selectable": [".spec"]}, r"selectableFields.* must point to a field"),
        (SiteSpec, {"deprecated": "x" * 257}, "deprecationWarning.* 256 characters"),
        (SiteSpec, {"columns": [PrinterColumn("", ".spec.host")]}, r"\.name: Required"),
        (Odd, {}, r"properties\[host\]\.pattern: .*valid regular expression"),
        (Frozen, {}, "oldSelf cannot be used on the uncorrelatable portion"),
        (SiteSpec, {"rules": [Rule("true", " ")]}, "message: .*must be non-empty"),
        (SiteSpec, {"rules": [Rule("self.spec.hots == ''")]}, "undefined field 'hots'"),
        (SiteSpec, {"rules": [Rule("size(self.spec.host)")]}, "must evaluate to a bool"),
        (SiteSpec, {"rules": [Rule("ip(self.spec.host) == 1")]}, "no matching overload"),
        (
            Hosts,
            {"rules": [Rule("self.spec.hosts.all(a, self.spec.hosts.all(b, a <= b))")]},
            "exceeds budget",
        ),
    ],
)  # fmt: skip
def test_a_crd_that_kubernetes_would_refuse_is_refused_here(spec, said, error):
    with pytest.raises(ResourceError, match=error):
        crd_of(version("Site", "v1", spec, **said))


@attrs.define
class OtherSpec:
    host: str
    size: int = 1


def test_several_versions_are_one_crd_newest_first():
    classes = [
        version("A", "v1beta1", SiteSpec),
        version("B", "v1", SiteSpec, storage=True),
        version("C", "v2alpha1", SiteSpec, served=False),
        version("D", "v10", SiteSpec),
    ]
    made = crd_of(*classes)["spec"]["versions"]
    assert [one["name"] for one in made] == ["v10", "v1", "v1beta1", "v2alpha1"]
    assert [one["storage"] for one in made] == [False, True, False, False]
    assert [one["served"] for one in made] == [True, True, True, False]
    assert by_kind([*classes, SiteV1]) == [[*classes, SiteV1]]


def test_versions_that_differ_need_a_conversion():
    one = version("A", "v1", SiteSpec, storage=True)
    other = version("B", "v2", OtherSpec)
    with pytest.raises(
        ResourceError, match=r"differ in \.spec\.\w+: without a conversion"
    ):
        crd_of(one, other)
    service = {"service": {"namespace": "a", "name": "b", "path": "/convert"}}
    made = crd_of(one, other, conversion=service)["spec"]["conversion"]
    assert made["strategy"] == "Webhook"
    assert made["webhook"]["clientConfig"] == service


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        ([version("A", "v1", SiteSpec), version("B", "v2", SiteSpec)], "one is stored"),
        ([version("A", "v1", SiteSpec), version("B", "v1", SiteSpec)], "v1 is there tw|one is"),
        (
            [version("A", "v1", SiteSpec), version("B", "v2", SiteSpec, plural="sites")],
            "plural is 'sites', and 'websites' in v1",
        ),
        ([], "one class at least"),
    ],
)  # fmt: skip
def test_versions_that_disagree_are_refused(classes, said):
    with pytest.raises(ResourceError, match=said):
        crd_of(*classes)


def test_a_group_without_a_dot_has_no_crd():
    made = attrs.make_class("Pod", {"metadata": attrs.field(type=ObjectMeta)})
    with pytest.raises(ResourceError, match="a CRD's group has a dot"):
        crd_of(resource("v1", plural="pods")(made))


def stored(*versions, crd=None):
    crd = crd or crd_of(version("A", "v1", SiteSpec))
    return {**crd, "status": {"storedVersions": list(versions)}}


@attrs.define
class WiderSpec(SiteSpec):
    more: dict[str, Any] = attrs.field(factory=dict)


def test_a_crd_that_only_adds_drops_nothing():
    assert dropped_data(stored("v1"), crd_of(version("A", "v1", SiteSpec))) == []
    assert dropped_data(stored("v1"), crd_of(version("A", "v1", WiderSpec))) == []


def test_a_field_that_goes_is_data_that_is_dropped():
    found = dropped_data(stored("v1"), crd_of(version("A", "v1", OtherSpec)))
    assert found == [
        "v1: .spec.replicas would be dropped",
        "v1: .spec.until would be dropped",
    ]
    wide = stored("v1", crd=crd_of(version("A", "v1", WiderSpec)))
    assert dropped_data(wide, crd_of(version("A", "v1", SiteSpec))) == [
        "v1: .spec.more would be dropped"
    ]


def test_a_whole_number_may_become_any_number():
    whole = stored("v1", crd=crd_of(version("A", "v1", OtherSpec)))
    wider = attrs.make_class(
        "Spec",
        {"host": attrs.field(type=str), "size": attrs.field(type=float, default=1.0)},
    )
    assert dropped_data(whole, crd_of(version("A", "v1", wider))) == []
    back = stored("v1", crd=crd_of(version("A", "v1", wider)))
    assert dropped_data(back, crd_of(version("A", "v1", OtherSpec))) == [
        "v1: .spec.size (number, integer) would be dropped"
    ]


def test_a_stored_version_that_goes_is_refused():
    (found,) = dropped_data(stored("v1"), crd_of(version("A", "v2", SiteSpec)))
    assert found.startswith("version v1 would go, in which objects are stored")


def test_a_scope_cannot_change():
    cluster = crd_of(version("A", "v1", SiteSpec, namespaced=False))
    (found,) = dropped_data(stored("v1"), cluster)
    assert found == "scope would become 'Cluster', and is 'Namespaced'"


@pytest.mark.parametrize(
    ("value", "schema", "said"),
    [
        (1, {"type": "string"}, ["must be a string, not 1"]),
        (True, {"type": "integer"}, ["must be a whole number, not True"]),
        (2.0, {"type": "integer"}, []),
        (None, {"type": "string"}, ["must not be null"]),
        (None, {"type": "string", "nullable": True}, []),
        (1.5, INT_OR_STRING, ["must be a whole number or string, not 1.5"]),
        ("b", {"type": "string", "pattern": "^a"}, ["must match ^a, not 'b'"]),
        ("ab", {"type": "string", "maxLength": 1}, ["has 2 characters, and 1 at most"]),
        (5, {"type": "integer", "maximum": 4}, ["must be 4 at most, not 5"]),
        (4, {"type": "integer", "maximum": 4, "exclusiveMaximum": True},
         ["must be less than 4, not 4"]),
        (3, {"type": "integer", "minimum": 3, "exclusiveMinimum": True},
         ["must be more than 3, not 3"]),
        (3, {"type": "integer", "multipleOf": 2}, ["must be a multiple of 2, not 3"]),
        (["a", "a"], {"type": "array", "x-kubernetes-list-type": "set"}, ["has 'a' twice"]),
        ([{"k": 1}, {"k": 1}],
         {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]},
         ["has 1 twice"]),
        ([], {"type": "array", "minItems": 1}, ["has 0 items, and 1 at least"]),
        ({"a": 1},
         {"type": "object", "required": ["b"], "properties": {"a": {"type": "string"}}},
         [".b: is missing", ".a: must be a string, not 1"]),
        ({"a": [1]},
         {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
         [".a[0]: must be a string, not 1"]),
    ],
)  # fmt: skip
def test_a_value_is_judged_as_the_server_would(value, schema, said):
    assert violations(value, schema) == said
