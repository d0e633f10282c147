"""Webhook configurations: which of their webhooks match a write. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import attrs

from asoreconcile.base.objects import JsonObject, labels
from asoreconcile.testing.kube.access.labels import selects
from asoreconcile.testing.kube.access.users import User
from asoreconcile.testing.kube.kinds.resources import RestResource


@attrs.frozen(kw_only=True)
class AdmissionWrite:
    """One write as webhooks see it.

    obj: None for a deletion.
    before: None for a creation.
    versions: the resource at all its served versions, this one first.
    """

    resource: RestResource
    operation: str
    namespace: str
    name: str
    user: User
    obj: JsonObject | None = attrs.field(default=None, repr=False)
    before: JsonObject | None = attrs.field(default=None, repr=False)
    subresource: str = ""
    dry_run: bool = False
    options: JsonObject = attrs.field(factory=dict, repr=False)
    versions: Sequence[RestResource] = ()


@attrs.frozen
class Admitted:
    """The result of a write's webhooks.

    obj: None for a deletion.
    """

    obj: JsonObject | None
    warnings: tuple[str, ...] = ()


class Gate(Protocol):
    """A further check of writes (`admission.Admission`)."""

    def admit(self, write: AdmissionWrite) -> Admitted:
        """Return the object to store. Blocking: hold no lock. Raises StatusError to
        refuse.
        """


def wanted(
    webhook: Mapping[str, Any], write: AdmissionWrite, namespace: JsonObject | None
) -> RestResource | None:
    """Return the version at which a webhook sees a write; None if it does not match.

    namespace: the Namespace object of the write; None for cluster-scoped objects.
    """
    if not selects(webhook.get("namespaceSelector"), labels(namespace or {})) and (
        namespace is not None
    ):
        return None
    selector = webhook.get("objectSelector")
    # Both the old and the new labels count: an update that removes a label must still
    # reach the webhook.
    seen = [obj for obj in (write.obj, write.before) if obj is not None]
    if not any(selects(selector, labels(obj)) for obj in seen):
        return None
    # The version of the request comes first. The object is converted only if no rule
    # names that version.
    versions = [write.resource]
    if webhook.get("matchPolicy", "Equivalent") == "Equivalent":
        versions += [r for r in write.versions if r.version != write.resource.version]
    rules = webhook.get("rules") or ()
    for version in versions:
        if any(_covers(rule, write, version) for rule in rules):
            return version
    return None


def _covers(
    rule: Mapping[str, Any], write: AdmissionWrite, resource: RestResource
) -> bool:
    scope = rule.get("scope", "*")
    if scope != "*" and (scope == "Namespaced") != bool(_scope(write)):
        return False
    return (
        _has(rule.get("operations"), write.operation)
        and _has(rule.get("apiGroups"), resource.group)
        and _has(rule.get("apiVersions"), resource.version)
        and any(_is(text, write) for text in rule.get("resources") or ())
    )


def _scope(write: AdmissionWrite) -> str:
    """Return the namespace of a resource. Namespaces themselves are cluster-scoped."""
    # For a namespaceSelector, a Namespace counts as being in itself; for the scope of a
    # rule, as cluster-scoped.
    return write.namespace if write.resource.namespaced else ""


def _has(listed: Any, value: str) -> bool:
    return "*" in (listed or ()) or value in (listed or ())


def _is(text: str, write: AdmissionWrite) -> bool:
    resource, _, subresource = text.partition("/")
    return resource in ("*", write.resource.plural) and (
        subresource in ("*", write.subresource)
        if "/" in text
        else not write.subresource
    )
