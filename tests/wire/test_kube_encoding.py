"""Bodies that are not JSON are refused with object and path, and nothing is sent."""

import base64
import dataclasses
import json
import math
import random
import uuid
from datetime import UTC, date, datetime, time, timedelta, timezone

import attrs
import pytest

from asoreconcile import (
    CONFIG_MAPS,
    EncodeError,
    ObjectKey,
    ObjectMeta,
    create_or_patch,
    resource,
    to_dict,
)
from asoreconcile.base import jsontext
from asoreconcile.base.objects import copy_json
from asoreconcile.resources.values import Quantity
from asoreconcile.webhooks import conversion
from asoreconcile.webhooks.admission import mutating, respond
from asoreconcile.webhooks.reviews import Review

NAN, INF = math.nan, math.inf
ZONELESS = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)


@dataclasses.dataclass
class Plain:
    number: int = 1


@attrs.define
class Classy:
    number: int = 1


class Double(float):
    """A scalar like numpy's."""


def looped():
    value: dict[str, object] = {"again": None}
    value["again"] = value["twice"] = value
    return value


def nested(levels, inside=None):
    for _ in range(levels):
        inside = [inside] if inside is not None else []
    return inside


REFUSED = {
    "nan": NAN,
    "infinite": INF,
    "minus-infinite": -INF,
    "nan-beside-null": [None, {"a": None}, NAN],
    "nan-deep": nested(300, [None, NAN]),
    "float-class": Double(1.5),
    "set": {1},
    "frozenset": frozenset({"a"}),
    "bytes": b"a",
    "bytearray": bytearray(b"a"),
    "quantity": Quantity("1"),
    "naive-time": ZONELESS,
    "time-of-day": time(1),
    "duration": timedelta(seconds=1),
    "number-key": {1: "a"},
    "null-key": {None: "a"},
    "bool-key": {True: "a"},
    "deep-number-key": nested(300, {1: [2]}),
    "half": "\ud800",
    "half-key": {"\udfff": 1},
    "large": 1 << 64,
    "small": -(1 << 63) - 1,
    "loop": looped(),
    "too-deep": nested(10_001),
    "dataclass": Plain(),
    "attrs": Classy(),
    "object": object(),
    "function": len,
    "complex": 1j,
}
TAKEN = {
    "zoned": (datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01T00:00:00Z"),
    "offset": (
        datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
        "2026-01-01T00:00:00Z",
    ),
    "day": (date(2026, 1, 1), "2026-01-01"),
    "tuple": ((1, None), [1, None]),
    "uuid": (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    "null": (None, None),
    "word": ("null", "null"),
    "large-float": ([None, 1.7e308, -1e308], [None, 1.7e308, -1e308]),
    "delete-sign": ([None, "\x7f", 127, -1], [None, "\x7f", 127, -1]),
}


@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED)
def test_cl10_what_json_does_not_have_is_refused_by_object_and_path(value):
    obj = {"kind": "Thing", "metadata": {"namespace": "n", "name": "a"}}
    obj["spec"] = {"items": [0, {"it.em": value}]}
    for encode in (jsontext.dumps, copy_json):
        with pytest.raises(
            EncodeError, match=r"^Thing n/a: spec\.items\[1\]\['it\.em'\]"
        ):
            encode(obj)
    with pytest.raises(EncodeError):
        jsontext.dumps(value, sort_keys=True)


@pytest.mark.parametrize(("value", "read"), TAKEN.values(), ids=TAKEN)
def test_cl10_what_json_has_is_written(value, read):
    assert json.loads(jsontext.dumps({"a": value})) == {"a": read}
    assert copy_json({"a": value}) == {"a": read}


def test_cl10_a_bad_number_is_found_wherever_it_is():
    seeded = random.Random(57)

    def grown(levels):
        kind = seeded.randrange(6) if levels else seeded.randrange(2, 6)
        if kind == 0:
            return [grown(levels - 1) for _ in range(seeded.randrange(4))]
        if kind == 1:
            return {f"k{n}": grown(levels - 1) for n in range(seeded.randrange(4))}
        return (None, seeded.random() * 10 ** seeded.randrange(-300, 300), "null", 255)[
            kind - 2
        ]

    def places(value):
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for name, one in list(members):
            yield value, name
            if isinstance(one, dict | list):
                yield from places(one)

    tried = 0
    while tried < 300:
        value = {"top": [grown(5)]}
        assert json.loads(jsontext.dumps(value)) == value
        into, name = seeded.choice(list(places(value)))
        into[name] = seeded.choice([NAN, -NAN, INF, -INF])
        for encode in (jsontext.dumps, copy_json):
            with pytest.raises(EncodeError, match="which JSON does not have"):
                encode(value)
        tried += 1


def test_cl10_no_value_is_in_the_text_of_an_error():
    with pytest.raises(EncodeError) as refused:
        jsontext.dumps({"data": {"password": b"hunter2"}})
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("value", [NAN, {1}, b"a", ZONELESS, Quantity("1")])
def test_cl10_nothing_is_sent_of_a_body_with_such_a_value(client, value):
    key = ObjectKey("default", "a")
    made = {"metadata": {"namespace": "default", "name": "a"}, "data": {"a": "1"}}
    before = client.create(CONFIG_MAPS, made)
    wrong = {**before, "data": {"a": value}}
    tries = (
        lambda: client.create(CONFIG_MAPS, {**wrong, "kind": ""}),
        lambda: client.replace(CONFIG_MAPS, wrong),
        lambda: client.patch(CONFIG_MAPS, key, {"data": {"a": value}}),
        lambda: client.apply(CONFIG_MAPS, wrong, field_manager="me"),
        lambda: create_or_patch(
            client, CONFIG_MAPS, key, lambda one: one["data"].update(a=value)
        ),
    )
    for attempt in tries:
        with pytest.raises(EncodeError, match=r"^ConfigMap default/a: data\.a "):
            attempt()
    operation = {"op": "replace", "path": "/data/a", "value": value}
    with pytest.raises(EncodeError, match=r"^ConfigMap default/a: \[0\]\.value "):
        client.patch(CONFIG_MAPS, key, [operation], kind="json")
    assert client.get(CONFIG_MAPS, key) == before


def test_cl10_a_webhook_says_what_its_answer_may_not_hold():
    def mutate(request):
        request.obj["spec"] = {"size": NAN}

    asked = {
        "uid": "1",
        "operation": "CREATE",
        "kind": {"group": "", "version": "v1", "kind": "Thing"},
        "object": {"kind": "Thing", "metadata": {"name": "a"}},
    }
    broken = []
    review = Review("admission.k8s.io/v1", "AdmissionReview", "1", asked)
    answer = json.loads(
        respond(review, mutating([mutate]), on_broken=lambda: broken.append(1))
    )["response"]
    assert not answer["allowed"]
    assert "Thing a: spec.size is NaN" in answer["status"]["message"]
    assert broken == [1]


def test_cl10_a_conversion_says_what_its_answer_may_not_hold():
    asked = {"uid": "1", "desiredAPIVersion": "example.com/v2"}
    one = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}
    answer, pieces = conversion.respond(
        Review("apiextensions.k8s.io/v1", "ConversionReview", "1", asked),
        [one],
        lambda obj, version: {**obj, "apiVersion": version, "spec": {"size": NAN}},
        check=lambda: None,
        on_broken=lambda: None,
    )
    assert pieces is None
    assert "Thing a: spec.size is NaN" in answer["result"]["message"]


