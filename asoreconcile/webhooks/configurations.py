"""Makes webhook configurations from a server's registered webhooks. Pure.

    server.validate("/validate-widgets", check, on=WebhookRules(WIDGETS))
    for document in server.configurations("widgets", service=ObjectKey("ns", "svc")):
        app.apply(None, document)

Rule: WH-9.
"""

import base64
import re
from collections.abc import Iterable
from typing import Literal, get_args

import attrs

from asoreconcile.base.errors import check_choice, check_is, check_list
from asoreconcile.base.objects import JsonObject, ObjectKey
from asoreconcile.kube.resources import ApiResource

AdmissionOperation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT", "*"]
AdmissionVerb = Literal["mutate", "validate"]

_KINDS: dict[AdmissionVerb, str] = {
    "mutate": "MutatingWebhookConfiguration",
    "validate": "ValidatingWebhookConfiguration",
}
_NOT_IN_NAMES = re.compile(r"[^a-z0-9-]+")


def _resources(value: ApiResource | Iterable[ApiResource]) -> tuple[ApiResource, ...]:
    if isinstance(value, str | type):
        raise TypeError(f"{value!r:.80} is no kind: give an ApiResource, or several")
    found = (value,) if isinstance(value, ApiResource) else tuple(value)
    for one in found:
        check_is("a kind", one, ApiResource)
    return found


def _operations(value: Iterable[AdmissionOperation]) -> tuple[AdmissionOperation, ...]:
    check_list("operations", value)
    found = tuple(value)
    if wrong := set(found) - set(get_args(AdmissionOperation)):
        known = ", ".join(get_args(AdmissionOperation))
        raise ValueError(f"no operations: {', '.join(map(repr, wrong))}: of {known}")
    return found


_MOST_TIMEOUT_SECONDS = 30


@attrs.frozen
class WebhookRules:
    """The writes that call a webhook, and the reaction if it does not answer.

    resources: one or several kinds. operations: operations on these kinds. subresource:
    "" for the objects themselves. failure_policy: Ignore allows a write if the webhook
    does not answer. namespace_selector, object_selector: LabelSelectors, None for all.
    match_conditions: CEL by name. match_policy: Exact matches only these versions.
    timeout_seconds: how long the API server waits. name: name of the webhook, a domain
    with at least three parts; "" derives it from the path. Raises TypeError if it is
    not a kind (for a class, pass `resource_of(cls)`), and if operations is a string;
    ValueError for unknown operations.
    """

    resources: tuple[ApiResource, ...] = attrs.field(converter=_resources)
    operations: tuple[AdmissionOperation, ...] = attrs.field(
        default=("CREATE", "UPDATE"), kw_only=True, converter=_operations
    )
    subresource: str = attrs.field(default="", kw_only=True)
    failure_policy: Literal["Fail", "Ignore"] = attrs.field(
        default="Fail", kw_only=True
    )
    match_policy: Literal["Equivalent", "Exact"] = attrs.field(
        default="Equivalent", kw_only=True
    )
    timeout_seconds: int = attrs.field(default=10, kw_only=True)
    namespace_selector: JsonObject | None = attrs.field(default=None, kw_only=True)
    object_selector: JsonObject | None = attrs.field(default=None, kw_only=True)
    match_conditions: dict[str, str] = attrs.field(factory=dict, kw_only=True)
    name: str = attrs.field(default="", kw_only=True)

    def __attrs_post_init__(self) -> None:
        # The API server would refuse the whole configuration.
        if not self.resources:
            raise ValueError("resources is empty: give one kind or several")
        if not self.operations:
            raise ValueError("operations is empty: give one or several")
        check_choice("failure_policy", self.failure_policy, "Fail", "Ignore")
        check_choice("match_policy", self.match_policy, "Equivalent", "Exact")
        check_is("timeout_seconds", self.timeout_seconds, int)
        if not 1 <= self.timeout_seconds <= _MOST_TIMEOUT_SECONDS:
            raise ValueError(f"timeout_seconds is {self.timeout_seconds}: give 1 to 30")
        for name in ("namespace_selector", "object_selector"):
            if getattr(self, name) is not None:
                check_is(name, getattr(self, name), dict)
        check_is("match_conditions", self.match_conditions, dict)


@attrs.frozen
class RegisteredWebhook:
    """A registered webhook: its path, type and rules."""

    verb: AdmissionVerb
    path: str
    rules: WebhookRules


def configurations(
    name: str,
    registrations: Iterable[RegisteredWebhook],
    *,
    service: ObjectKey | None = None,
    port: int = 443,
    url: str = "",
    authorities: bytes = b"",
) -> list[JsonObject]:
    """Return the mutating and the validating configuration, each only if it has
    webhooks.

    name: name of both configurations. service, port: the server's Service. url:
    `https://host:port`, in place of a Service.
    authorities: PEM; b"" leaves out the `caBundle`, for later injection
    (`ManagedCertificates`). Raises ValueError unless exactly one of service and url is
    given.
    """
    if bool(url) is (service is not None):
        raise ValueError("say where the webhooks are: a service or a url")
    found: dict[AdmissionVerb, list[JsonObject]] = {}
    for one in registrations:
        client = _client(one.path, service, port, url)
        if authorities:
            client["caBundle"] = base64.b64encode(authorities).decode()
        found.setdefault(one.verb, []).append(_webhook(name, one, client))
    return [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": _KINDS[verb],
            "metadata": {"name": name},
            "webhooks": webhooks,
        }
        for verb, webhooks in sorted(found.items())
    ]


def _client(path: str, service: ObjectKey | None, port: int, url: str) -> JsonObject:
    if service is None:
        return {"url": url.rstrip("/") + path}
    place = {"namespace": service.namespace, "name": service.name}
    return {"service": {**place, "path": path, "port": port}}


def _webhook(name: str, one: RegisteredWebhook, client: JsonObject) -> JsonObject:
    rules = one.rules
    slug = _NOT_IN_NAMES.sub("-", one.path.lower()).strip("-")
    webhook: JsonObject = {
        "name": rules.name or f"{slug}.{name}.webhooks",
        "admissionReviewVersions": ["v1"],
        "clientConfig": client,
        "failurePolicy": rules.failure_policy,
        "matchPolicy": rules.match_policy,
        # Otherwise the API server refuses dry runs.
        "sideEffects": "None",
        "timeoutSeconds": rules.timeout_seconds,
        "rules": [_rule(resource, rules) for resource in rules.resources],
    }
    if rules.namespace_selector is not None:
        webhook["namespaceSelector"] = rules.namespace_selector
    if rules.object_selector is not None:
        webhook["objectSelector"] = rules.object_selector
    if rules.match_conditions:
        webhook["matchConditions"] = [
            {"name": condition, "expression": expression}
            for condition, expression in rules.match_conditions.items()
        ]
    return webhook


def _rule(resource: ApiResource, rules: WebhookRules) -> JsonObject:
    part = f"/{rules.subresource}" if rules.subresource else ""
    return {
        "apiGroups": [resource.group],
        "apiVersions": [resource.version],
        "resources": [f"{resource.plural}{part}"],
        "operations": list(rules.operations),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
    }
