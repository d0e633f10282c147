"""Checks schemas of CRDs: they are structural, and have no unknown keywords. Pure.

A junctor is one of the keywords `allOf`, `anyOf`, `oneOf` and `not`.

A schema here has no members that are null (`without_nulls`).
"""

from collections.abc import Container, Iterator, Mapping
from typing import Any, Protocol

import attrs

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.crds import patterns
from asoreconcile.resources.crds.cause import (
    Cause,
    forbidden,
    invalid,
    required,
    unsupported,
)
from asoreconcile.resources.crds.merging import (
    LIST_KEYS,
    LIST_TYPE,
    MAP_TYPE,
    merging_causes,
)
from asoreconcile.resources.crds.rules import rule_causes, transition_causes

TYPES = ("array", "boolean", "integer", "number", "object", "string")
PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
RULES = "x-kubernetes-validations"
_JUNCTORS = ("allOf", "anyOf", "oneOf")
_EITHER: list[JsonObject] = [{"type": "integer"}, {"type": "string"}]
_META = ("metadata", "kind", "apiVersion")
_UNSUPPORTED = (
    *("id", "additionalItems", "patternProperties", "definitions", "dependencies"),
    "$ref",
)
_NOT_NESTED: Mapping[str, str] = {
    "type": "empty",
    "additionalProperties": "undefined",
    "default": "undefined",
    "title": "empty",
    "description": "empty",
    "nullable": "false",
    PRESERVE: "false",
    EMBEDDED: "false",
    INT_OR_STRING: "false",
    LIST_KEYS: "empty",
    LIST_TYPE: "undefined",
    MAP_TYPE: "undefined",
    RULES: "empty",
}
_AT_ROOT_WITH_STATUS = frozenset(
    (
        *("description", "type", "format", "title", "maximum", "exclusiveMaximum"),
        *("minimum", "exclusiveMinimum", "maxLength", "minLength", "pattern"),
        *("maxItems", "minItems", "uniqueItems", "multipleOf", "required", "items"),
        *("properties", "externalDocs", "example", PRESERVE, RULES),
    )
)
_STATED_KEYWORDS = frozenset(("default", "example", "enum", "required"))


class Values(Protocol):
    """Checks that need the values of a schema: its defaults, and its CEL rules."""

    def default_causes(self, schema: JsonObject, at: str) -> Iterator[Cause]:
        """Yield what is wrong with the defaults of a structural schema."""

    def cel_causes(
        self, schema: JsonObject, at: str, places: Container[str]
    ) -> Iterator[Cause]:
        """Yield what is wrong with the expressions of a structural schema.

        places: paths of the schemas whose rules may be compiled.
        """


