"""Telling the API server whom to trust: the caBundle of what it calls us for.

Written only where it differs, so that several replicas may tell the same. Rule: WH-7.
"""

import base64
from collections.abc import Callable
from typing import Self

import attrs

from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import ConflictError, NotFoundError
from asoreconcile.kube.patch import merge_patch
from asoreconcile.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    ApiResource,
)
from asoreconcile.objects import (
    JsonObject,
    ObjectKey,
    copy_json,
    dig,
    resource_version,
    spec,
)

_TRIES = 5


def _configuration(verb: str) -> ApiResource:
    return ApiResource(
        "admissionregistration.k8s.io",
        "v1",
        f"{verb.lower()}webhookconfigurations",
        f"{verb}WebhookConfiguration",
        namespaced=False,
    )


MUTATING_WEBHOOKS = _configuration("Mutating")
VALIDATING_WEBHOOKS = _configuration("Validating")


@attrs.frozen
class Caller:
    """An object by which the API server is told to call us."""

    resource: ApiResource
    name: str

    @classmethod
    def crd(cls, name: str) -> Self:
        """The conversion webhook of a CRD, `widgets.demo.example.com`."""
        return cls(CUSTOM_RESOURCE_DEFINITIONS, name)

    @classmethod
    def mutating(cls, name: str) -> Self:
        """All webhooks of a MutatingWebhookConfiguration."""
        return cls(MUTATING_WEBHOOKS, name)

    @classmethod
    def validating(cls, name: str) -> Self:
        """All webhooks of a ValidatingWebhookConfiguration."""
        return cls(VALIDATING_WEBHOOKS, name)


def tell(client: KubeClient, caller: Caller, authorities: bytes) -> bool:
    """Have the API server trust these (PEM); False if there is nothing to tell.

    Blocking. Raises ApiError, TransportError.
    """
    bundle = base64.b64encode(authorities).decode()
    parts = _conversion if caller.resource == CUSTOM_RESOURCE_DEFINITIONS else _webhooks
    for _ in range(_TRIES - 1):
        try:
            return _tell_once(client, caller, bundle, parts)
        except ConflictError:
            continue  # somebody else writes it, such as our other replica
    return _tell_once(client, caller, bundle, parts)


Parts = Callable[[JsonObject], list[JsonObject]]
"""The client configurations within an object."""


def _tell_once(client: KubeClient, caller: Caller, bundle: str, parts: Parts) -> bool:
    try:
        obj = client.get(caller.resource, ObjectKey("", caller.name))
    except NotFoundError:
        return False
    told = copy_json(obj)
    found = parts(told)
    for part in found:
        part["caBundle"] = bundle
    change = merge_patch(obj, told)
    if change is not None:
        change["metadata"] = {"resourceVersion": resource_version(obj)}
        client.patch(caller.resource, ObjectKey("", caller.name), change)
    return bool(found)


def _conversion(obj: JsonObject) -> list[JsonObject]:
    config = dig(spec(obj), "conversion.webhook.clientConfig")
    return [config] if isinstance(config, dict) else []


def _webhooks(obj: JsonObject) -> list[JsonObject]:
    hooks = obj.get("webhooks") or []
    return [hook["clientConfig"] for hook in hooks if "clientConfig" in hook]
