"""Typed objects: what is read is written again, to the letter; what is wrong is named."""

import copy
import dataclasses
import enum
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asoreconcile.resources import kept_fields
from asoreconcile.resources.annotations import Schema
from asoreconcile.resources.class_fields import ResourceError
from asoreconcile.resources.codec import ObjectDecodeError, codec_of
from asoreconcile.resources.crd import crd_of
from asoreconcile.resources.declaration import evolve, resource
from asoreconcile.resources.metadata import Condition, Conditions, ObjectMeta
from asoreconcile.resources.typed_kind import kind_of, resource_of
from asoreconcile.resources.values import Quantity

API = "example.com/v1"


class Size(enum.Enum):
    SMALL = "small"
    BIG = "big"


@attrs.define
class Port:
    number: int
    name: str = ""
    protocol: Literal["TCP", "UDP"] = "TCP"


@attrs.define
class Spec:
    host: str
    replicas: int = 1
    size: Size = Size.SMALL
    ports: list[Port] = attrs.field(factory=list)
    by_name: dict[str, Port] = attrs.field(factory=dict)
    tags: dict[str, str] = attrs.field(factory=dict)
    every: timedelta | None = None
    since: datetime | None = None
    memory: Quantity | None = None
    target: int | str = 80
    share: float = 0.5
    enabled: bool = False
    extra: dict[str, Any] = attrs.field(factory=dict)
    holes: list[str | None] = attrs.field(factory=list)
    secret: bytes | None = None
    from_: str | None = None
    nullable: int | None = 3


@attrs.define
class Status:
    ready: int = 0
    conditions: Conditions = attrs.field(factory=list)


@resource(API, plural="websites")
@attrs.define
class Website:
    metadata: ObjectMeta
    spec: Spec
    status: Status = attrs.field(factory=Status)


KIND = kind_of(Website)


def site(**spec):
    return {
        "apiVersion": API,
        "kind": "Website",
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"host": "shop.example.com", **spec},
    }


def decoded(document):
    return KIND.decode(copy.deepcopy(document))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.text(max_size=4), inner, max_size=2)
    ),
    max_leaves=4,
)
unknown = st.dictionaries(
    st.sampled_from(["zeta", "omega", "x"]), json_values, max_size=2
)


def with_unknown(known):
    """Objects with some of the known fields and some that no class names."""
    return st.builds(
        lambda fields, more: {**fields, **more},
        st.fixed_dictionaries({}, optional=known),
        unknown,
    )


text = st.text(max_size=5)
port = st.builds(
    lambda number, rest: {"number": number, **rest},
    st.integers(),
    with_unknown(
        {"name": text, "protocol": st.sampled_from(["TCP", "UDP"]) | st.none()}
    ),
)
times = st.sampled_from([
    "2026-01-31T12:00:00Z",
    "2026-01-31T12:00:00+00:00",
    "2026-01-31t12:00:00.5z",
    "2026-01-31T12:00:00.123456789Z",
    "2026-01-31T12:00:00.120000-07:00",
])  # fmt: skip
durations = st.sampled_from(
    ["0", "0s", "90m", "1h30m0s", "1.5s", "-250ms", "1ns", "1h"]
)
quantities = st.sampled_from(["1", "500m", "1Gi", "1024Mi", "1e3", "0.5", ".5", "-2k"])
spec = st.builds(
    lambda host, rest: {"host": host, **rest},
    text,
    with_unknown({
        "replicas": st.integers() | st.none(),
        "size": st.sampled_from(["small", "big"]),
        "ports": st.lists(port, max_size=3) | st.none(),
        "byName": st.dictionaries(text, port, max_size=2),
        "tags": st.dictionaries(text, text, max_size=2) | st.none(),
        "every": durations | st.none(),
        "since": times | st.none(),
        "memory": quantities | st.integers() | st.none(),
        "target": st.integers() | text,
        "share": st.floats(allow_nan=False, allow_infinity=False) | st.integers(),
        "enabled": st.booleans() | st.none(),
        "extra": st.dictionaries(text, json_values, max_size=2),
        "holes": st.lists(text | st.none(), max_size=3),
        "secret": st.sampled_from(["", "aGVsbG8="]) | st.none(),
        "from": text | st.none(),
        "nullable": st.integers() | st.none(),
    }),
)  # fmt: skip
condition = st.fixed_dictionaries(
    {
        "type": text,
        "status": st.sampled_from(["True", "False", "Unknown"]),
        "lastTransitionTime": times,
        "reason": text,
        "message": text,
    },
    optional={"observedGeneration": st.integers(), "extra": json_values},
)
status = with_unknown({"ready": st.integers(), "conditions": st.lists(condition)})
metadata = with_unknown({
    "name": text,
    "namespace": text,
    "generation": st.integers(),
    "labels": st.dictionaries(text, text, max_size=2) | st.none(),
    "creationTimestamp": times | st.none(),
    "finalizers": st.lists(text, max_size=2),
    "ownerReferences": st.lists(
        st.fixed_dictionaries(
            {"apiVersion": text, "kind": text, "name": text, "uid": text},
            optional={"controller": st.booleans() | st.none()},
        ),
        max_size=2,
    ),
})  # fmt: skip
objects = st.builds(
    lambda rest, more: {"apiVersion": API, "kind": "Website", **rest, **more},
    st.fixed_dictionaries(
        {"metadata": metadata, "spec": spec}, optional={"status": status | st.none()}
    ),
    unknown,
)