def without_nulls(schema: Any) -> Any:
    """Return a schema without members that are null, which the API server drops."""
    if isinstance(schema, list):
        return [without_nulls(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: value if name in _STATED_KEYWORDS else _named(name, value)
        for name, value in schema.items()
        if value is not None
    }


def _named(name: str, value: Any) -> Any:
    if name == "properties" and isinstance(value, dict):
        return {key: without_nulls(inner) or {} for key, inner in value.items()}
    return without_nulls(value)


def causes(
    schema: JsonObject, at: str, values: Values, *, has_status: bool
) -> Iterator[Cause]:
    """Yield what is wrong with the schema of a version, whose place is `at`."""
    found = [*_status_causes(schema, at)] if has_status else []
    if schema.get("nullable"):
        found.append(forbidden(f"{at}.nullable", "nullable cannot be true at the root"))
    unread = [] if not _is_unread(schema) else [invalid(at, "", "is not supported")]
    structural = [] if unread else [*_structural(schema, at), *_complete(schema, at)]
    defaults: list[Cause] = []
    if not unread and not structural:
        defaults = [*values.default_causes(schema, at)]
    places: dict[str, str] = {}
    keywords = [*_keyword_causes(schema, at, _Around(places), is_root=True)]
    found += [*structural, *defaults, *keywords]
    if unread and not found:
        found = unread
    yield from found
    if not (unread or structural or defaults):
        for here, part in schemas_at(schema, at):
            for index, rule in enumerate(
                part.get(RULES) or () if here in places else ()
            ):
                where = f"{here}.{RULES}[{index}]"
                yield from transition_causes(rule, where, places[here])
        yield from values.cel_causes(schema, at, frozenset(places))


def schemas_at(schema: JsonObject, at: str) -> Iterator[tuple[str, JsonObject]]:
    """Yield a schema and those inside of it, without junctors, with their places."""
    yield at, schema
    for name, part in (schema.get("properties") or {}).items():
        yield from schemas_at(part, f"{at}.properties[{name}]")
    for name in ("additionalProperties", "items"):
        if isinstance(schema.get(name), dict):
            yield from schemas_at(schema[name], f"{at}.{name}")


def _status_causes(schema: JsonObject, at: str) -> Iterator[Cause]:
    kind = schema.get("type", "")
    if kind and kind != "object":
        why = (
            'only "object" is allowed as the type at the root of the schema if the '
            "status subresource is enabled"
        )
        yield invalid(f"{at}.type", kind, why)
        return
    for name, value in schema.items():
        if value not in ("", False, [], {}) and name not in _AT_ROOT_WITH_STATUS:
            why = (
                "only certain fields are allowed at the root of the schema if the "
                "status subresource is enabled"
            )
            yield invalid(at, "", why)
            return


def _is_unread(schema: Any) -> bool:
    """Return whether a keyword anywhere keeps Kubernetes from reading a schema."""
    if not isinstance(schema, dict):
        return False
    if any(schema.get(name) for name in (*_UNSUPPORTED, "$schema")):
        return True
    if schema.get("additionalItems") is not None or isinstance(
        schema.get("items"), list
    ):
        return True
    return any(_is_unread(part) for part in inner_schemas(schema))


def inner_schemas(schema: JsonObject) -> Iterator[Any]:
    """Yield the schemas directly inside another schema, including those in `allOf`,
    `anyOf`, `oneOf` and `not`.
    """
    yield from (schema.get("properties") or {}).values()
    yield from (schema.get(name) for name in ("items", "additionalProperties", "not"))
    for name in _JUNCTORS:
        yield from schema.get(name) or ()


def _structural(schema: JsonObject, at: str, level: str = "root") -> Iterator[Cause]:
    """Yield the reasons for which a schema is not structural."""
    kind = schema.get("type", "")
    items, extra = schema.get("items"), schema.get("additionalProperties")
    if kind == "array" and not isinstance(items, dict):
        yield required(f"{at}.items", "must be specified")
    if isinstance(items, dict):
        yield from _structural(items, f"{at}.items", "items")
    for name, part in (schema.get("properties") or {}).items():
        yield from _structural(part, f"{at}.properties[{name}]", "fields")
    if extra is not None and level == "root":
        yield forbidden(f"{at}.additionalProperties", "must not be used at the root")
    if isinstance(extra, dict):
        yield from _structural(extra, f"{at}.additionalProperties", "fields")
    either, embedded = schema.get(INT_OR_STRING), schema.get(EMBEDDED)
    for name in (PRESERVE, EMBEDDED):
        if either and schema.get(name):
            yield invalid(
                f"{at}.{name}", True, f"must be false if {INT_OR_STRING} is true"
            )
    yield from _value_causes(schema, at, either=True, first=True)
    if embedded and kind != "object":
        why = f"must be object if {EMBEDDED} is true"
        yield invalid(f"{at}.type", kind, why) if kind else required(f"{at}.type", why)
    elif not kind and not either and not schema.get(PRESERVE):
        where = {"root": "at the root", "items": "for specified array items"}
        why = f"must not be empty {where.get(level, 'for specified object fields')}"
        yield required(f"{at}.type", why)
    if embedded and extra is not None:
        why = f"must not be used if {EMBEDDED} is set"
        yield forbidden(f"{at}.additionalProperties", why)
    if level == "root" and kind and kind != "object":
        yield invalid(f"{at}.type", kind, "must be object at the root")
    if level == "root" or embedded:
        yield from _metadata_causes(schema, at, is_root=level == "root")
    if embedded and not schema.get(PRESERVE) and not schema.get("properties"):
        why = f"must not be empty if {EMBEDDED} is true without {PRESERVE}"
        yield required(f"{at}.properties", why)


def _metadata_causes(schema: JsonObject, at: str, *, is_root: bool) -> Iterator[Cause]:
    """Yield what is wrong with the schemas of metadata, kind and apiVersion."""
    properties = schema.get("properties") or {}
    for name in ("kind", "apiVersion"):
        if (
            name in properties
            and (kind := properties[name].get("type", "")) != "string"
        ):
            yield invalid(f"{at}.properties[{name}].type", kind, "must be string")
    metadata = properties.get("metadata")
    if metadata is None:
        return
    here = f"{at}.properties[metadata]"
    if (kind := metadata.get("type", "")) != "object":
        yield invalid(f"{here}.type", kind, "must be object")
    if not is_root:
        return
    names = set(metadata.get("properties") or ())
    others = [
        name
        for name, value in metadata.items()
        if name not in ("type", "default") and value not in ("", False, [], {})
    ]
    if others not in ([], ["properties"]) or names - {"name", "generateName"}:
        why = (
            "must not specify anything other than name and generateName, but metadata "
            "is implicitly specified"
        )
        yield forbidden(here, why)


def _value_causes(
    schema: JsonObject, at: str, *, either: bool = False, first: bool = False
) -> Iterator[Cause]:
    """Yield what is wrong with the junctors and the pattern of a schema.

    either: if true, `anyOf` may name the two types of an int-or-string; first: if true,
    that of the first schema in `allOf` may.
    """
    if not either or schema.get("anyOf") != _EITHER:
        for index, part in enumerate(schema.get("anyOf") or ()):
            yield from _nested(part, f"{at}.anyOf[{index}]")
    for index, part in enumerate(schema.get("allOf") or ()):
        here = f"{at}.allOf[{index}]"
        yield from _nested(part, here, either=first and index == 0)
    for index, part in enumerate(schema.get("oneOf") or ()):
        yield from _nested(part, f"{at}.oneOf[{index}]")
    if isinstance(schema.get("not"), dict):
        yield from _nested(schema["not"], f"{at}.not")
    if pattern := schema.get("pattern"):
        try:
            patterns.compiled(pattern)
        except patterns.SchemaPatternError as error:
            why = f"must be a valid regular expression, but isn't: {error}"
            yield invalid(f"{at}.pattern", pattern, why)


def _nested(schema: Any, at: str, *, either: bool = False) -> Iterator[Cause]:
    """Yield what is wrong with a schema in a junctor, which may only check values."""
    if not isinstance(schema, dict):
        return
    yield from _value_causes(schema, at, either=either)
    if isinstance(items := schema.get("items"), dict):
        yield from _nested(items, f"{at}.items")
    for name, part in (schema.get("properties") or {}).items():
        yield from _nested(part, f"{at}.properties[{name}]")
    for name, empty in _NOT_NESTED.items():
        value = schema.get(name)
        if value or (name == "additionalProperties" and value == {}):
            yield forbidden(f"{at}.{name}", f"must be {empty} to be structural")
    if "metadata" in (schema.get("properties") or {}):
        here = f"{at}.properties[metadata]"
        yield forbidden(here, "must not be specified in a nested context")


def _complete(schema: JsonObject, at: str) -> Iterator[Cause]:
    """Yield an error for each field of a root's junctors that the root does not
    have.
    """
    for _, place, part in _junctors(schema):
        if part:
            yield from _named_outside(part, schema, at, f"{at}.{place}")


def _junctors(schema: JsonObject) -> Iterator[tuple[str, str, Any]]:
    """Yield each schema in the junctors of a schema, after the junctor's name and the
    place in it, such as `allOf` and `allOf[0]`.
    """
    for name in _JUNCTORS:
        for index, part in enumerate(schema.get(name) or ()):
            yield name, f"{name}[{index}]", part
    if schema.get("not"):
        yield "not", "not", schema["not"]


def _named_outside(
    part: JsonObject, schema: Any, at: str, here: str
) -> Iterator[Cause]:
    if not isinstance(schema, dict):
        yield required(at, f"because it is defined in {here}")
        return
    for name, _, inner in _junctors(part):
        if inner:
            yield from _named_outside(inner, schema, at, f"{here}.{name}")
    if isinstance(items := part.get("items"), dict):
        yield from _named_outside(
            items, schema.get("items"), f"{at}.items", f"{here}.items"
        )
    known = schema.get("properties") or {}
    for name, inner in (part.get("properties") or {}).items():
        step = f"properties[{name}]"
        yield from _named_outside(
            inner, known.get(name), f"{at}.{step}", f"{here}.{step}"
        )


@attrs.frozen
class _Around:
    """Context of a schema: how the schemas around it limit it.

    places: paths of the schemas whose rules may be compiled, each with the path of the
    list that keeps its rules from `oldSelf`, or ""; filled in on the way.
    """

    places: dict[str, str] | None
    loose: str = ""
    no_defaults: str = ""
    in_metadata: bool = False

    def inside(self, **changes: Any) -> "_Around":
        """Return the context of a schema one level deeper, with changes."""
        if self.loose:  # the outermost list is named
            changes.pop("loose", None)
        return attrs.evolve(self, **changes)


def _keyword_causes(
    schema: Any, at: str, around: _Around, *, is_root: bool = False
) -> Iterator[Cause]:
    """Yield what is wrong with the keywords of a schema and of those inside."""
    if not isinstance(schema, dict):
        return
    found = [
        *_supported(schema, at, around),
        *_inner_causes(schema, at, around, is_root=is_root),
        *merging_causes(schema, at),
    ]
    if schema.get(PRESERVE) is False:
        found.append(invalid(f"{at}.{PRESERVE}", False, "must be true or undefined"))
    for index, rule in enumerate(schema.get(RULES) or ()):
        found += rule_causes(schema, rule, f"{at}.{RULES}[{index}]")
    # An expression is compiled only if its schema is in order.
    if schema.get(RULES) and not found and around.places is not None:
        around.places[at] = around.loose
    yield from found


def _supported(schema: JsonObject, at: str, around: _Around) -> Iterator[Cause]:
    kind = schema.get("type", "")
    if kind and kind not in TYPES:
        yield unsupported(f"{at}.type", kind, TYPES)
    if around.no_defaults and "default" in schema:
        yield forbidden(f"{at}.default", f"must not be set {around.no_defaults}")
    for name in _UNSUPPORTED:
        if schema.get(name) or (name == "additionalItems" and name in schema):
            yield forbidden(f"{at}.{name}", f"{name} is not supported")
    if kind == "null":
        why = "type cannot be set to null, use nullable as an alternative"
        yield forbidden(f"{at}.type", why)
    if isinstance(schema.get("items"), list) and schema["items"]:
        yield forbidden(f"{at}.items", "items must be a schema object and not an array")
    if around.in_metadata and schema.get(EMBEDDED):
        yield forbidden(f"{at}.{EMBEDDED}", "must not be used inside of resource meta")
    if schema.get("uniqueItems"):
        why = (
            "uniqueItems cannot be set to true since the runtime complexity becomes "
            "quadratic"
        )
        yield forbidden(f"{at}.uniqueItems", why)


def _inner_causes(
    schema: JsonObject, at: str, around: _Around, *, is_root: bool
) -> Iterator[Cause]:
    extra, properties = schema.get("additionalProperties"), schema.get("properties")
    if properties and extra is not None and extra is not True:
        why = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{at}.additionalProperties", why)
    inner = around
    if around.in_metadata:
        why = "inside additionalProperties applying to object metadata"
        inner = around.inside(no_defaults=why)
    yield from _keyword_causes(extra, f"{at}.additionalProperties", inner)
    for name, part in (properties or {}).items():
        changes: dict[str, Any] = {}
        if schema.get(MAP_TYPE) == "atomic":
            changes["loose"] = at
        if name in _META and (is_root or schema.get(EMBEDDED)):
            changes["in_metadata"] = True
            if is_root:
                changes["no_defaults"] = f"in top-level {name}"
        here = f"{at}.properties[{name}]"
        yield from _keyword_causes(part, here, around.inside(**changes))
    for _, place, part in _junctors(schema):
        yield from _keyword_causes(part, f"{at}.{place}", around.inside(places=None))
    loose = {} if schema.get(LIST_TYPE) == "map" else {"loose": at}
    yield from _keyword_causes(
        schema.get("items"), f"{at}.items", around.inside(**loose)
    )
