"""Renders the body of a PUT, once a reconcile. Blocking: reads Secrets."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import attrs

from asoreconcile.azure.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.azure.catalogue.payload import to_arm
from asoreconcile.azure.middleware.declared import IDENTITIES, TAGS, names_at
from asoreconcile.azure.middleware.extension_points import MODIFY_PAYLOAD
from asoreconcile.azure.middleware.requests import ModifyPayload
from asoreconcile.azure.reconcile.identity.identity import ResourceIdentity
from asoreconcile.azure.reconcile.model.annotations import CREDENTIAL_FROM
from asoreconcile.azure.reconcile.model.drift_baseline import (
    OBSERVED,
    DriftBaseline,
    fingerprint,
    loads,
)
from asoreconcile.azure.reconcile.model.first_creation import is_first_creation
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.state.export_cache import ROTATE
from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject, spec

_NOTES_DIGITS = 8


@attrs.frozen
class RenderedSpec:
    """The body before extensions change it, which the object declares.

    fingerprint: a hash of the body, of the values of Secrets in it, of the api-version
    and of the credential's tenant, client and subscription. secrets: a keyed hash of
    the body with the values of Secrets; "" if it has none. notes: a hash of the
    annotations that matter at a start.
    """

    identity: ResourceIdentity
    body: JsonObject = attrs.field(repr=False)
    fingerprint: str
    secrets: str
    notes: str


@attrs.frozen
class Desired:
    """The body that a PUT would send. own: the body without the values of Secrets.

    revoked: the identities that Azure has kept although the last accepted PUT no longer
    had them: the body takes them from the resource.
    """

    rendered: RenderedSpec
    body: JsonObject = attrs.field(repr=False)
    own: JsonObject = attrs.field(repr=False)
    revoked: tuple[str, ...] = ()


def render(scope: ReconcileScope, identity: ResourceIdentity) -> RenderedSpec:
    """Return the body that the spec makes. Raises ConditionError for missing inputs."""
    patcher = scope.patcher
    # Extensions read the spec, too.
    stated = stated_values(
        {n: value for n, value in spec(patcher.obj).items() if n != "operatorSpec"}
    )
    version, principal = patcher.version, scope.connection.principal()
    references = scope.references
    body = to_arm(version, spec(patcher.obj), name=identity.name, inputs=references)
    # Now, as extensions may change the body in place.
    own = references.without_secrets(body)
    secrets = "" if own == body else _hash_of_secrets(scope, body)
    put = fingerprint(
        identity.arm_id.lower(),
        version.api_version,
        own,
        stated,
        secrets,
        principal,
    )
    notes = [patcher.annotations.get(name) or "" for name in (CREDENTIAL_FROM, ROTATE)]
    marked = fingerprint(notes)[:_NOTES_DIGITS] if any(notes) else ""
    return RenderedSpec(identity, body, put, secrets, marked)


def stated_values(value: Any) -> Any:
    """Return a spec without nulls and empty values, which say nothing to Azure.
    Pure.
    """
    if isinstance(value, dict):
        inner = {name: stated_values(one) for name, one in value.items()}
        return {n: one for n, one in inner.items() if one not in (None, {}, [])}
    if isinstance(value, list):
        return [stated_values(one) for one in value]
    return value


def _hash_of_secrets(scope: ReconcileScope, body: JsonObject) -> str:
    """Return a hash of a body with its Secrets' values: the recorded one if it is of
    this body, also by the key before a rotation.
    """
    text, key = (
        jsontext.dumps(body, sort_keys=True).decode(),
        scope.operator.record_key(),
    )
    recorded = loads(scope.patcher.annotations.get(OBSERVED) or "")
    if recorded is not None and key.is_hash_of(text, recorded.secrets):
        return recorded.secrets
    return key.keyed_hash(text)


def desired(
    scope: ReconcileScope, rendered: RenderedSpec, observed: DriftBaseline | None
) -> Desired:
    """Return the body after extensions changed it. Raises their exceptions.

    observed: the record of the last PUT.
    """
    patcher, declared = scope.patcher, scope.context.declared
    if observed is not None:
        declared.before = observed.declared | observed.owed
    modify = scope.operator.extensions.chain(MODIFY_PAYLOAD, patcher.version.group_kind)
    request = ModifyPayload(
        ctx=scope.context,
        obj=patcher.obj,
        payload=rendered.body,
        is_first=is_first_creation(patcher.obj),
    )
    body = modify(request)
    for path in (TAGS, IDENTITIES):
        declared.declare(path, names_at(body, path))
    revoked: list[str] = []
    if observed is not None and observed.owed and observed.put == rendered.fingerprint:
        # Some providers merge this map, and remove an entry only for a null.
        have = scope.context.raw_get() or {}
        revoked = declared.withdrawn_in(have, IDENTITIES)
    if revoked:
        body = {**body, "identity": without_identities(body.get("identity"), revoked)}
    own = scope.references.without_secrets(body)
    return Desired(rendered, body, own, tuple(revoked))


def without_identities(identity: Any, revoked: Iterable[str]) -> JsonObject:
    """The `identity` of a PUT that takes identities from a resource. Pure."""
    wanted: JsonObject = identity if isinstance(identity, dict) else {"type": "None"}
    named = wanted.get("userAssignedIdentities") or {}
    nulls: JsonObject = dict.fromkeys(revoked)
    return {**wanted, "userAssignedIdentities": nulls | named}


@lru_cache(maxsize=1024)
def child_collections(version: KindVersion, catalogue: Catalogue) -> frozenset[str]:
    """Return names of collections in `properties` whose elements are kinds of their
    own.

    Computed once: it visits every kind.
    """
    parent = version.arm_type.lower() + "/"
    types = (
        kind.version().arm_type.lower()
        for kind in catalogue.kinds()
        if kind.group == version.group_kind.group and kind.is_arm
    )
    names = {t.removeprefix(parent) for t in types if t.startswith(parent)}
    if version.group_kind.kind == "ManagedCluster":
        names.add("agentpoolprofiles")
    return frozenset(name for name in names if "/" not in name)
