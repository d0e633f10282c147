"""The evaluation of validation rules (`x-kubernetes-validations`).

This module finds the parts of a schema with rules, and evaluates the rules on an
object. Transition rules (with `oldSelf`) run if the old value can be found: in fields,
map entries, and items of lists with keys. If an update does not change a value, the
rules that it violated before are ignored.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.cel.engine import RuleError
from asoreconcile.resources.cel.rule_programs import (
    HAS_OLD,
    OLD_VALUE,
    typed_text,
    variables_of,
)
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.resources.crds.rules import uses_old
from asoreconcile.resources.crds.structural import RULES
from asoreconcile.testing.kube.fields.fieldsets import item_step
from asoreconcile.testing.kube.fields.schema import shown
from asoreconcile.testing.kube.rules.engine import TooDearError, program
from asoreconcile.testing.kube.rules.values import as_rules_see

_BLOCKING = {
    "FieldValueNotSupported",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
}
_UNCHECKED = Cause(
    "<nil>",
    "FieldValueInvalid",
    'Invalid value: "null": some validation rules were not checked because the object '
    "was invalid; correct the existing errors to complete validation",
)
_WITHOUT_OLD = object()


class _TooDear(Exception):  # noqa: N818 - an end, not an error
    """A rule took too long. No further rules are run."""

    def __init__(self, cause: Cause) -> None:
        self.cause = cause


@attrs.frozen
class RuleNode:
    """A part of a schema that has rules, itself or below."""

    schema: JsonObject = attrs.field(repr=False)
    rules: tuple[Mapping[str, Any], ...]
    properties: Mapping[str, "RuleNode"]
    extra: "RuleNode | None"
    items: "RuleNode | None"


def tree(schema: JsonObject) -> RuleNode | None:
    """Return the parts of a schema with rules, or None if there are none."""
    inner = {
        name: found
        for name, part in (schema.get("properties") or {}).items()
        if isinstance(part, dict) and (found := tree(part)) is not None
    }
    extra, items = schema.get("additionalProperties"), schema.get("items")
    node = RuleNode(
        schema,
        tuple(schema.get(RULES) or ()),
        inner,
        tree(extra) if isinstance(extra, dict) else None,
        tree(items) if isinstance(items, dict) else None,
    )
    return node if node.rules or inner or node.extra or node.items else None


def broken(
    node: RuleNode, obj: JsonObject, before: JsonObject | None, found: list[Cause]
) -> Iterator[Cause]:
    """Yield the violations of an object.

    found: the violations of the schema, which were found earlier.
    """
    if any(cause.reason in _BLOCKING for cause in found):
        yield _UNCHECKED
        return
    old = _WITHOUT_OLD if before is None else before
    try:
        yield from _broken(node, obj, old, "", is_root=True)
    except _TooDear as stop:
        yield stop.cause


def broken_value(node: RuleNode, value: Any) -> Iterator[Cause]:
    """Yield what the rules say against a value, as of an update and of a creation."""
    for old in (value, _WITHOUT_OLD):
        try:
            yield from _broken(node, value, old, "")
        except _TooDear as stop:
            yield stop.cause


def _broken(
    node: RuleNode, value: Any, old: Any, at: str, *, is_root: bool = False
) -> Iterator[Cause]:
    if value is None:
        return
    if node.rules:
        yield from _own(node, value, old, at, is_root=is_root)
    if isinstance(value, dict):
        for name, inner in value.items():
            below = node.properties.get(name) or node.extra
            if below is not None:
                before = _WITHOUT_OLD
                if isinstance(old, dict):
                    before = old.get(name, _WITHOUT_OLD)
                path = f"{at}.{name}" if at else name
                yield from _broken(below, inner, before, path)
    elif isinstance(value, list) and node.items is not None:
        known = _by_key(node.schema, old)
        for index, item in enumerate(value):
            before = _WITHOUT_OLD
            if known:
                before = known.get(item_step(item, node.schema), _WITHOUT_OLD)
            yield from _broken(node.items, item, before, f"{at}[{index}]")


def _by_key(schema: JsonObject, old: Any) -> dict[str, Any]:
    """Return the old items of a list by key; {} if items cannot be matched."""
    if schema.get("x-kubernetes-list-type") != "map" or not isinstance(old, list):
        return {}
    return {item_step(item, schema): item for item in old}


def _own(
    node: RuleNode, value: Any, old: Any, at: str, *, is_root: bool
) -> Iterator[Cause]:
    seen = as_rules_see(node.schema, value, is_root=is_root)
    was = None
    if old is not _WITHOUT_OLD:
        was = as_rules_see(node.schema, old, is_root=is_root)
    values = {"self": seen, "oldSelf": was, OLD_VALUE: was}
    values[HAS_OLD] = old is not _WITHOUT_OLD
    for rule in node.rules:
        if uses_old(rule["rule"]):
            if old is _WITHOUT_OLD and not rule.get("optionalOldSelf"):
                continue
        elif old is not _WITHOUT_OLD and old == value:
            continue
        try:
            held = _run(rule, "rule", values)
        except RuleError as error:
            message = rule.get("message") or rule["rule"]
            kind = node.schema.get("type") or ""
            if isinstance(error, TooDearError):
                why = (
                    f"'{error}': no further validation rules will be run due to call "
                    f"cost exceeds limit for rule: {rule['rule']}"
                )
                text = f'Invalid value: "{kind}": {why}'
                raise _TooDear(
                    Cause(at or "<nil>", "FieldValueInvalid", text)
                ) from None
            text = f'Invalid value: "{kind}": {error} evaluating rule: {message}'
            yield Cause(at or "<nil>", "FieldValueInvalid", text)
            continue
        if held is not True:
            yield _cause(value, rule, at, _message(rule, values))


def _message(rule: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    text = str(rule.get("messageExpression") or "")
    # A real server fails on an optional oldSelf here, and shows the message.
    if text and not (rule.get("optionalOldSelf") and uses_old(text)):
        try:
            made = _run(rule, "messageExpression", values)
        except RuleError:
            made = ""  # as the API server does it: the message counts in this case
        if isinstance(made, str) and made.strip() and "\n" not in made:
            return made.strip()
    return str(rule.get("message") or f"failed rule: {rule['rule']}").strip()


def _cause(value: Any, rule: Mapping[str, Any], at: str, message: str) -> Cause:
    field = f"{at}{rule.get('fieldPath') or ''}".removeprefix(".") or "<nil>"
    reason = str(rule.get("reason") or "FieldValueInvalid")
    match reason:
        case "FieldValueForbidden":
            text = f"Forbidden: {message}"
        case "FieldValueRequired":
            text = f"Required value: {message}"
        case "FieldValueDuplicate":
            text = f"Duplicate value: {_quoted(value)}".rstrip(": ")
        case _:
            text = f"Invalid value: {_quoted(value)}{message}"
    return Cause(field, reason, text)


def _quoted(value: Any) -> str:
    """Return a value for a message, with a colon; "" for objects and lists."""
    return "" if isinstance(value, dict | list) else f"{shown(value)}: "


def _run(rule: Mapping[str, Any], field: str, values: Mapping[str, Any]) -> Any:
    """Return the result of one of a rule's expressions. Raises RuleError."""
    return program(typed_text(rule, field), variables_of(rule)).run(values)
