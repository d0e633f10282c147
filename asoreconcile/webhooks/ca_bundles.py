"""Injects the `caBundle` that makes the API server trust this webhook server.

It is written only if it differs, so that several replicas may write it, and only into
webhooks that call this server: two operators in a cluster do not change each other's.
Rule: WH-7.
"""

import base64
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Self
from urllib.parse import urlsplit

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    copy_json,
    dig,
    resource_version,
    spec,
)
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.create_or_patch import AT_ONCE, retry_on_conflict
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.patch import merge_patch
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, ApiResource


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
class WebhookTarget:
    """A webhook target: an object that configures calls to this server."""

    resource: ApiResource
    name: str
    version: str = attrs.field(default="", eq=False)
    """Its known resource version, if any; a target that was correct at this version is
    not read again.
    """
    required: bool = attrs.field(default=True, eq=False)
    """Whether the server is ready only if the object is in the cluster."""

    @classmethod
    def crd(cls, name: str, *, version: str = "") -> Self:
        """Return the conversion webhook of a CRD, `widgets.demo.example.com`."""
        return cls(CUSTOM_RESOURCE_DEFINITIONS, name, version)

    @classmethod
    def mutating(cls, name: str, *, required: bool = True) -> Self:
        """Return all webhooks of a MutatingWebhookConfiguration."""
        return cls(MUTATING_WEBHOOKS, name, required=required)

    @classmethod
    def validating(cls, name: str, *, required: bool = True) -> Self:
        """Return all webhooks of a ValidatingWebhookConfiguration."""
        return cls(VALIDATING_WEBHOOKS, name, required=required)


@attrs.frozen
class Address:
    """The address of a webhook server, as the API server calls it.

    hosts: the server's names, `service.namespace.svc` for a Service. url:
    `https://host:port`, if several servers share a host.
    """

    hosts: Sequence[str]
    url: str = ""

    def is_named_by(self, config: JsonObject) -> bool:
        """Return whether a `clientConfig` refers to this server. Pure."""
        service, url = config.get("service"), config.get("url")
        if self.url:
            return isinstance(url, str) and _origin(url) == _origin(self.url)
        if isinstance(service, dict):
            return f"{service.get('name')}.{service.get('namespace')}.svc" in self.hosts
        return isinstance(url, str) and _origin(url)[0] in self.hosts


class Trust(Enum):
    """The state of an object's `caBundle` for calls of this server."""

    INJECTED = "trusts our authorities"
    PENDING = "does not trust our authorities yet"
    FOREIGN = "calls another server"
    MISSING = "the object is not in the cluster"
    UNUSED = "calls no server"


def inject_ca_bundle(
    client: KubeClient,
    target: WebhookTarget,
    authorities: bytes,
    *,
    address: Address,
    clock: Clock,
    write: bool = True,
) -> tuple[Trust, str]:
    """Write these authorities (PEM) into a target; return its state and resource
    version.

    Writes only the webhooks with this address; all others belong to other servers.
    write: False only checks.
    Blocking. Raises ApiError, TransportError.
    """
    bundle = base64.b64encode(authorities).decode()
    return retry_on_conflict(  # another writer, such as our other replica
        lambda: _inject_once(client, target, bundle, address, write=write),
        clock=clock,
        backoff=AT_ONCE,
    )


def _inject_once(
    client: KubeClient,
    target: WebhookTarget,
    bundle: str,
    address: Address,
    *,
    write: bool,
) -> tuple[Trust, str]:
    is_crd = target.resource == CUSTOM_RESOURCE_DEFINITIONS
    parts: Callable[[JsonObject], list[JsonObject]]
    parts = _conversion if is_crd else _webhooks
    try:
        obj = client.get(target.resource, ObjectKey("", target.name))
    except NotFoundError:
        return Trust.MISSING, ""
    changed = copy_json(obj)
    found = parts(changed)
    ours = [part for part in found if address.is_named_by(part)]
    version = resource_version(obj)
    # Our caBundle in another server's webhook would break that webhook.
    if not ours:
        return (Trust.FOREIGN if found else Trust.UNUSED), version
    for part in ours:
        part["caBundle"] = bundle
    change = merge_patch(obj, changed)
    if change is None:
        return Trust.INJECTED, version
    if not write:
        return Trust.PENDING, version
    # Lists of webhooks are replaced as a whole: a concurrent change must not be lost.
    change["metadata"] = {"resourceVersion": version}
    written = client.patch(target.resource, ObjectKey("", target.name), change)
    return Trust.INJECTED, resource_version(written)


def _conversion(obj: JsonObject) -> list[JsonObject]:
    config = dig(spec(obj), "conversion.webhook.clientConfig")
    return [config] if isinstance(config, dict) else []


def _webhooks(obj: JsonObject) -> list[JsonObject]:
    hooks = obj.get("webhooks") or []
    return [hook["clientConfig"] for hook in hooks if "clientConfig" in hook]


def _origin(url: str) -> tuple[str, int]:
    """Return host and port of a URL; an invalid URL has neither."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return ("", 0)
    return (host or "", port or 443)