@settings(max_examples=150, deadline=None)
@given(objects)
def test_a_round_trip_loses_nothing_and_adds_nothing(document):
    obj = decoded(document)
    assert _same(KIND.encode(obj), document)
    # A copy by our own hand keeps what the class does not name.
    again = evolve(obj, spec=evolve(obj.spec))
    assert _same(KIND.encode(again), document)


def _same(one, other):
    """Equal, and of equal types: True is no 1."""
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and one.keys() == other.keys()
            and all(_same(one[name], other[name]) for name in one)
        )
    if isinstance(one, list):
        return (
            isinstance(other, list)
            and len(one) == len(other)
            and all(map(_same, one, other))
        )
    return type(one) is type(other) and one == other


def test_values_are_of_their_types():
    obj = decoded(
        site(
            size="big",
            ports=[{"number": 80}],
            every="90m",
            since="2026-01-31T12:00:00Z",
            memory="1Gi",
            secret="aGVsbG8=",
        )
    )
    assert obj.metadata.key.name == "shop"
    assert obj.spec.size is Size.BIG
    assert obj.spec.ports == [Port(80)]
    assert obj.spec.every == timedelta(minutes=90)
    assert obj.spec.since == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert obj.spec.memory == Quantity("1024Mi")
    assert obj.spec.memory.amount == 1 << 30
    assert obj.spec.secret == b"hello"
    assert (obj.spec.replicas, obj.spec.target, obj.spec.tags) == (1, 80, {})
    assert obj.status == Status()


def test_what_is_made_here_says_its_defaults_and_no_empty_things():
    made = KIND.encode(
        Website(
            ObjectMeta(name="shop"),
            Spec("a.b", every=timedelta(seconds=90), ports=[Port(80)]),
        )
    )
    assert made["metadata"] == {"name": "shop"}
    assert made["spec"] == {
        "host": "a.b",
        "replicas": 1,
        "size": "small",
        "ports": [{"number": 80, "name": "", "protocol": "TCP"}],
        "every": "1m30s",
        "target": 80,
        "share": 0.5,
        "enabled": False,
        "nullable": 3,
    }


def test_a_changed_default_is_written_though_the_field_was_not_there():
    obj = decoded(site())
    obj.spec.replicas = 2
    obj.spec.tags["a"] = "b"
    assert KIND.encode(obj)["spec"] == {
        "host": "shop.example.com",
        "replicas": 2,
        "tags": {"a": "b"},
    }


def test_an_item_takes_its_unknown_fields_along_when_the_list_changes():
    obj = decoded(
        site(ports=[{"number": 1, "new": "one"}, {"number": 2, "new": "two"}])
    )
    obj.spec.ports.reverse()
    obj.spec.ports.pop()
    assert KIND.encode(obj)["spec"]["ports"] == [{"number": 2, "new": "two"}]


