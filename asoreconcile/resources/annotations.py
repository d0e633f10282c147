"""What a class says of its fields beside their types, in `Annotated`.

    replicas: Annotated[int, "How many pods.", Schema(minimum=0, maximum=20)] = 1

Values only: `schema` writes them into a CRD. A plain string is the description.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs


@attrs.frozen
class Rule:
    """A rule (CEL) that the API server checks on each write.

    expression: is true of what is right; `self` is the value, `oldSelf` the one before.
    message: what who writes something else is told; message_expression: CEL that makes
    it. reason: as `FieldValueInvalid`. optional_old_self: also checked on creation.
    """

    expression: str
    message: str = ""
    message_expression: str = attrs.field(default="", kw_only=True)
    reason: str = attrs.field(default="", kw_only=True)
    field_path: str = attrs.field(default="", kw_only=True)
    optional_old_self: bool = attrs.field(default=False, kw_only=True)

    def document(self) -> dict[str, Any]:
        """As an entry of `x-kubernetes-validations`."""
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
    """Keywords of a value's schema. None and empty ones say nothing.

    name: in JSON; else the Python name in camelCase, without a `_` at its end.
    minimum, maximum: of numbers, themselves allowed unless exclusive. pattern: of
    strings, found anywhere unless anchored. format: as `ipv4`, `uri`, `int32`.
    min_length, max_length: characters of a string, items of a list, entries of a map.
    enum: the values there may be. unique: no item of a list twice (`set`).
    map_keys: a list is a map by these fields of its items. atomic: a list, map or
    object that is applied as one.
    rules: see `Rule`. immutable: a value that is there never changes again.
    preserve_unknown: of an object, fields that the class does not name are stored.
    title, example: shown to people. default: in the CRD, where it is not the class's.
    nullable: null is stored, and is not the same as no value.
    items: the same of each item of a list, or each value of a map.
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


@attrs.frozen
class OmitEmpty:
    """A field of ours whose empty value is no value: it is not sent."""


OMIT_EMPTY = OmitEmpty()


@attrs.frozen
class PrinterColumn:
    """A column of `kubectl get`. path: as `.spec.host`; its type is the class's.

    wide: shown by `-o wide` alone.
    """

    name: str
    path: str
    type: str = attrs.field(default="", kw_only=True)
    format: str = attrs.field(default="", kw_only=True)
    description: str = attrs.field(default="", kw_only=True)
    wide: bool = attrs.field(default=False, kw_only=True)

    def document(self, type_found: str) -> dict[str, Any]:
        """As an entry of `additionalPrinterColumns`."""
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
    """Where the fields are that `kubectl scale` and autoscalers use."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    selector: str = ""

    def document(self) -> Mapping[str, str]:
        """As `subresources.scale`."""
        made = {
            "specReplicasPath": self.spec_replicas,
            "statusReplicasPath": self.status_replicas,
        }
        if self.selector:
            made["labelSelectorPath"] = self.selector
        return made
