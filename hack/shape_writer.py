"""Write schemas in the short notation that `catalogue.shapes` reads."""

import hashlib
from collections import Counter
from typing import Any

import orjson

from asoreconcile.azure.catalogue.shapes import ANY_JSON, SCALARS, Shape
from asoreconcile.base.objects import JsonObject

# An object that is shorter than this and used once gets no name.
_INLINE_LENGTH = 300
# The shortest text worth a name when it is used again: a name costs 9 characters.
_SHARED_LENGTH = 40


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
        if schema == ANY_JSON:
            return "any"
        kind = schema.get("type")
        if len(schema) == 1 and kind in SCALARS:
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