def test_nothing_is_kept_of_an_object_that_is_gone():
    obj = decoded(site(new=1, ports=[{"number": 1, "new": 2}]))
    numbers = [id(one) for one in (obj.spec, *obj.spec.ports)]
    kept = [kept_fields._KEPT[number][1] for number in numbers]
    del obj
    # What is made meanwhile may have the place in memory, and something kept.
    left = [kept_fields._KEPT.get(number, (None, None))[1] for number in numbers]
    assert not any(one is former for one, former in zip(left, kept, strict=True))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"host": 1}, "spec.host must be a string, not 1"),
        ({"host": None}, "spec.host must not be null"),
        ({"replicas": True}, "spec.replicas must be a whole number, not True"),
        ({"replicas": 1.5}, "spec.replicas must be a whole number, not 1.5"),
        ({"enabled": "yes"}, "spec.enabled must be true or false, not 'yes'"),
        ({"size": "huge"}, "spec.size must be one of small, big, not 'huge'"),
        ({"ports": [{"number": 1}, {}]}, "spec.ports[1].number is missing"),
        ({"ports": {}}, "spec.ports must be a list, not {}"),
        ({"byName": {"a": []}}, "spec.byName.a must be an object, not []"),
        ({"tags": {"a": 1}}, "spec.tags.a must be a string, not 1"),
        ({"every": "soon"}, "spec.every is no duration such as 1h30m or 15s"),
        ({"since": "today"}, "spec.since is no time such as 2026-01-31T12:00:00Z"),
        ({"memory": "much"}, "spec.memory must be a quantity"),
        ({"target": 1.5}, "spec.target must be a whole number or a string"),
        ({"secret": "%"}, "spec.secret must be base64"),
    ],
)
def test_what_is_wrong_is_named_with_the_object(spec, said):
    with pytest.raises(ObjectDecodeError) as caught:
        KIND.decode(site(**spec))
    assert str(caught.value).startswith(f"default/shop: Website: {said}")


def test_an_object_of_another_kind_or_version_is_refused():
    for stated in ({"kind": "Shop"}, {"apiVersion": "example.com/v2"}):
        with pytest.raises(ObjectDecodeError, match=r"is .*, not "):
            KIND.decode({**site(), **stated})
    without = {name: value for name, value in site().items() if name != "kind"}
    assert KIND.decode(without).metadata.name == "shop"  # as lists have them


@dataclasses.dataclass
class Plain:
    host: str
    replicas: int = 1


@dataclasses.dataclass(slots=True, weakref_slot=True)
class Slotted:
    host: str
    tags: list[str] = dataclasses.field(default_factory=list)


@pytest.mark.parametrize("cls", [Plain, Slotted])
def test_dataclasses_keep_unknown_fields_too(cls):
    codec = codec_of(cls)
    document = {"host": "a", "new": {"deep": [1]}}
    assert codec.encode(codec.decode(copy.deepcopy(document))) == document


def test_a_model_of_pydantic_is_read_and_written():
    pydantic = pytest.importorskip("pydantic")

    class Inner(pydantic.BaseModel):  # type: ignore[name-defined]
        number: int = pydantic.Field(ge=1, description="The port.")
        some_name: str = "x"

    class Outer(pydantic.BaseModel):  # type: ignore[name-defined]
        inner: list[Inner]
        aliased: str = pydantic.Field(default="", alias="otherName")

    codec = codec_of(Outer)
    document = {"inner": [{"number": 1, "someName": "a", "new": 1}], "otherName": "q"}
    made = codec.decode(copy.deepcopy(document))
    assert made.inner[0].some_name == "a"
    assert codec.encode(made) == document
    with pytest.raises(
        ObjectDecodeError,
        match=r"inner\[0\] is refused: number: Input should be greater",
    ):
        codec.decode({"inner": [{"number": 0}]})


def test_a_kind_may_be_of_any_library():
    pydantic = pytest.importorskip("pydantic")

    class ModelSpec(pydantic.BaseModel):  # type: ignore[name-defined]
        host: Annotated[str, Schema(pattern="^a")]
        size: int = pydantic.Field(default=1, ge=1, lt=9)
        memory: Quantity | None = None

    @resource(API, plural="sites", kind="Site")
    class ModelSite(pydantic.BaseModel):  # type: ignore[name-defined]
        metadata: ObjectMeta
        spec: ModelSpec
        conditions: list[Condition] = pydantic.Field(default_factory=list)

    @dataclasses.dataclass
    class PlainSpec:
        host: Annotated[str, Schema(pattern="^a")]
        size: Annotated[int, Schema(minimum=1, maximum=9, exclusive_maximum=True)] = 1
        memory: Quantity | None = None

    @resource(API, plural="sites", kind="Site")
    @dataclasses.dataclass
    class PlainSite:
        metadata: ObjectMeta
        spec: PlainSpec
        conditions: list[Condition] = dataclasses.field(default_factory=list)

    assert crd_of(ModelSite) == crd_of(PlainSite)
    document = {
        "apiVersion": API,
        "kind": "Site",
        "metadata": {"name": "a", "new": 1},
        "spec": {"host": "a", "size": 2, "memory": "1Gi", "new": {"deep": 1}},
    }
    for cls in (ModelSite, PlainSite):
        made = kind_of(cls).decode(copy.deepcopy(document))
        assert (made.metadata.name, made.spec.size) == ("a", 2)  # type: ignore[attr-defined]
        assert made.spec.memory == Quantity("1024Mi")  # type: ignore[attr-defined]
        assert kind_of(cls).encode(made) == document
        again = evolve(made, spec=evolve(made.spec, size=3))  # type: ignore[attr-defined]
        assert kind_of(cls).encode(again)["spec"] == {**document["spec"], "size": 3}