@attrs.define
class Port:
    number: int
    name: str = ""


@attrs.define
class Spec:
    since: datetime | None = None
    replicas: int = 1
    share: float = 0.5
    memory: Quantity | None = None
    secret: bytes | None = None
    ports: list[Port] = attrs.field(factory=list)
    by_name: dict[str, Port] = attrs.field(factory=dict)
    words: list[str] = attrs.field(factory=list)
    target: int | str = 80
    enabled: bool = False


@resource("example.com/v1", plural="gates")
@attrs.define
class Gate:
    metadata: ObjectMeta
    spec: Spec = attrs.field(factory=Spec)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (Spec(since="now"), "Gate: spec.since must be a datetime, not str"),
        (Spec(replicas="3"), "Gate: spec.replicas must be an int, not str"),
        (Spec(replicas=True), "Gate: spec.replicas must be an int, not bool"),
        (Spec(replicas=1.5), "Gate: spec.replicas must be an int, not float"),
        (Spec(share=NAN), "Gate: spec.share is NaN or infinite"),
        (Spec(share="1"), "Gate: spec.share must be a number, not str"),
        (Spec(memory="1Gi"), "Gate: spec.memory must be a Quantity, not str"),
        (Spec(secret="hunter2"), "Gate: spec.secret must be bytes, not str"),
        (Spec(ports=[Port(1), {"number": 2}]), r"Gate: spec.ports\[1\] must be a Port"),
        (Spec(ports=Port(1)), "Gate: spec.ports must be a list, not Port"),
        (Spec(by_name={"a": Port("x")}), "Gate: spec.byName.a.number must be an int"),
        (Spec(words="abc"), "Gate: spec.words must be a list, not str"),
        (Spec(words=["a", None]), r"Gate: spec.words\[1\] must be a str, not NoneType"),
        (Spec(target=1.5), "Gate: spec.target must be an int or a str, not float"),
        (Spec(enabled=1), "Gate: spec.enabled must be a bool, not int"),
        ({"replicas": 1}, "Gate: spec must be a Spec, not dict"),
    ],
)
def test_cl10_a_typed_object_names_class_and_field_on_its_way_out(spec, said):
    gate = Gate(ObjectMeta(namespace="n", name="a"), spec)
    with pytest.raises(EncodeError, match=f"^n/a: {said}") as refused:
        to_dict(gate)
    assert "hunter2" not in str(refused.value)


def test_cl10_subclasses_are_written_as_their_base():
    gate = Gate(ObjectMeta(name="a"), Spec(share=Double(1.5), secret=bytearray(b"x")))
    spec = json.loads(jsontext.dumps(to_dict(gate)))["spec"]
    assert spec["share"] == 1.5
    assert base64.b64decode(spec["secret"]) == b"x"
