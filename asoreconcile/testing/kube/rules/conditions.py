"""`matchConditions` of webhooks: CEL over a review's request.

`object`, `oldObject` and `request` have the values that the webhook would receive.
`authorizer` answers questions about the user's permissions. All conditions must hold.
If one is false, the webhook is not called, even if another one fails.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.cel.engine import CelMissingError, RuleError
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.testing.kube.access.users import User
from asoreconcile.testing.kube.rules import authorizer
from asoreconcile.testing.kube.rules.authorizer import DecideAccess
from asoreconcile.testing.kube.rules.engine import CelProgram, program

_VARIABLES = ("object", "oldObject", "request", "authorizer")
_BOOL = frozenset({"BOOL", "DYN"})


class MatchConditionError(Exception):
    """A condition failed, and none is false."""


def matches(
    webhook: Mapping[str, Any], request: JsonObject, user: User, decide: DecideAccess
) -> bool:
    """Return whether a webhook's conditions match a request. Raises
    MatchConditionError.
    """
    failures = []
    values = {
        "object": request["object"],
        "oldObject": request["oldObject"],
        "request": request,
        "authorizer": authorizer.value(request),
    }
    for condition in webhook.get("matchConditions") or ():
        text = str(condition.get("expression") or "")
        try:
            with authorizer.asking(user, decide):
                held = _program(text).run(values)
        except RuleError as error:
            failures.append(f"expression '{text}' resulted in error: {error}")
            continue
        if held is not True:
            return False
    if failures:
        raise MatchConditionError("; ".join(failures))
    return True


def causes(webhook: Mapping[str, Any], at: str) -> Iterator[Cause]:
    """Yield the mistakes in a webhook's conditions."""
    seen: set[str] = set()
    for index, condition in enumerate(webhook.get("matchConditions") or ()):
        place = f"{at}.matchConditions[{index}]"
        name, text = (str(condition.get(key) or "") for key in ("name", "expression"))
        for key, value in (("name", name), ("expression", text)):
            if not value.strip():
                yield Cause(f"{place}.{key}", "FieldValueRequired", "Required value")
        if name and name in seen:
            message = f'Duplicate value: "{name}"'
            yield Cause(f"{place}.name", "FieldValueDuplicate", message)
        seen.add(name)
        if text.strip():
            yield from _compiled(text, f"{place}.expression")


def _compiled(text: str, at: str) -> Iterator[Cause]:
    try:
        found = _program(text)
    except CelMissingError as error:
        yield Cause(at, "FieldValueNotSupported", str(error))
        return
    except RuleError as error:
        yield Cause(at, "FieldValueInvalid", f'Invalid value: "{text}": {error}')
        return
    if found.gives not in _BOOL:
        message = f'Invalid value: "{text}": must evaluate to bool'
        yield Cause(at, "FieldValueInvalid", message)


def _program(text: str) -> CelProgram:
    return program(text, _VARIABLES, authorizer.functions)
