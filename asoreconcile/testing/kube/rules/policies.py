"""The expressions of a ValidatingAdmissionPolicy: checked when written, and
evaluated.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.cel.engine import CelMissingError, RuleError
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.testing.kube.access.users import User
from asoreconcile.testing.kube.rules import authorizer, conditions
from asoreconcile.testing.kube.rules.authorizer import DecideAccess
from asoreconcile.testing.kube.rules.engine import CelProgram, program

_NAMES = (
    *("object", "oldObject", "request", "authorizer"),
    *("namespaceObject", "variables"),
)
_VARIABLE = re.compile(r"\bvariables\.([A-Za-z_]\w*)")


def causes(text: str, at: str, names: Sequence[str], *, gives: str) -> Iterator[Cause]:
    """Yield the mistakes in an expression.

    names: the variables that it may use.
    gives: required type of the result; "" for any.
    """
    for match in _VARIABLE.finditer(text):
        if match[1] not in names:
            why = f"compilation failed: undefined field '{match[1]}'"
            yield _invalid(at, text, why)
            return
    try:
        found = _program(text)
    except CelMissingError as error:
        yield Cause(at, "FieldValueNotSupported", str(error))
        return
    except RuleError as error:
        yield _invalid(at, text, str(error))
        return
    if gives and found.gives not in (gives.upper(), "DYN"):
        why = f"must evaluate to {gives} but got {found.gives.lower()}"
        yield _invalid(at, text, why)


def failures(
    stated: JsonObject,
    request: JsonObject,
    namespace: JsonObject | None,
    user: User,
    decide: DecideAccess,
) -> list[tuple[str, str]]:
    """Return the validations of a policy's spec that a request violates: (why, reason).

    Validations that cannot be evaluated count as violated, unless failurePolicy is
    Ignore.
    """
    ignores = stated.get("failurePolicy") == "Ignore"
    try:
        if not conditions.matches(stated, request, user, decide):
            return []
    except conditions.MatchConditionError as error:
        return [] if ignores else [(str(error), "Invalid")]
    found: list[tuple[str, str]] = []
    with authorizer.asking(user, decide):
        values = _values(stated, request, namespace)
        for validation in stated.get("validations") or ():
            text = str(validation["expression"])
            reason = str(validation.get("reason") or "Invalid")
            try:
                held = _program(text).run(values)
            except RuleError as error:
                if not ignores:
                    why = f"expression '{text}' resulted in error: {error}"
                    found.append((why, reason))
                continue
            if held is not True:
                found.append((_message(validation, values), reason))
    return found


def _values(
    stated: JsonObject, request: JsonObject, namespace: JsonObject | None
) -> dict[str, Any]:
    variables: dict[str, Any] = {}
    values = {
        "object": request["object"],
        "oldObject": request["oldObject"],
        "request": request,
        "authorizer": authorizer.value(request),
        "namespaceObject": namespace,
        "variables": variables,
    }
    for variable in stated.get("variables") or ():
        try:
            found = _program(str(variable["expression"])).run(values)
        except RuleError:
            continue  # an expression that uses it fails, because it does not exist
        variables[str(variable["name"])] = found
    return values


def _message(validation: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    if text := validation.get("messageExpression"):
        try:
            made = _program(str(text)).run(values)
        except RuleError:
            made = ""
        if isinstance(made, str) and made.strip() and "\n" not in made:
            return made.strip()
    message = validation.get("message")
    return str(message or f"failed expression: {validation['expression']}")


def _program(text: str) -> CelProgram:
    return program(text, _NAMES, authorizer.functions)


def _invalid(at: str, text: str, why: str) -> Cause:
    return Cause(at, "FieldValueInvalid", f'Invalid value: "{text}": {why}')
