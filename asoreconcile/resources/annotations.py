"""Field options of resource classes, given in `Annotated`.

    replicas: Annotated[int, "How many pods.", Schema(minimum=0, maximum=20)] = 1

These are plain values; `schema` writes them into a CRD. A plain string is the
description.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from asoreconcile.base.errors import check_is, check_list, check_number


@attrs.frozen
class Rule:
    """A CEL validation rule, which the API server checks on each write.

    expression: true for a valid value; `self` is the value, `oldSelf` the previous one.
    message: the error for an invalid value; message_expression: CEL that computes it.
    reason: such as `FieldValueInvalid`. optional_old_self: also check on creation.
    """

    expression: str
    message: str = ""
    message_expression: str = attrs.field(default="", kw_only=True)
    reason: str = attrs.field(default="", kw_only=True)
    field_path: str = attrs.field(default="", kw_only=True)
    optional_old_self: bool = attrs.field(default=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        check_is("expression", self.expression, str)
        if not self.expression.strip():
            raise ValueError("expression is empty: give CEL that is true for a value")

    def document(self) -> dict[str, Any]:
        """Return the entry of `x-kubernetes-validations`."""
        made: dict[str, Any] = {
            "rule": self.expression,
            "message": self.message,
            "messageExpression": self.message_expression,
            "reason": self.reason,
            "fieldPath": self.field_path,
            "optionalOldSelf": self.optional_old_self,
        }
        return {name: value for name, value in made.items() if value}


IMMUTABLE = Rule("self == oldSelf", "is immutable")
"""The rule of `Schema(immutable=True)`."""


@attrs.frozen(kw_only=True)
class Schema:
    """Schema keywords of a field. None and empty values are left out.

    name: name in JSON; by default the Python name in camelCase, without a trailing `_`.
    minimum, maximum: limits of numbers, inclusive unless exclusive is set. pattern:
    unanchored pattern of strings. format: such as `ipv4`, `uri`, `int32`.
    min_length, max_length: characters of a string, items of a list, entries of a map.
    enum: the allowed values. unique: list items are unique (`set`).
    map_keys: the list is a map with these item fields as keys. atomic: a list, map or
    object that is applied as a whole.
    rules: see `Rule`. immutable: the value never changes once set.
    preserve_unknown: store object fields that the class does not define.
    title, example: texts for people. default: the CRD's default, if it differs from the
    class's.
    nullable: null is stored, and differs from no value.
    items: the keywords of each list item or map value.

    Raises TypeError or ValueError for keywords that no value could meet.
    """

    name: str = ""
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: float | None = None
    pattern: str = ""
    format: str = ""
    min_length: int | None = None
    max_length: int | None = None
    enum: Sequence[Any] = ()
    unique: bool = False
    map_keys: Sequence[str] = ()
    atomic: bool = False
    rules: Sequence[Rule] = ()
    immutable: bool = False
    preserve_unknown: bool = False
    embedded_resource: bool = False
    title: str = ""
    example: Any = None
    default: Any = None
    nullable: bool = False
    items: "Schema | None" = None

    def __attrs_post_init__(self) -> None:
        for name in ("minimum", "maximum"):
            if (value := getattr(self, name)) is not None:
                check_number(name, value, least=-math.inf)
        if self.multiple_of is not None:
            check_number("multiple_of", self.multiple_of, least=0, above=True)
        for name in ("min_length", "max_length"):
            if (value := getattr(self, name)) is not None:
                check_is(name, value, int)
                check_number(name, value, least=0)
        for name in ("enum", "map_keys", "rules"):
            check_list(name, getattr(self, name))
        for name in ("name", "pattern", "format", "title"):
            check_is(name, getattr(self, name), str)
        _check_order("minimum", self.minimum, "maximum", self.maximum)
        _check_order("min_length", self.min_length, "max_length", self.max_length)
        is_open = self.exclusive_minimum or self.exclusive_maximum
        if is_open and self.minimum is not None and self.minimum == self.maximum:
            raise ValueError("minimum is maximum, and excluded: no value fits")

    def __hash__(self) -> int:
        """Hash only fields that are never lists. Python hashes the types of a union
        together with their notes.
        """
        return hash((self.name, self.minimum, self.maximum, self.pattern, self.format))


def _check_path(name: str, path: object) -> None:
    check_is(name, path, str)
    if not str(path).startswith("."):
        raise ValueError(f"{name} is {path!r:.80}: give a path as .spec.replicas")


def _check_order(low: str, least: float | None, high: str, most: float | None) -> None:
    if least is not None and most is not None and least > most:
        raise ValueError(f"{low} is {least:g}, above {high}, {most:g}: no value fits")


@attrs.frozen
class OmitEmpty:
    """Marks a field whose empty value is not sent."""


OMIT_EMPTY = OmitEmpty()


@attrs.frozen
class PrinterColumn:
    """A column of `kubectl get`. path: such as `.spec.host`; its type comes from the
    class.

    wide: shown only by `-o wide`.
    """

    name: str
    path: str
    type: str = attrs.field(default="", kw_only=True)
    format: str = attrs.field(default="", kw_only=True)
    description: str = attrs.field(default="", kw_only=True)
    wide: bool = attrs.field(default=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        _check_path("path", self.path)

    def document(self, type_found: str) -> dict[str, Any]:
        """Return an entry of `additionalPrinterColumns`."""
        made: dict[str, Any] = {
            "name": self.name,
            "type": self.type or type_found,
            "jsonPath": self.path,
        }
        if self.format:
            made["format"] = self.format
        if self.description:
            made["description"] = self.description
        if self.wide:
            made["priority"] = 1
        return made


@attrs.frozen
class ScalePaths:
    """The paths of the fields that `kubectl scale` and autoscalers use."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    selector: str = ""

    def __attrs_post_init__(self) -> None:
        for name in ("spec_replicas", "status_replicas", "selector"):
            if getattr(self, name) or name != "selector":
                _check_path(name, getattr(self, name))

    def document(self) -> Mapping[str, str]:
        """Return the value of `subresources.scale`."""
        made = {
            "specReplicasPath": self.spec_replicas,
            "statusReplicasPath": self.status_replicas,
        }
        if self.selector:
            made["labelSelectorPath"] = self.selector
        return made


@attrs.frozen(kw_only=True)
class CrdOptions:
    """The CRD options besides the schema (`resource`)."""

    singular: str = ""
    short_names: Sequence[str] = ()
    categories: Sequence[str] = ()
    columns: Sequence[PrinterColumn] = ()
    scale: ScalePaths | None = None
    rules: Sequence[Rule] = ()
    selectable: Sequence[str] = ()
    storage: bool = False
    served: bool = True
    deprecated: str = ""
