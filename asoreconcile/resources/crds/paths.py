"""JSON paths that a CRD names fields by: `.spec.host`, `.spec.labels['a']`. Pure."""

import re
from collections.abc import Iterator

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.crds.cause import Cause, invalid

_STEP = re.compile(r"[.\[\]]|'(?:[^'\\]|\\.|(?<=.)\\(?='))*'|[^.\[\]]+", re.DOTALL)
_ESCAPES = frozenset("abfnrtv\\'\"")


class FieldPathError(ValueError):
    """A path that leads to no field."""


def field_schema(
    schema: JsonObject, path: str, *, with_keys: bool = True
) -> JsonObject | None:
    """Return the schema of the field at a path; None if its schema says nothing.

    with_keys: allow `['name']`. Raises FieldPathError if there is no such field.
    """
    found: JsonObject | None = schema
    steps = iter(_STEP.findall(path))
    for step in steps:
        if step == "[":
            if not with_keys:
                raise FieldPathError("array notation is not allowed")
            found = _inside(found, _quoted(_next(steps)))
            if (end := _next(steps)) != "]":
                raise FieldPathError(f"expected ] but got {end}")
        elif step == ".":
            found = _inside(found, _next(steps))
        else:
            raise FieldPathError(f"expected [ or . but got: {step}")
    return found


def simple_path_causes(
    path: str, at: str, under: tuple[str, ...] = ()
) -> Iterator[Cause]:
    """Yield what is wrong with a path in dot notation. under: allowed beginnings."""
    if not path.startswith("."):
        yield invalid(at, path, "must be a simple json path starting with .")
    elif under and not path.startswith(tuple(f"{one}." for one in under)):
        where = " or ".join(under)
        which = f"either {where}" if len(under) > 1 else where
        yield invalid(at, path, f"should be a json path under {which}")


def _next(steps: Iterator[str]) -> str:
    step = next(steps, None)
    if step is None:
        raise FieldPathError("unexpected end of JSON path")
    return step


def _quoted(step: str) -> str:
    if len(step) < 2 or step[0] != "'" or step[-1] != "'":
        raise FieldPathError(f"expected single quoted string but got {step}")
    inner = step[1:-1]
    for found in re.finditer(r"\\(.?)", inner, re.DOTALL):
        if found[1] not in _ESCAPES:
            raise FieldPathError("invalid string literal")
    return re.sub(r"\\(.)", r"\1", inner)


def _inside(schema: JsonObject | None, name: str) -> JsonObject | None:
    if schema is None:
        raise FieldPathError("does not refer to a valid field")
    if properties := schema.get("properties"):
        if name not in properties:
            raise FieldPathError("does not refer to a valid field")
        inner: JsonObject = properties[name]
        return inner
    extra = schema.get("additionalProperties")
    if extra is None:
        raise FieldPathError("does not refer to a valid field")
    return extra if isinstance(extra, dict) else None