def test_a_class_validates_by_its_own_means():
    @attrs.define
    class Checked:
        host: str = attrs.field(validator=attrs.validators.matches_re(r".+\..+"))

    with pytest.raises(ObjectDecodeError, match="it is refused: 'host' must match"):
        codec_of(Checked).decode({"host": "shop"})


@attrs.define
class Node:
    name: str
    children: "list[Node]" = attrs.field(factory=list)


def test_a_class_may_hold_itself():
    document = {"name": "a", "children": [{"name": "b", "new": 1, "children": []}]}
    codec = codec_of(Node)
    assert codec.encode(codec.decode(copy.deepcopy(document))) == document


@attrs.define
class _Two:
    some_name: str = ""
    someName: str = ""  # noqa: N815 - the same in JSON


@dataclasses.dataclass(slots=True)
class _Tight:
    host: str = ""


def _of(hint, **default):
    return attrs.make_class("Made", {"field": attrs.field(type=hint, **default)})


@pytest.mark.parametrize(
    ("cls", "said"),
    [
        (_of(int | list[str]), "Made.field: .*give one type"),
        (_of(dict[int, str]), "Made.field: the names of a map are strings"),
        (_of(tuple[int, str]), "Made.field: a tuple of fixed length"),
        (_of(set[str]), "Made.field: a set has no order"),
        (_of(complex), "Made.field: .*complex.* is no type of JSON"),
        (_Two, "_Two: some_name and someName are both 'someName'"),
        (_Tight, "_Tight: .*weakref_slot=True"),
        (str, "str is no class of attrs, dataclasses or pydantic"),
    ],
)
def test_a_class_that_cannot_be_read_is_refused_with_the_field_and_the_rule(cls, said):
    with pytest.raises(ResourceError, match=said):
        codec_of(cls)


@pytest.mark.parametrize(
    ("api_version", "plural", "said"),
    [
        ("Example.com/v1", "websites", "no apiVersion"),
        ("example.com/1", "websites", "no apiVersion"),
        (API, "Websites", "no plural"),
        (API, "web sites", "no plural"),
    ],
)
def test_a_declaration_that_no_server_would_take_is_refused(api_version, plural, said):
    with pytest.raises(ResourceError, match=said):
        resource(api_version, plural=plural)


def test_a_resource_has_metadata_and_says_no_kind_itself():
    def declared(**fields):
        made = attrs.make_class(
            "Made", {name: attrs.field(type=hint) for name, hint in fields.items()}
        )
        return resource(API, plural="mades")(made)

    with pytest.raises(ResourceError, match="has to have a field metadata: ObjectMeta"):
        declared(spec=Spec)
    with pytest.raises(ResourceError, match="metadata: ObjectMeta"):
        declared(metadata=dict[str, str])
    with pytest.raises(ResourceError, match=r"Made\.kind: kind is @resource's to say"):
        declared(metadata=ObjectMeta, kind=str)
    with pytest.raises(ResourceError, match="has no fields yet"):
        resource(API, plural="strs")(str)
    assert resource_of(declared(metadata=ObjectMeta)).kind == "Made"


def test_a_subclass_is_no_resource_until_it_is_declared():
    class Derived(Website):
        pass

    with pytest.raises(ResourceError, match="Derived is no resource"):
        kind_of(Derived)
    with pytest.raises(ResourceError, match="'websites' is no class"):
        kind_of("websites")


def test_a_field_may_have_another_name_in_json():
    @attrs.define
    class Named:
        cluster_ip: Annotated[str, Schema(name="clusterIP")] = ""

    assert codec_of(Named).encode(Named("10.0.0.1")) == {"clusterIP": "10.0.0.1"}


def test_conditions_are_read_as_objects():
    document = site() | {
        "status": {
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "lastTransitionTime": "2026-01-31T12:00:00Z",
                    "reason": "Serving",
                    "message": "",
                }
            ]
        }
    }
    (found,) = decoded(document).status.conditions
    assert found == Condition(
        type="Ready",
        status="True",
        last_transition_time=datetime(2026, 1, 31, 12, tzinfo=UTC),
        reason="Serving",
        message="",
    )
