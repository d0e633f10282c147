"""Values that fit a kind's schema by type, drawn by hypothesis or from a seed.

A schema has hundreds of fields. A test of two versions needs those that differ: fields
that the other schema lacks or defines differently are drawn most of the time, the
others rarely.
"""

from random import Random
from typing import Any

from hypothesis import strategies as st

from asoreconcile.base.objects import JsonObject

ANY = "x-kubernetes-preserve-unknown-fields"
TEXTS = ["", "a", "/subscriptions/s", "123", "true", "null", '"quoted"', "{}", "{", "<"]
SCALARS = {
    "string": st.sampled_from(TEXTS),
    "integer": st.integers(-3, 9),
    "number": st.one_of(st.integers(0, 3), st.sampled_from([0.5, 1.5])),
    "boolean": st.booleans(),
}
FREE = [{}, [], "text", "1", "{", 1, {"a": [1, {"b": None}]}, {"name": "n"}]
JSON = st.sampled_from(FREE)


@st.composite
def values(
    draw: Any, schema: JsonObject, other: JsonObject | None = None, depth: int = 0
) -> Any:
    """Draw a value of a schema.

    other: schema of the same field in another version.
    """
    kind = schema.get("type")
    other = other or {}
    if kind is None or schema.get(ANY):
        return draw(JSON)
    if kind == "object" and "additionalProperties" in schema:
        keys = draw(st.lists(st.sampled_from("xyz"), max_size=2, unique=True))
        inner, there = schema["additionalProperties"], other.get("additionalProperties")
        return {key: draw(values(inner, there, depth + 1)) for key in keys}
    if kind == "object":
        return draw(_objects(schema, other, depth))
    if kind == "array":
        item = values(schema["items"], other.get("items"), depth + 1)
        return draw(st.lists(item, max_size=2))
    return draw(SCALARS[kind])


@st.composite
def _objects(
    draw: Any, schema: JsonObject, other: JsonObject, depth: int
) -> JsonObject:
    fields = schema.get("properties", {})
    there = other.get("properties", {})
    differing = [n for n, child in fields.items() if there.get(n) != child]
    alike = [n for n in fields if n not in differing]
    names = draw(_some(differing, 6 if depth < 4 else 2)) + draw(_some(alike, 2))
    return {n: draw(values(fields[n], there.get(n), depth + 1)) for n in names}


def _some(names: list[str], most: int) -> st.SearchStrategy[list[str]]:
    if not names:
        return st.just([])
    return st.lists(st.sampled_from(names), max_size=most, unique=True)


def seeded(
    random: Random, schema: JsonObject, other: JsonObject | None = None, depth: int = 0
) -> Any:
    """Return a value as `values` does, without hypothesis: twenty times as fast.

    random: a `random.Random`.

    Values are not shrunk. Fields that differ are always present, except deep in a large
    schema.
    """
    kind = schema.get("type")
    other = other or {}
    if kind is None or schema.get(ANY):
        return random.choice(FREE)
    if kind == "object" and "additionalProperties" in schema:
        inner, there = schema["additionalProperties"], other.get("additionalProperties")
        keys = "xyz"[: random.randrange(3)]
        return {key: seeded(random, inner, there, depth + 1) for key in keys}
    if kind == "object":
        fields = schema.get("properties", {})
        there = other.get("properties", {})
        names = [
            name
            for name, child in fields.items()
            if random.random() < _share(child, there.get(name), depth)
        ]
        return {n: seeded(random, fields[n], there.get(n), depth + 1) for n in names}
    if kind == "array":
        size = random.randrange(3)
        return [
            seeded(random, schema["items"], other.get("items"), depth + 1)
            for _ in range(size)
        ]
    drawn = {
        "string": lambda: random.choice(TEXTS),
        "integer": lambda: random.randrange(-3, 9),
        "number": lambda: random.choice([0, 2, 0.5, 1.5]),
        "boolean": lambda: random.random() < 0.5,
    }
    return drawn[kind]()


def _share(child: JsonObject, other: JsonObject | None, depth: int) -> float:
    """Return the share of values that have a field."""
    if child == other:
        return 0.2 if depth < 3 else 0.05
    return 0.9 if depth < 4 else 0.3
