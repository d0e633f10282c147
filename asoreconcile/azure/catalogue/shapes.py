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

from collections.abc import Mapping

from asoreconcile.base.objects import JsonObject

Shape = str | JsonObject
SCALARS = ("string", "integer", "number", "boolean")
ANY_JSON: JsonObject = {"x-kubernetes-preserve-unknown-fields": True}


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
        if shape in SCALARS:
            return {"type": shape}
        if shape == "any":
            return dict(ANY_JSON)
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
