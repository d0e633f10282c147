"""Writes of ValidatingAdmissionPolicies and their bindings. Pure.

This covers fields, defaults and refusals. Policies with parameters are refused, because
parameters are not supported here.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from asoreconcile.base.objects import JsonObject, spec
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.testing.kube.rules import conditions, policies

_TEXT: JsonObject = {"type": "string"}
_TEXTS: JsonObject = {"type": "array", "items": _TEXT}
_OBJECT: JsonObject = {
    "type": "object",
    "x-kubernetes-preserve-unknown-fields": True,
}
_RULE: JsonObject = {
    "type": "object",
    "properties": {
        **dict.fromkeys(
            ("operations", "apiGroups", "apiVersions", "resources", "resourceNames"),
            _TEXTS,
        ),
        "scope": _TEXT,
    },
}
_MATCH: JsonObject = {
    "type": "object",
    "properties": {
        "namespaceSelector": _OBJECT,
        "objectSelector": _OBJECT,
        "resourceRules": {"type": "array", "items": _RULE},
        "excludeResourceRules": {"type": "array", "items": _RULE},
        "matchPolicy": _TEXT,
    },
}


def _listed(*names: str) -> JsonObject:
    item = {"type": "object", "properties": dict.fromkeys(names, _TEXT)}
    return {"type": "array", "items": item}


def _of(**properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": {
            "metadata": {"type": "object"},
            "spec": {"type": "object", "properties": properties},
            "status": _OBJECT,
        },
    }


POLICY, BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
SCHEMAS: Mapping[str, JsonObject] = {
    POLICY: _of(
        paramKind=_OBJECT,
        matchConstraints=_MATCH,
        validations=_listed("expression", "message", "messageExpression", "reason"),
        failurePolicy=_TEXT,
        auditAnnotations=_listed("key", "valueExpression"),
        matchConditions=_listed("name", "expression"),
        variables=_listed("name", "expression"),
    ),
    BINDING: _of(
        policyName=_TEXT,
        paramRef=_OBJECT,
        matchResources=_MATCH,
        validationActions=_TEXTS,
    ),
}
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS = ("Audit", "Deny", "Warn")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def take_in(obj: JsonObject) -> None:
    """Fill in the defaults."""
    stated = spec(obj)
    if obj.get("kind") == POLICY:
        stated.setdefault("failurePolicy", "Fail")
    for match in (stated.get("matchConstraints"), stated.get("matchResources")):
        if match is None:
            continue
        match.setdefault("namespaceSelector", {})
        match.setdefault("objectSelector", {})
        match.setdefault("matchPolicy", "Equivalent")
        for rules in ("resourceRules", "excludeResourceRules"):
            for rule in match.get(rules) or ():
                rule.setdefault("scope", "*")


def causes(obj: JsonObject) -> Iterator[Cause]:
    """Yield the reasons against storing a policy or binding."""
    if obj.get("kind") == POLICY:
        yield from _policy_causes(spec(obj))
    else:
        yield from _binding_causes(spec(obj))


def _policy_causes(stated: JsonObject) -> Iterator[Cause]:
    if stated.get("paramKind"):
        why = "policies with parameters are not made here"
        yield Cause("spec.paramKind", "FieldValueNotSupported", why)
    if not stated.get("matchConstraints"):
        yield _required("spec.matchConstraints")
    if not stated.get("validations") and not stated.get("auditAnnotations"):
        why = "validations or auditAnnotations must contain at least one item"
        yield _required("spec.validations", why)
        yield _required("spec.auditAnnotations", why)
    yield from _choice(
        "spec.failurePolicy", stated.get("failurePolicy"), "Fail", "Ignore"
    )
    names: list[str] = []
    for index, variable in enumerate(stated.get("variables") or ()):
        at, name = f"spec.variables[{index}]", str(variable.get("name") or "")
        if not name:
            yield _required(f"{at}.name", "name is not specified")
        elif not _IDENTIFIER.fullmatch(name):
            yield _invalid(f"{at}.name", name, "must be a valid CEL identifier")
        yield from _expression_causes(variable, f"{at}.expression", names)
        names.append(name)
    for index, validation in enumerate(stated.get("validations") or ()):
        at = f"spec.validations[{index}]"
        yield from _expression_causes(
            validation, f"{at}.expression", names, gives="bool"
        )
        if validation.get("messageExpression"):
            yield from policies.causes(
                validation["messageExpression"],
                f"{at}.messageExpression",
                names,
                gives="string",
            )
        yield from _choice(f"{at}.reason", validation.get("reason"), *_REASONS)
    yield from conditions.causes(stated, "spec")


def _expression_causes(
    holder: Mapping[str, Any], at: str, names: list[str], *, gives: str = ""
) -> Iterator[Cause]:
    text = str(holder.get("expression") or "")
    if not text.strip():
        yield _required(at, "expression is not specified")
    else:
        yield from policies.causes(text, at, names, gives=gives)


def _binding_causes(stated: JsonObject) -> Iterator[Cause]:
    if not stated.get("policyName"):
        yield _required("spec.policyName")
    actions = stated.get("validationActions") or []
    at = "spec.validationActions"
    if not actions:
        yield _required(at, "at least one validation action is required")
    for index, action in enumerate(actions):
        yield from _choice(f"{at}[{index}]", action, *_ACTIONS)
        if action in actions[:index]:
            message = f'Duplicate value: "{action}"'
            yield Cause(f"{at}[{index}]", "FieldValueDuplicate", message)
    if {"Deny", "Warn"} <= set(actions):
        why = (
            "must not contain both Deny and Warn (repeating the same validation "
            "failure information in the API response and headers serves no purpose)"
        )
        shown = ",".join(f'"{action}"' for action in actions)
        yield Cause(at, "FieldValueInvalid", f"Invalid value: [{shown}]: {why}")


def _choice(at: str, value: Any, *choices: str) -> Iterator[Cause]:
    if value and value not in choices:
        known = ", ".join(f'"{choice}"' for choice in choices)
        why = f'Unsupported value: "{value}": supported values: {known}'
        yield Cause(at, "FieldValueNotSupported", why)


def _required(at: str, why: str = "") -> Cause:
    message = f"Required value: {why}" if why else "Required value"
    return Cause(at, "FieldValueRequired", message)


def _invalid(at: str, value: str, why: str) -> Cause:
    return Cause(at, "FieldValueInvalid", f'Invalid value: "{value}": {why}')
