"""Webhook configurations: which of their webhooks a write concerns. Pure.

And what is set and checked when such a configuration is written.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import attrs

from asoreconcile.objects import JsonObject, labels
from asoreconcile.testing.kube import conditions
from asoreconcile.testing.kube.kinds import Resource
from asoreconcile.testing.kube.labels import selects
from asoreconcile.testing.kube.status import Cause
from asoreconcile.testing.kube.users import User

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


@attrs.frozen(kw_only=True)
class Write:
    """One write as webhooks see it. obj: None when it deletes; before: when it creates.

    versions: the resource at all its served versions, this one first.
    """

    resource: Resource
    operation: str
    namespace: str
    name: str
    user: User
    obj: JsonObject | None = attrs.field(default=None, repr=False)
    before: JsonObject | None = attrs.field(default=None, repr=False)
    subresource: str = ""
    dry_run: bool = False
    options: JsonObject = attrs.field(factory=dict, repr=False)
    versions: Sequence[Resource] = ()


@attrs.frozen
class Admitted:
    """What webhooks made of a write. obj: None when it deletes."""

    obj: JsonObject | None
    warnings: tuple[str, ...] = ()


class Gate(Protocol):
    """What else has a say in writes (`admission.Admission`)."""

    def admit(self, write: Write) -> Admitted:
        """Blocking: hold no lock. Raises StatusError to refuse."""


def wanted(
    webhook: Mapping[str, Any], write: Write, namespace: JsonObject | None
) -> Resource | None:
    """The version a webhook wants to see a write at; None when it is not concerned.

    namespace: the Namespace object of the write, None at the cluster's scope.
    """
    if not selects(webhook.get("namespaceSelector"), labels(namespace or {})) and (
        namespace is not None
    ):
        return None
    selector = webhook.get("objectSelector")
    seen = [obj for obj in (write.obj, write.before) if obj is not None]
    if not any(selects(selector, labels(obj)) for obj in seen):
        return None
    versions = [write.resource]
    if webhook.get("matchPolicy", "Equivalent") == "Equivalent":
        versions += [r for r in write.versions if r.version != write.resource.version]
    rules = webhook.get("rules") or ()
    for version in versions:
        if any(_covers(rule, write, version) for rule in rules):
            return version
    return None


def _covers(rule: Mapping[str, Any], write: Write, resource: Resource) -> bool:
    scope = rule.get("scope", "*")
    if scope != "*" and (scope == "Namespaced") != bool(_scope(write)):
        return False
    return (
        _has(rule.get("operations"), write.operation)
        and _has(rule.get("apiGroups"), resource.group)
        and _has(rule.get("apiVersions"), resource.version)
        and any(_is(text, write) for text in rule.get("resources") or ())
    )


def _scope(write: Write) -> str:
    """The namespace a resource lives in; Namespaces themselves are of the cluster."""
    return write.namespace if write.resource.namespaced else ""


def _has(listed: Any, value: str) -> bool:
    return "*" in (listed or ()) or value in (listed or ())


def _is(text: str, write: Write) -> bool:
    resource, _, subresource = text.partition("/")
    return resource in ("*", write.resource.plural) and (
        subresource in ("*", write.subresource)
        if "/" in text
        else not write.subresource
    )


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
    """What keeps a configuration from being taken."""
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
