"""The checks of single fields of the kinds that controllers own. Pure.

A field can be missing, too small, too large, not one of the choices, or no valid name:
`hack/kube-kinds` measured this on a real server. Rules for several fields together are
in `workloadrules`.
"""

import re
from collections.abc import Iterator
from typing import Any

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.testing.kube.fields import names
from asoreconcile.testing.kube.fields.schema import shown
from asoreconcile.testing.kube.kinds.workloads import fields_of
from asoreconcile.testing.kube.rules import quantities

_RANGE = re.compile(r"must be (?:between|in the range) (\d+)(?: and |-)(\d+)")
_BOUND = re.compile(r"must be (greater|less) than (or equal to )?(\d+|zero)$")
_REGEX = re.compile(r"regex used for validation is '(.*)'\)$")
_QUALIFIED = "name part must"
_LONGEST_LABEL = 63


def causes(kind: str, obj: JsonObject) -> Iterator[Cause]:
    """Yield the mistakes in single fields, without the status."""
    for name, (sort, said) in fields_of(kind).items():
        if name != "status":
            yield from _field_causes(sort, said, obj, name, name)


def _field_causes(
    sort: str, said: JsonObject, holder: JsonObject, name: str, at: str
) -> Iterator[Cause]:
    if holder.get(name) in (None, "", []) or _is_zero_port(said, holder.get(name)):
        if "required" in said:
            why = said["required"]
            text = f"Required value: {why}" if why else "Required value"
            yield Cause(at, "FieldValueRequired", text)
        elif said.get("always") and fields_of(sort) and name not in holder:
            yield from _inside(sort, {}, at)  # Go has an empty one there
        return
    value = holder[name]
    yield from _value_causes(said, value, at)
    yield from _inside(sort, value, at)


def _is_zero_port(said: JsonObject, value: Any) -> bool:
    return "required" in said and "number" in said and value == 0


def _inside(sort: str, value: Any, at: str) -> Iterator[Cause]:
    if sort.startswith("[]") and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _inside(sort[2:], item, f"{at}[{index}]")
    elif isinstance(value, dict):
        for name, (inner, said) in fields_of(sort).items():
            if name != "status":
                yield from _field_causes(inner, said, value, name, f"{at}.{name}")


def unreadable(sort: str, value: Any) -> Iterator[str]:
    """Yield why quantities cannot be read."""
    if sort == "quantity":
        try:
            quantities.parsed(str(value))
        except ValueError as error:
            yield str(error)
    elif sort.startswith("[]") and isinstance(value, list):
        for item in value:
            yield from unreadable(sort[2:], item)
    elif sort.startswith("{}") and isinstance(value, dict):
        for item in value.values():
            yield from unreadable(sort[2:], item)
    elif isinstance(value, dict):
        for name, (inner, _) in fields_of(sort).items():
            if value.get(name) is not None:
                yield from unreadable(inner, value[name])


def selector_causes(selector: JsonObject, at: str) -> Iterator[Cause]:
    """Yield the mistakes in the expressions of a LabelSelector."""
    for index, one in enumerate(selector.get("matchExpressions") or ()):
        here, operator = f"{at}.matchExpressions[{index}]", one.get("operator")
        if operator in ("In", "NotIn") and not one.get("values"):
            why = "must be specified when `operator` is 'In' or 'NotIn'"
            text = f"Required value: {why}"
            yield Cause(f"{here}.values", "FieldValueRequired", text)
        elif operator in ("Exists", "DoesNotExist") and one.get("values"):
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield Cause(f"{here}.values", "FieldValueForbidden", f"Forbidden: {why}")
        elif operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
            text = f"Invalid value: {shown(operator or '')}: "
            text += "not a valid selector operator"
            yield Cause(f"{here}.operator", "FieldValueInvalid", text)


def _value_causes(said: JsonObject, value: Any, at: str) -> Iterator[Cause]:
    choices = said.get("enum")
    if choices and isinstance(value, str) and value not in choices:
        known = ", ".join(shown(one) for one in choices)
        why = f"Unsupported value: {shown(value)}: supported values: {known}"
        yield Cause(at, "FieldValueNotSupported", why)
    number = said.get("number")
    if number and type(value) is int and not _in_range(number, value):
        yield _invalid(at, value, number)
    text = said.get("text")
    if text and isinstance(value, str) and text.startswith(_QUALIFIED):
        for problem in names.key_problems(value):
            yield _invalid(at, value, problem)
    elif text and isinstance(value, str) and (found := _REGEX.search(text)):
        if not re.fullmatch(found[1], value):
            yield _invalid(at, value, text)
        elif "1123 label" in text and len(value) > _LONGEST_LABEL:
            why = f"Too long: may not be more than {_LONGEST_LABEL} bytes"
            yield Cause(at, "FieldValueTooLong", why)


def _in_range(words: str, value: int) -> bool:
    if found := _RANGE.search(words):
        return int(found[1]) <= value <= int(found[2])
    if (bound := _BOUND.search(words)) is None:
        return True
    limit = 0 if bound[3] == "zero" else int(bound[3])
    if bound[2] and value == limit:
        return True
    return value > limit if bound[1] == "greater" else value < limit


def _invalid(at: str, value: Any, why: str) -> Cause:
    return Cause(at, "FieldValueInvalid", f"Invalid value: {shown(value)}: {why}")
