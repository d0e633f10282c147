"""Renders the body of a PUT, once a reconcile. Blocking: reads Secrets."""

from functools import lru_cache

import attrs

from asoreconcile.azure.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.azure.catalogue.payload import to_arm
from asoreconcile.azure.middleware.extension_points import MODIFY_PAYLOAD
from asoreconcile.azure.middleware.requests import ModifyPayload
from asoreconcile.azure.reconcile.identity.identity import ResourceIdentity
from asoreconcile.azure.reconcile.model.annotations import CREDENTIAL_FROM
from asoreconcile.azure.reconcile.model.drift_baseline import fingerprint
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.state.export_cache import ROTATE
from asoreconcile.base.objects import JsonObject, spec

_ORIGIN_DIGITS = 16


@attrs.frozen
class RenderedSpec:
    """The body before extensions change it. fingerprint: a hash of the spec, of the
    objects that the spec names, and of the annotations that change the body.
    """

    identity: ResourceIdentity
    body: JsonObject = attrs.field(repr=False)
    fingerprint: str


@attrs.frozen
class Desired:
    """The body that a PUT would send. own: the body without the values of Secrets.
    inputs: the fingerprint of `RenderedSpec`.
    """

    identity: ResourceIdentity
    body: JsonObject = attrs.field(repr=False)
    own: JsonObject = attrs.field(repr=False)
    inputs: str


def render(scope: ReconcileScope, identity: ResourceIdentity) -> RenderedSpec:
    """Return the body that the spec makes. Raises ConditionError for missing inputs."""
    patcher, references = scope.patcher, scope.references
    version = patcher.version
    body = to_arm(version, spec(patcher.obj), name=identity.name, inputs=references)
    of_writing = {
        name: patcher.annotations.get(name) or "" for name in (CREDENTIAL_FROM, ROTATE)
    }
    # Now, as extensions may change the body in place.
    own = {"body": references.without_secrets(body), "notes": of_writing}
    made_of = fingerprint(identity.arm_id, version.api_version, own, references.mark())
    return RenderedSpec(identity, body, made_of[:_ORIGIN_DIGITS])


def desired(scope: ReconcileScope, inputs: RenderedSpec) -> Desired:
    """Return the body after extensions changed it. Raises their exceptions."""
    obj = scope.patcher.obj
    group_kind = scope.patcher.version.group_kind
    modify = scope.operator.extensions.chain(MODIFY_PAYLOAD, group_kind)
    body = modify(ModifyPayload(ctx=scope.context, obj=obj, payload=inputs.body))
    own = scope.references.without_secrets(body)
    return Desired(inputs.identity, body, own, inputs.fingerprint)


def fingerprint_of(scope: ReconcileScope, desired: Desired) -> str:
    """The fingerprint of our part of a PUT, without the children that extensions
    add.
    """
    version, own = scope.patcher.version, {**desired.own}
    inside = own.setdefault("properties", None)
    if isinstance(inside, dict):
        children = child_collections(version, scope.operator.catalogue)
        kept = {n: value for n, value in inside.items() if n.lower() not in children}
        own["properties"] = kept or None
    mark = scope.references.mark()
    return fingerprint(desired.identity.arm_id, version.api_version, own, mark)


@lru_cache(maxsize=1024)
def child_collections(version: KindVersion, catalogue: Catalogue) -> frozenset[str]:
    """Names of collections in `properties` whose elements are kinds of their own.

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
