"""Constraints of annotated-types, pydantic and `Schema`, wherever they are said: in
lists, maps and Optional they reach the schema, or the class is refused.
"""

import dataclasses
import enum
import itertools
import math
import random
import re
import uuid
from datetime import datetime
from typing import Annotated, Any, NewType, Optional

import annotated_types as at
import attrs
import pydantic
import pytest

from asoreconcile.resources.annotations import Schema
from asoreconcile.resources.class_fields import ResourceError
from asoreconcile.resources.codec import codec_of
from asoreconcile.resources.declaration import resource
from asoreconcile.resources.metadata import ObjectMeta
from asoreconcile.resources.schema import object_schema
from asoreconcile.resources.typed_kind import from_dict, to_dict
from asoreconcile.resources.violations import violations

INT = {"type": "integer", "format": "int64"}
TEXT = {"type": "string"}
Port = NewType("Port", Annotated[int, at.Interval(ge=1, le=65535)])


def attrs_class(hint, **default):
    return attrs.make_class("Spec", {"field": attrs.field(type=hint, **default)})


def data_class(hint, **default):
    made = dataclasses.field(**default)
    return dataclasses.make_dataclass("Spec", [("field", hint, made)])


def model(hint, **default):
    made = pydantic.Field(**default) if default else ...
    return pydantic.create_model("Spec", field=(hint, made))


def declared(spec):
    fields = {"metadata": attrs.field(type=ObjectMeta), "spec": attrs.field(type=spec)}
    return resource("example.com/v1", plural="kinds")(attrs.make_class("Kind", fields))


def schema_of(spec):
    return object_schema(declared(spec))["properties"]["spec"]["properties"]["field"]


NUMBERS = itertools.count()
LIBRARIES = pytest.mark.parametrize("make", [attrs_class, data_class, model])
BOUND = {**INT, "minimum": 1, "maximum": 65535}
FIELD = pydantic.Field(min_length=1, pattern="^a")
SAID = {**TEXT, "minLength": 1, "pattern": "^a"}


@LIBRARIES
@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (Annotated[int, at.Gt(0)], {**INT, "minimum": 0, "exclusiveMinimum": True}),
        (list[Port], {"type": "array", "items": BOUND}),
        (dict[str, Port], {"type": "object", "additionalProperties": BOUND}),
        (Port | None, {**BOUND, "nullable": True}),
        (
            dict[str, list[Port | None]],
            {
                "type": "object",
                "additionalProperties": {
                    "type": "array",
                    "items": {**BOUND, "nullable": True},
                },
            },
        ),
        (Annotated[str, FIELD], SAID),
        (list[Annotated[str, FIELD]], {"type": "array", "items": SAID}),
        (Optional[Annotated[str, FIELD]], {**SAID, "nullable": True}),  # noqa: UP045
        (Annotated[list[str], at.Len(1, 3)],
         {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 3}),
        (Annotated[dict[str, str], at.MaxLen(3)],
         {"type": "object", "additionalProperties": TEXT, "maxProperties": 3}),
        (list[Annotated[str, pydantic.StringConstraints(max_length=3)]],
         {"type": "array", "items": {**TEXT, "maxLength": 3}}),
        (list[Annotated[str, pydantic.Field(pattern=re.compile("b"))]],
         {"type": "array", "items": {**TEXT, "pattern": "b"}}),
        (Annotated[str, Schema(enum=["a"], example={})] | None,
         {**TEXT, "enum": ["a"], "example": {}, "nullable": True}),
        (
            Annotated[int, at.Ge(1)] | Annotated[str, at.MaxLen(3)],
            {
                "anyOf": [{"type": "integer"}, {"type": "string"}],
                "x-kubernetes-int-or-string": True,
                "minimum": 1,
                "maxLength": 3,
            },
        ),
        (
            dict[str, Annotated[Any, Schema(nullable=True)]],
            {
                "type": "object",
                "additionalProperties": {
                    "x-kubernetes-preserve-unknown-fields": True,
                    "nullable": True,
                },
            },
        ),
        (Annotated[str, at.doc("Prose.")], {"description": "Prose.", **TEXT}),
        (Annotated[int, pydantic.Strict()], INT),
    ],
)  # fmt: skip
def test_a_constraint_reaches_the_schema_from_any_depth(make, hint, expected):
    assert schema_of(make(hint)) == expected


def test_all_constraints_of_a_type_hold():
    schema = schema_of(attrs_class(Annotated[int, at.Ge(5), at.Gt(0), at.Gt(7)]))
    assert [not violations(n, schema) for n in (0, 1, 5, 7, 8)] == [False] * 4 + [True]


