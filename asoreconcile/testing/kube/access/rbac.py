"""RBAC: the permissions of users according to Roles and their bindings, as in the API
server.

Only what a rule allows is allowed. The group `system:masters` may do everything.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from asoreconcile.base.objects import JsonObject, ObjectKey, labels
from asoreconcile.testing.kube.access.attributes import Attributes
from asoreconcile.testing.kube.access.labels import selects
from asoreconcile.testing.kube.access.rbacobjects import GROUP
from asoreconcile.testing.kube.access.users import MASTERS, User
from asoreconcile.testing.kube.store.storage import Storage, StorageTable
from asoreconcile.testing.kube.wire.status import StatusError

_ROLES, _CLUSTER_ROLES = (
    StorageTable(GROUP, "roles"),
    StorageTable(GROUP, "clusterroles"),
)
_BINDINGS = StorageTable(GROUP, "rolebindings")
_CLUSTER_BINDINGS = StorageTable(GROUP, "clusterrolebindings")
_TABLES = (_ROLES, _CLUSTER_ROLES, _BINDINGS, _CLUSTER_BINDINGS)


@attrs.frozen
class RbacDecision:
    """A decision, and its reason in the wording of reviews and refusals."""

    allowed: bool
    reason: str = ""


@attrs.frozen
class Granted:
    """One rule that applies to a user.

    namespace: if it is "", the rule holds everywhere.
    """

    rule: JsonObject
    namespace: str
    source: str


class Authorizer:
    """Decisions based on the objects stored now. Safe to use from any thread."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._at: tuple[int, ...] = ()
        self._known: dict[User, tuple[list[Granted], list[tuple[str, str]]]] = {}

    def decide(self, user: User, about: Attributes) -> RbacDecision:
        """Return whether a user may do something."""
        if MASTERS in user.all_groups:
            return RbacDecision(allowed=True)
        granted, missing = self._granted(user)
        for grant in granted:
            if grant.namespace in ("", about.namespace) and (
                permits(grant.rule, about)
                # A Role cannot grant access to resources without a namespace.
                and (not grant.namespace or about.resource)
            ):
                reason = f"RBAC: allowed by {grant.source}"
                return RbacDecision(allowed=True, reason=reason)
        texts = [text for at, text in missing if at in ("", about.namespace)]
        reason = f"RBAC: {_joined(texts)}" if texts else ""
        return RbacDecision(allowed=False, reason=reason)

    def check(self, user: User, about: Attributes) -> None:
        """Check that a user may do something. Raises StatusError 403."""
        decision = self.decide(user, about)
        if not decision.allowed:
            raise _forbidden(user, about, decision.reason)

    def rules(self, user: User, namespace: str) -> list[JsonObject]:
        """Return all rules that a user has in a namespace."""
        granted, _ = self._granted(user)
        return [grant.rule for grant in granted if grant.namespace in ("", namespace)]

    def _granted(self, user: User) -> tuple[list[Granted], list[tuple[str, str]]]:
        """Return the rules of a user, and (namespace, role) of bindings to missing
        roles.
        """
        with self._storage.lock:
            now = tuple(self._storage.last_change(table) for table in _TABLES)
            if now != self._at:
                self._known, self._at = {}, now
            if user not in self._known:
                missing: list[tuple[str, str]] = []
                self._known[user] = list(self._found(user, missing)), missing
            return self._known[user]

    def _found(self, user: User, missing: list[tuple[str, str]]) -> Iterator[Granted]:
        for table in (_CLUSTER_BINDINGS, _BINDINGS):
            for key, binding in self._storage.items(table):
                subject = _subject_of(user, binding, key.namespace)
                if subject is None:
                    continue
                reference = binding.get("roleRef") or {}
                rules = self._rules(reference, key.namespace)
                if rules is None:
                    kind = str(reference.get("kind")).lower()
                    text = f'{kind}.{GROUP} "{reference.get("name")}" not found'
                    missing.append((key.namespace, text))
                    continue
                kind, at = "ClusterRoleBinding", key.name
                if key.namespace:
                    kind, at = "RoleBinding", f"{key.name}/{key.namespace}"
                source = (
                    f'{kind} "{at}" of {reference.get("kind")} '
                    f'"{reference.get("name")}" to {subject}'
                )
                for rule in rules:
                    yield Granted(rule, key.namespace, source)

    def _rules(
        self, reference: Mapping[str, Any], namespace: str
    ) -> Sequence[JsonObject] | None:
        """Return the rules of a role, or None if the role does not exist."""
        name = str(reference.get("name"))
        if reference.get("kind") == "Role":
            role = self._storage.get(_ROLES, ObjectKey(namespace, name))
        else:
            role = self._storage.get(_CLUSTER_ROLES, ObjectKey("", name))
        if role is None:
            return None
        rules = list(role.get("rules") or ())
        chosen = (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()
        if chosen:
            for _, other in self._storage.items(_CLUSTER_ROLES):
                if other is not role and any(selects(s, labels(other)) for s in chosen):
                    rules += other.get("rules") or ()
        return rules


def permits(rule: JsonObject, about: Attributes) -> bool:
    """Return whether a PolicyRule covers the request."""
    if not _has(rule, "verbs", about.verb):
        return False
    if not about.resource:
        return any(
            url in ("*", about.path)
            or (url.endswith("*") and about.path.startswith(url[:-1]))
            for url in rule.get("nonResourceURLs") or ()
        )
    names = rule.get("resourceNames") or ()
    if names and about.name not in names:
        return False
    if not _has(rule, "apiGroups", about.group):
        return False
    resources = rule.get("resources") or ()
    if not about.subresource:
        return "*" in resources or about.resource in resources
    full = f"{about.resource}/{about.subresource}"
    return any(r in ("*", full, f"*/{about.subresource}") for r in resources)


def _has(rule: JsonObject, field: str, value: str) -> bool:
    listed = rule.get(field) or ()
    return "*" in listed or value in listed


def _subject_of(user: User, binding: JsonObject, namespace: str) -> str | None:
    """Return the subject of a binding that means the user, as reasons name
    it, or None.
    """
    for subject in binding.get("subjects") or ():
        kind, name = subject.get("kind"), subject.get("name")
        place = subject.get("namespace") or namespace
        if kind == "ServiceAccount":
            if user.name == f"system:serviceaccount:{place}:{name}":
                return f'{kind} "{name}/{place}"'
        elif (kind == "User" and name in (user.name, "*")) or (
            kind == "Group" and name in user.all_groups
        ):
            return f'{kind} "{name}"'
    return None


def _joined(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _forbidden(user: User, about: Attributes, reason: str) -> StatusError:
    details: JsonObject = {}
    if about.resource:
        full = about.resource + (f"/{about.subresource}" if about.subresource else "")
        where = (
            f'in the namespace "{about.namespace}"'
            if about.namespace
            else "at the cluster scope"
        )
        what = f'resource "{full}" in API group "{about.group}" {where}'
        subject = f"{about.resource}.{about.group}" if about.group else about.resource
        subject += f' "{about.name}" is ' if about.name else " is "
        for name, value in (("name", about.name), ("group", about.group)):
            if value:
                details[name] = value
        details["kind"] = about.resource
    else:
        what, subject = f'path "{about.path}"', ""
    text = f'{subject}forbidden: User "{user.name}" cannot {about.verb} {what}'
    if reason:
        text += f": {reason}"
    return StatusError(403, "Forbidden", text, details=details)
