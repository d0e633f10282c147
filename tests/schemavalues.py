"""Values that a kind's schema allows by type, drawn by hypothesis.

A schema has hundreds of fields; what matters to a test of two versions is where they
differ. Fields that the other schema does not have, or has otherwise, are drawn most of
the time, the rest rarely.
"""

from hypothesis import strategies as st

ANY = "x-kubernetes-preserve-unknown-fields"
SCALARS = {
    "string": st.sampled_from(
        ["", "a", "/subscriptions/s", "123", "true", "null", '"quoted"', "{}", "{", "<"]
    ),
    "integer": st.integers(-3, 9),
    "number": st.one_of(st.integers(0, 3), st.sampled_from([0.5, 1.5])),
    "boolean": st.booleans(),
}
JSON = st.sampled_from(
    [{}, [], "text", "1", "{", 1, {"a": [1, {"b": None}]}, {"name": "n"}]
)


@st.composite
def values(draw, schema, other=None, depth=0):
    """A value of a schema; other: what the schema of another version has here."""
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
def _objects(draw, schema, other, depth):
    fields = schema.get("properties", {})
    there = other.get("properties", {})
    differing = [n for n, child in fields.items() if there.get(n) != child]
    alike = [n for n in fields if n not in differing]
    names = draw(_some(differing, 6 if depth < 4 else 2)) + draw(_some(alike, 2))
    return {n: draw(values(fields[n], there.get(n), depth + 1)) for n in names}


def _some(names, most):
    if not names:
        return st.just([])
    return st.lists(st.sampled_from(names), max_size=most, unique=True)
