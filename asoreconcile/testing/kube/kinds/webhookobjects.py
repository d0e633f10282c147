"""Writes of webhook configurations: fields, defaults and refusals.

The functions are pure.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.testing.kube.rules import conditions

_QUALIFIED = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?){2,}"
)
_LONGEST_SECONDS = 30


_TEXT: JsonObject = {"type": "string"}
_TEXTS: JsonObject = {"type": "array", "items": _TEXT}
_SELECTOR: JsonObject = {
    "type": "object",
    "properties": {
        "matchLabels": {"type": "object", "additionalProperties": _TEXT},
        "matchExpressions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"key": _TEXT, "operator": _TEXT, "values": _TEXTS},
            },
        },
    },
}
_SERVICE: JsonObject = {
    "type": "object",
    "properties": {
        "namespace": _TEXT,
        "name": _TEXT,
        "path": _TEXT,
        "port": {"type": "integer"},
    },
}
_WEBHOOK: JsonObject = {
    "type": "object",
    "properties": {
        **dict.fromkeys(
            (
                "name",
                "failurePolicy",
                "matchPolicy",
                "sideEffects",
                "reinvocationPolicy",
            ),
            _TEXT,
        ),
        "clientConfig": {
            "type": "object",
            "properties": {"url": _TEXT, "caBundle": _TEXT, "service": _SERVICE},
        },
        "rules": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "operations": _TEXTS,
                    "apiGroups": _TEXTS,
                    "apiVersions": _TEXTS,
                    "resources": _TEXTS,
                    "scope": _TEXT,
                },
            },
        },
        "namespaceSelector": _SELECTOR,
        "objectSelector": _SELECTOR,
        "timeoutSeconds": {"type": "integer"},
        "admissionReviewVersions": _TEXTS,
        "matchConditions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": _TEXT, "expression": _TEXT},
            },
        },
    },
}
_CONFIGURATION: JsonObject = {
    "type": "object",
    "properties": {
        "metadata": {"type": "object"},
        "webhooks": {"type": "array", "items": _WEBHOOK},
    },
}
SCHEMAS: Mapping[str, JsonObject] = {
    "MutatingWebhookConfiguration": _CONFIGURATION,
    "ValidatingWebhookConfiguration": _CONFIGURATION,
}


def take_in(obj: JsonObject) -> None:
    """Fill in the defaults of a configuration."""
    mutates = obj.get("kind") == "MutatingWebhookConfiguration"
    for webhook in obj.get("webhooks") or ():
        webhook.setdefault("failurePolicy", "Fail")
        webhook.setdefault("matchPolicy", "Equivalent")
        webhook.setdefault("namespaceSelector", {})
        webhook.setdefault("objectSelector", {})
        webhook.setdefault("timeoutSeconds", 10)
        if mutates:
            webhook.setdefault("reinvocationPolicy", "Never")
        service = (webhook.get("clientConfig") or {}).get("service")
        if isinstance(service, dict):
            service.setdefault("port", 443)
        for rule in webhook.get("rules") or ():
            rule.setdefault("scope", "*")


def causes(obj: JsonObject) -> Iterator[Cause]:
    """Yield the reasons against storing a configuration."""
    seen: set[str] = set()
    for index, webhook in enumerate(obj.get("webhooks") or ()):
        at, name = f"webhooks[{index}]", str(webhook.get("name") or "")
        if not name:
            yield Cause(f"{at}.name", "FieldValueRequired", "Required value")
        elif not _QUALIFIED.fullmatch(name):
            why = "should be a domain with at least three segments separated by dots"
            yield _invalid(f"{at}.name", name, why)
        if name in seen:
            why = f'Duplicate value: "{name}"'
            yield Cause(f"{at}.name", "FieldValueDuplicate", why)
        seen.add(name)
        yield from _webhook_causes(webhook, at)


def _webhook_causes(webhook: Mapping[str, Any], at: str) -> Iterator[Cause]:
    reviews = webhook.get("admissionReviewVersions") or []
    if not reviews:
        why = "Required value: must specify one of v1, v1beta1"
        yield Cause(f"{at}.admissionReviewVersions", "FieldValueRequired", why)
    elif "v1" not in reviews:
        why = "must include at least one of v1, v1beta1"
        yield _invalid(f"{at}.admissionReviewVersions", str(reviews), why)
    effects = webhook.get("sideEffects")
    if effects is not None and effects not in ("None", "NoneOnDryRun"):
        why = (
            f'Unsupported value: "{effects}": supported values: "None", "NoneOnDryRun"'
        )
        yield Cause(f"{at}.sideEffects", "FieldValueNotSupported", why)
    elif effects is None:
        yield Cause(
            f"{at}.sideEffects",
            "FieldValueRequired",
            "Required value: must specify one of None, NoneOnDryRun",
        )
    seconds = webhook.get("timeoutSeconds", 10)
    if not 1 <= seconds <= _LONGEST_SECONDS:
        why = f"Invalid value: {seconds}: the timeout value must be between 1 and "
        yield Cause(f"{at}.timeoutSeconds", "FieldValueInvalid", f"{why}30 seconds")
    config = webhook.get("clientConfig") or {}
    if ("url" in config) == ("service" in config):
        why = "Required value: exactly one of url or service is required"
        yield Cause(f"{at}.clientConfig", "FieldValueRequired", why)
    elif "url" in config and not str(config["url"]).startswith("https://"):
        why = "'https' is the only allowed URL scheme"
        yield _invalid(f"{at}.clientConfig.url", str(config["url"]), why)
    yield from conditions.causes(webhook, at)


def _invalid(field: str, value: str, why: str) -> Cause:
    return Cause(field, "FieldValueInvalid", f'Invalid value: "{value}": {why}')
