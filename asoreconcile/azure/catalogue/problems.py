"""Check JSON against an OpenAPI schema and describe the problems in words.

Supports the keywords of custom resource schemas. Every message says which values are
allowed, and suggests the intended name if the given one is nearly right.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import attrs

from asoreconcile.azure.catalogue.field_types import is_key_reference
from asoreconcile.azure.catalogue.suggestions import closest
from asoreconcile.base.objects import JsonObject

# People do not read longer lists; the nearest name is given separately.
_MAX_LISTED = 12
_LONGEST_MATCHED = 4096


@attrs.frozen
class Problem:
    """One problem to fix. path: path of the field, such as `spec.subnets[0].name`.

    is_unknown: if true, the schema has no such field. is_long: if true, the value is
    longer than it is read.
    """

    path: str
    message: str
    is_unknown: bool = False
    is_long: bool = False

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def schema_problems(schema: JsonObject, value: Any, at: str) -> Iterator[Problem]:
    """Yield every problem that a schema finds in a value, in the value's order.

    null counts as absent, as the API server treats it. Pure.
    """
    if schema.get("x-kubernetes-preserve-unknown-fields") and "type" not in schema:
        return
    found = _kind_of(value)
    wanted = schema.get("type", "object")
    if found != wanted and not (wanted == "number" and found == "integer"):
        shown = _shown(value)
        if is_key_reference(schema) and found == "string":
            # It may be a secret, which older releases of ASO took in such a field.
            shown = "a text; `asoctl convert` moves a secret in a manifest to a Secret"
        yield Problem(at, f"must be {_article(wanted)}, is {shown}")
        return
    if found == "object":
        yield from _object_problems(schema, value, at)
    elif found == "array":
        yield from _array_problems(schema, value, at)
    elif found == "string":
        yield from _string_problems(schema, value, at)
    elif found in ("integer", "number"):
        yield from _number_problems(schema, value, at)


def _object_problems(
    schema: JsonObject, value: JsonObject, at: str
) -> Iterator[Problem]:
    properties: JsonObject = schema.get("properties", {})
    values_schema = schema.get("additionalProperties")
    open_ended = schema.get("x-kubernetes-preserve-unknown-fields") or (
        not properties and values_schema is None
    )
    for name, child in value.items():
        if name in properties:
            if child is not None:
                yield from schema_problems(properties[name], child, f"{at}.{name}")
        elif values_schema is not None:
            if child is not None:
                yield from schema_problems(values_schema, child, f"{at}.{name}")
        elif not open_ended:
            message = _unknown(name, value, properties)
            yield Problem(f"{at}.{name}", message, is_unknown=True)
    for name in schema.get("required", ()):
        if value.get(name) is None:
            yield Problem(f"{at}.{name}", "is required: set it")


def _unknown(name: str, value: JsonObject, properties: JsonObject) -> str:
    for known in properties:
        if known.casefold() == name.casefold():
            return f"unknown field, differs in letter case only: write {known!r}"
    free = [known for known in properties if known not in value]
    # ARM's id is a reference in a spec; an author who knows ARM may write the id's
    # name.
    stem = re.sub(r"(Resource)?Ids?$", "", name)
    for known in free:
        if known in (f"{stem}Reference", f"{stem}References"):
            return f"unknown field: set {known!r}, a reference to the resource"
    close = closest(name, free)
    if close:
        return f"unknown field; did you mean {close[0]!r}?"
    if name == "properties":
        return "unknown field: what ARM keeps in `properties` stands one level higher"
    known_here = sorted(properties)
    shown = ", ".join(known_here[:_MAX_LISTED])
    more = len(known_here) - _MAX_LISTED
    rest = f" and {more} more" if more > 0 else ""
    return f"unknown field (known here: {shown}{rest})"


def _array_problems(schema: JsonObject, value: list[Any], at: str) -> Iterator[Problem]:
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if len(value) < least:
        yield Problem(at, f"needs at least {least} items, has {len(value)}")
    if most is not None and len(value) > most:
        yield Problem(at, f"takes at most {most} items, has {len(value)}")
    for index, item in enumerate(value):
        yield from schema_problems(schema["items"], item, f"{at}[{index}]")


def _string_problems(schema: JsonObject, value: str, at: str) -> Iterator[Problem]:
    allowed = schema.get("enum")
    if allowed is not None and value not in allowed:
        yield Problem(at, _not_allowed(value, allowed))
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if len(value) < least:
        yield Problem(at, f"needs at least {least} characters, has {len(value)}")
    if most is not None and len(value) > most:
        yield Problem(at, f"takes at most {most} characters, has {len(value)}")
    pattern = schema.get("pattern")
    if pattern is not None and not _matches(pattern, value):
        yield Problem(at, f"{_shown(value)} does not match the pattern {pattern}")


def _number_problems(schema: JsonObject, value: float, at: str) -> Iterator[Problem]:
    allowed = schema.get("enum")
    if allowed is not None and value not in allowed:
        yield Problem(at, _not_allowed(value, allowed))
    if "minimum" in schema and value < schema["minimum"]:
        yield Problem(at, f"must be at least {schema['minimum']}, is {value}")
    if "maximum" in schema and value > schema["maximum"]:
        yield Problem(at, f"must be at most {schema['maximum']}, is {value}")
    if "multipleOf" in schema and value % schema["multipleOf"]:
        yield Problem(at, f"must be a multiple of {schema['multipleOf']}, is {value}")


def _not_allowed(value: Any, allowed: list[Any]) -> str:
    for choice in allowed:
        if str(choice).casefold() == str(value).casefold():
            return f"{value!r} differs in letter case only: write {choice!r}"
    close = closest(str(value), [str(choice) for choice in allowed])
    meant = f"; did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(str(choice) for choice in allowed[:_MAX_LISTED])
    more = ", ..." if len(allowed) > _MAX_LISTED else ""
    return f"{_shown(value)} is not allowed{meant} (one of {listed}{more})"


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    # Go's classes are ASCII only.
    return re.compile(pattern, re.ASCII)


def _matches(pattern: str, value: str) -> bool:
    # An API server checks longer values, and in linear time.
    if len(value) > _LONGEST_MATCHED:
        return True
    # Python's `$` also matches before a final newline, Go's does not.
    if value.endswith("\n") and pattern.endswith("$"):
        return False
    return _compiled(pattern).search(value) is not None


def _kind_of(value: Any) -> str:
    match value:
        # Before `int`, which in Python a bool is, too.
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
        case _:
            return "null"


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aio" else f"a {kind}"


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return _article(_kind_of(value))
    if value is None:
        return "null"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
