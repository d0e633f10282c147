"""`matchConditions` of webhooks: CEL over a review's request, which says whom to ask.

`object`, `oldObject` and `request` are what the webhook would be sent; there is no
`authorizer`. All conditions must hold; one that is false counts more than one that
fails.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from asoreconcile.objects import JsonObject
from asoreconcile.testing.kube.rules.cel import EngineMissingError, RuleError, engine
from asoreconcile.testing.kube.wire.status import Cause

_VARIABLES = ("object", "oldObject", "request")
_BOOL = frozenset({"BOOL", "DYN"})


class ConditionError(Exception):
    """A condition that could not be evaluated, and none that is false."""


def matches(webhook: Mapping[str, Any], request: JsonObject) -> bool:
    """Whether the webhook wants this request. Raises ConditionError."""
    failures = []
    values = {
        "object": request["object"],
        "oldObject": request["oldObject"],
        "request": request,
    }
    for condition in webhook.get("matchConditions") or ():
        text = str(condition.get("expression") or "")
        try:
            held = engine(_VARIABLES).compile(text).run(values)
        except RuleError as error:
            failures.append(f"expression '{text}' resulted in error: {error}")
            continue
        if held is not True:
            return False
    if failures:
        raise ConditionError("; ".join(failures))
    return True


def causes(webhook: Mapping[str, Any], at: str) -> Iterator[Cause]:
    """What keeps a webhook's conditions from being taken."""
    seen: set[str] = set()
    for index, condition in enumerate(webhook.get("matchConditions") or ()):
        place = f"{at}.matchConditions[{index}]"
        name, text = (str(condition.get(key) or "") for key in ("name", "expression"))
        for key, value in (("name", name), ("expression", text)):
            if not value.strip():
                yield Cause(f"{place}.{key}", "FieldValueRequired", "Required value")
        if name and name in seen:
            told = f'Duplicate value: "{name}"'
            yield Cause(f"{place}.name", "FieldValueDuplicate", told)
        seen.add(name)
        if text.strip():
            yield from _compiled(text, f"{place}.expression")


def _compiled(text: str, at: str) -> Iterator[Cause]:
    try:
        program = engine(_VARIABLES).compile(text)
    except EngineMissingError as error:
        yield Cause(at, "FieldValueNotSupported", str(error))
        return
    except RuleError as error:
        yield Cause(at, "FieldValueInvalid", f'Invalid value: "{text}": {error}')
        return
    if program.gives not in _BOOL:
        told = f'Invalid value: "{text}": must evaluate to bool'
        yield Cause(at, "FieldValueInvalid", told)
