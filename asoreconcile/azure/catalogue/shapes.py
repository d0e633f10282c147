"""Object shapes: a short notation for the OpenAPI schemas of custom resources.

A shape is one of

    "string" "integer" "number" "boolean"   a scalar
    "any"                                   any JSON, kept as it is
    "@s1f2a3b"                              the shape of that name, defined once
    "[]<shape>"  "{}<shape>"                a list or a map of a shape in text form
    {"properties": {...}, ...}              an object; its `type` goes without saying
    {"type": "string", "pattern": ...}      anything else: OpenAPI keywords; `items`
                                            and `additionalProperties` hold shapes

`union` is not an OpenAPI keyword. On an object of a status it names the discriminator
and the property for each of its values (see `status`).
"""

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

import orjson

from asoreconcile.base.objects import JsonObject

Shape = str | JsonObject
_SCALARS = ("string", "integer", "number", "boolean")
_ANY: JsonObject = {"x-kubernetes-preserve-unknown-fields": True}
# Shorter than this and used once, an object stays where it is written.
_INLINE_LENGTH = 300
# The shortest text worth a name when it is used again: a name costs 9 characters.
_SHARED_LENGTH = 40


class Shapes:
    """The named shapes of one file, expanded to schemas on demand.

    Expanded schemas share their equal parts and must not be changed. Two threads may
    expand the same shape at once: they make equal schemas, and one is kept.
    """

    def __init__(self, named: Mapping[str, Shape]) -> None:
        self._named = named
        self._resolved: dict[str, Shape] = {}
        self._expanded: dict[str, JsonObject] = {}

    def schema(self, shape: Shape) -> JsonObject:
        """Return the OpenAPI schema of a shape. Raises KeyError for an unknown name."""
        if isinstance(shape, dict):
            return self._object(shape)
        known = self._expanded.get(shape)
        if known is None:
            # Without a lock: two threads make equal ones, and either may stay.
            known = self._expanded[shape] = self._text(shape)
        return known

    def forget(self) -> None:
        """Drop all expanded schemas; a schema is expanded again when requested."""
        self._resolved.clear()
        self._expanded.clear()

    def resolve(self, shape: Shape) -> Shape:
        """Return the shape that a name stands for; other shapes are returned
        unchanged.
        """
        while isinstance(shape, str) and shape.startswith("@"):
            known = self._resolved.get(shape)
            if known is None:
                known = self._resolved.setdefault(shape, self._named[shape[1:]])
            shape = known
        return shape

    def _text(self, shape: str) -> JsonObject:
        if shape in _SCALARS:
            return {"type": shape}
        if shape == "any":
            return dict(_ANY)
        if shape.startswith("[]"):
            return {"type": "array", "items": self.schema(shape[2:])}
        if shape.startswith("{}"):
            return {"type": "object", "additionalProperties": self.schema(shape[2:])}
        return self.schema(self._named[shape.removeprefix("@")])

    def _object(self, shape: JsonObject) -> JsonObject:
        schema = {"type": "object"} | {k: v for k, v in shape.items() if k != "union"}
        for keyword in ("items", "additionalProperties"):
            if keyword in schema:
                schema[keyword] = self.schema(schema[keyword])
        if "properties" in schema:
            schema["properties"] = {
                name: self.schema(child) for name, child in shape["properties"].items()
            }
        return schema


class ShapeWriter:
    """Converts schemas to shapes; large or repeated shapes get a name of their own.

    Pass every schema to `count` first, so that repetition is known, then `pack` each;
    `named` then holds the definitions. Names are digests of the content, so the same
    schema has the same name in every run. Not thread-safe.
    """

    def __init__(self) -> None:
        self.named: dict[str, Shape] = {}
        self._uses: Counter[bytes] = Counter()

    def count(self, schema: JsonObject) -> None:
        """Count a schema and, the first time, all schemas below it."""
        digest = _digest(schema)
        self._uses[digest] += 1
        if self._uses[digest] == 1:
            for child in _children(schema):
                self.count(child)

    def pack(self, schema: JsonObject, *, named: bool = False) -> Shape:
        """Return the shape of a schema. named: if true, give it a name even if it is
        small.
        """
        shape = self._pack(schema)
        if isinstance(shape, str):
            return shape
        length = len(orjson.dumps(shape))
        shared = self._uses[_digest(schema)] > 1 and length > _SHARED_LENGTH
        if not named and not shared and length <= _INLINE_LENGTH:
            return shape
        name = "s" + hashlib.sha256(orjson.dumps(shape)).hexdigest()[:8]
        # Eight digits may be the same by chance, if seldom: then it is noticed here.
        if self.named.setdefault(name, shape) != shape:
            raise ValueError(f"two shapes have the digest {name}: lengthen it")
        return "@" + name

    def _pack(self, schema: JsonObject) -> Shape:
        if schema == _ANY:
            return "any"
        kind = schema.get("type")
        if len(schema) == 1 and kind in _SCALARS:
            return str(kind)
        shape = {key: schema[key] for key in sorted(schema)}
        for keyword, prefix, of in (
            ("items", "[]", "array"),
            ("additionalProperties", "{}", "object"),
        ):
            if keyword in shape:
                child = self.pack(shape[keyword])
                if isinstance(child, str) and len(shape) == 2 and kind == of:
                    return prefix + child
                shape[keyword] = child
        if "properties" in shape:
            shape["properties"] = {
                name: self.pack(shape["properties"][name])
                for name in sorted(shape["properties"])
            }
        if kind == "object":
            del shape["type"]
        return shape


def _children(schema: JsonObject) -> list[JsonObject]:
    found = [schema[k] for k in ("items", "additionalProperties") if k in schema]
    return found + list(schema.get("properties", {}).values())


def _digest(schema: Any) -> bytes:
    text = orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text).digest()