@LIBRARIES
@pytest.mark.parametrize(
    ("hint", "said"),
    [
        (list[Annotated[str, at.Predicate(str.islower)]], "Predicate.*cannot be expr"),
        (Annotated[datetime, at.Timezone(None)] | None, "Timezone.*cannot be expressed"),
        (dict[str, Annotated[str, pydantic.AfterValidator(str.strip)]], "AfterValidat"),
        (Annotated[str, pydantic.StringConstraints(strip_whitespace=True)], "cannot be expressed"),
        (Annotated[float, pydantic.Field(decimal_places=2)], "cannot be expressed"),
        (
            Annotated[str, pydantic.Field(pattern=re.compile("b", re.IGNORECASE))],
            "cannot be expressed",
        ),
        (dict[Annotated[str, at.MaxLen(3)], str], "nothing of the keys of a map"),
        (list[Annotated[str, at.Ge(3)]], "minimum says nothing about string"),
        (Annotated[int, Schema(enum=[1])] | str, "enum cannot be said of one of two"),
        (Annotated[int, at.Ge(1)] | float, "said of the whole union"),
        (list[Annotated[float, at.Lt(math.inf)]], "maximum is inf, which JSON"),
    ],
)  # fmt: skip
def test_a_constraint_that_no_schema_has_is_refused_at_declaration(make, hint, said):
    with pytest.raises(ResourceError, match=said) as caught:
        declared(make(hint))
    assert "field" in str(caught.value)


@LIBRARIES
@pytest.mark.parametrize("hint", [Port | None, Optional[Annotated[int, at.Ge(1)]]])  # noqa: UP045
def test_a_null_beside_a_default_is_a_value(make, hint):
    cls = declared(make(hint, default=5))
    inner = object_schema(cls)["properties"]["spec"]["properties"]["field"]
    assert (inner["default"], inner["nullable"]) == (5, True)
    for field in ({"field": None}, {"field": 7}, {}):
        document = {
            "apiVersion": "example.com/v1",
            "kind": "Kind",
            "metadata": {"name": "a"},
            "spec": field,
        }
        assert to_dict(from_dict(cls, document)) == document
    made = cls(metadata=ObjectMeta(name="a"), spec=from_dict(cls, document).spec)
    made.spec.field = None
    assert to_dict(made)["spec"] == {"field": None}


@LIBRARIES
@pytest.mark.parametrize(
    "factory",
    [
        lambda: str(uuid.uuid4()),
        lambda: [random.randint(0, 1_000_000)],
        lambda: {"a": next(NUMBERS)},
    ],
)
def test_a_default_that_differs_each_time_is_refused(make, factory):
    key = "factory" if make is attrs_class else "default_factory"
    with pytest.raises(ResourceError, match="its default differs each time"):
        declared(make(Any, **{key: factory}))


def test_aliases_of_pydantic_are_names_in_json():
    class Spec(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(alias_generator=lambda name: f"x-{name}")
        one: int
        two: int = pydantic.Field(alias="second")
        three: int = pydantic.Field(validation_alias="third", alias="third")

    document = {"x-one": 1, "second": 2, "third": 3}
    codec = codec_of(Spec)
    assert codec.encode(codec.decode(dict(document))) == document


@pytest.mark.parametrize(
    "names",
    [
        {"validation_alias": "a", "serialization_alias": "b"},
        {"serialization_alias": "b", "alias": "c"},
        {"validation_alias": pydantic.AliasChoices("a", "b")},
        {"validation_alias": pydantic.AliasPath("a", 0)},
    ],
)
def test_a_field_with_two_names_is_refused(names):
    spec = pydantic.create_model("Spec", field=(int, pydantic.Field(**names)))
    with pytest.raises(
        ResourceError, match=r"Spec\.field: a field is read and written"
    ):
        declared(spec)


def test_a_dataclass_of_pydantic_is_read_with_its_constraints():
    @pydantic.dataclasses.dataclass
    class Spec:
        field: int = pydantic.Field(default=3, ge=1)

    assert schema_of(Spec) == {**INT, "minimum": 1, "default": 3}


@pytest.mark.parametrize(
    "config",
    [{"str_max_length": 3}, {"str_strip_whitespace": True}, {"str_to_lower": True}],
)
@pytest.mark.parametrize("of", ["model", "dataclass"])
def test_a_constraint_of_all_texts_of_a_class_is_refused(of, config):
    class Spec(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(**config)
        field: str

    @pydantic.dataclasses.dataclass(config=config)
    class Data:
        field: str

    with pytest.raises(ResourceError, match=f"would not check {next(iter(config))}"):
        declared(Spec if of == "model" else Data)


def test_a_model_may_keep_the_values_of_its_enums():
    class Size(enum.Enum):
        BIG = "big"

    class Spec(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(use_enum_values=True)
        size: Size

    codec = codec_of(Spec)
    assert codec.encode(codec.decode({"size": "big"})) == {"size": "big"}


def test_a_root_model_and_a_default_of_the_object_are_refused():
    class Root(pydantic.RootModel[list[int]]):
        pass

    class Made(pydantic.BaseModel):
        a: int = 1
        b: int = pydantic.Field(default_factory=lambda data: data["a"])

    with pytest.raises(ResourceError, match="a RootModel has no fields"):
        declared(Root)
    with pytest.raises(ResourceError, match=r"Made\.b: a default that takes the obj"):
        declared(Made)
