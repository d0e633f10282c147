"""Checks the defaults and CEL rules of CRDs with the engine."""

from collections.abc import Container, Iterator

import attrs

from asoreconcile.base.objects import JsonObject, copy_json
from asoreconcile.resources.cel import checks
from asoreconcile.resources.crds.cause import Cause, invalid, required
from asoreconcile.resources.crds.structural import EMBEDDED
from asoreconcile.testing.kube.fields.schema import check, pruned, shown
from asoreconcile.testing.kube.rules import validation


@attrs.frozen
class CrdValues:
    """Judges the defaults and the rules of a structural schema."""

    def default_causes(self, schema: JsonObject, at: str) -> Iterator[Cause]:
        """Yield what is wrong with the defaults in a schema."""
        if "default" in schema:
            yield from _default_causes(schema, f"{at}.default")
        if isinstance(schema.get("items"), dict):
            yield from self.default_causes(schema["items"], f"{at}.items")
        for name, part in (schema.get("properties") or {}).items():
            yield from self.default_causes(part, f"{at}.properties[{name}]")

    def cel_causes(
        self, schema: JsonObject, at: str, places: Container[str]
    ) -> Iterator[Cause]:
        """Yield what is wrong with the rules at the places, and with their costs.

        places: paths of the schemas whose rules may be compiled.
        """
        yield from checks.causes(schema, at, places)


def _default_causes(schema: JsonObject, at: str) -> Iterator[Cause]:
    value = schema["default"]
    if pruned(schema, copy_json(value)) != value:
        yield invalid(at, _json(value), "must not have unknown fields")
    found = list(check(schema, value, ""))
    is_object = schema.get(EMBEDDED) or at.endswith(".openAPIV3Schema.default")
    if is_object and isinstance(value, dict):
        for name in ("apiVersion", "kind"):
            if not value.get(name):
                yield required(f"{at}.{name}")
    for cause in found:
        yield Cause(at, cause.reason, cause.message)
    node = validation.tree(schema)
    if node is not None and not found:
        for cause in validation.broken_value(node, value):
            yield Cause(at, cause.reason, cause.message)


def _json(value: object) -> object:
    return value if isinstance(value, str) else _Shown(shown(value))


class _Shown:
    """A value in JSON, which is not quoted again."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text
