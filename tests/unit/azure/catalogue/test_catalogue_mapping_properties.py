"""What holds for the mapping of every kind, on specs made from its schema."""

import random

import orjson
import pytest

from asoreconcile.azure.catalogue.inputs import inputs_of
from asoreconcile.azure.catalogue.payload import to_arm
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.controllers.catalogue import builtin

ARM_KINDS = [kind for kind in builtin().kinds() if kind.is_arm]


class Recording:
    def __init__(self):
        self.asked = []

    def _note(self, kind, reference, answer):
        self.asked.append((kind, reference))
        return answer

    def reference(self, reference):
        return self._note("reference", reference, f"/id/{len(self.asked)}")

    def secret(self, reference):
        return self._note("secret", reference, "value")

    def secret_map(self, reference):
        return self._note("secret-map", reference, {"k": "value"})

    def config_map(self, reference):
        return self._note("config-map", reference, "value")


def made(schema, rng, depth=0):
    """A value of a schema; about two thirds of what is optional, rarely null."""
    if "enum" in schema:
        return rng.choice(schema["enum"])
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        names = [
            name
            for name in schema["properties"]
            if name == "reference" or rng.random() < (0.9 if depth < 3 else 0.6)
        ]
        return {
            name: None
            if name != "reference" and rng.random() < 0.05
            else made(schema["properties"][name], rng, depth + 1)
            for name in names
        }
    if kind == "object":
        inner = schema.get("additionalProperties", {"type": "string"})
        return {f"k{n}": made(inner, rng, depth + 1) for n in range(rng.randint(0, 2))}
    if kind == "array":
        count = rng.randint(0, 2)
        return [made(schema["items"], rng, depth + 1) for _ in range(count)]
    return {
        "string": lambda: rng.choice(["", "text"]),
        "integer": lambda: rng.randint(0, 9),
        "number": lambda: rng.choice([0, 1.5]),
        "boolean": lambda: rng.random() < 0.5,
    }.get(kind, lambda: rng.choice([{}, [], {"any": [1]}]))()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_mapping_any_spec(seed):
    rng = random.Random(seed)
    references = 0
    for kind in ARM_KINDS:
        version = kind.version(rng.choice(kind.versions))
        spec = made(version.spec_schema, rng)
        before = orjson.dumps(spec)
        recording = Recording()

        body = to_arm(version, spec, name="it", inputs=recording)

        found = inputs_of(version, spec)
        assert [(i.kind, i.value) for i in found] == recording.asked, version.gvk
        assert orjson.dumps(spec) == before
        assert orjson.loads(orjson.dumps(body)) == body
        assert not {"owner", "operatorSpec", "azureName"} & set(body)
        again = to_arm(version, spec, name="it", inputs=Recording())
        assert again == body
        references += len(found)
    assert references > 300


@pytest.mark.parametrize("seed", [4, 5])
def test_status_of_a_body_that_is_a_status_already(seed):
    """Whatever of a status stands at its place in the body comes through unchanged."""
    rng = random.Random(seed)
    for kind in ARM_KINDS:
        version = kind.version(rng.choice(kind.versions))
        shape = version.status_shapes.resolve(version.status_shape)
        scalars = {
            name: "text"
            for name, child in shape["properties"].items()
            if child == "string" and "union" not in shape
        }

        assert status_of(version, scalars) == scalars
