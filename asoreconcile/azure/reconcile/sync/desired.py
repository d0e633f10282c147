"""Renders the body of a PUT, once a reconcile. Blocking: reads Secrets."""

from functools import lru_cache
from typing import Protocol

import attrs

from asoreconcile.azure.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.azure.catalogue.payload import to_arm
from asoreconcile.azure.middleware.chain import Extensions
from asoreconcile.azure.middleware.context import ReconcileContext
from asoreconcile.azure.middleware.extension_points import MODIFY_PAYLOAD
from asoreconcile.azure.middleware.requests import ModifyPayload
from asoreconcile.azure.reconcile.identity.identity import ResourceIdentity
from asoreconcile.azure.reconcile.model.annotations import CREDENTIAL_FROM
from asoreconcile.azure.reconcile.model.drift_baseline import fingerprint
from asoreconcile.azure.reconcile.model.first_creation import is_first_creation
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.scope.references import ReferenceResolver
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
    """The body that a PUT would send.

    own: the body without the values of Secrets. inputs: the fingerprint of
    `RenderedSpec`. fingerprint: a hash of our part of the body.
    """

    identity: ResourceIdentity
    body: JsonObject = attrs.field(repr=False)
    own: JsonObject = attrs.field(repr=False)
    inputs: str
    fingerprint: str


def render(
    patcher: PatchHelper, references: ReferenceResolver, identity: ResourceIdentity
) -> RenderedSpec:
    """Return the body that the spec makes. Raises ConditionError for missing inputs."""
    version = patcher.version
    body = to_arm(version, spec(patcher.obj), name=identity.name, inputs=references)
    of_writing = {
        name: patcher.annotations.get(name) or "" for name in (CREDENTIAL_FROM, ROTATE)
    }
    # Now, as extensions may change the body in place.
    own = {"body": references.without_secrets(body), "notes": of_writing}
    made_of = fingerprint(identity.arm_id, version.api_version, own, references.mark())
    return RenderedSpec(identity, body, made_of[:_ORIGIN_DIGITS])


class BodyDependencies(Protocol):
    """The parts of the operator that the body of a PUT needs."""

    @property
    def extensions(self) -> Extensions:
        """Change the body."""

    @property
    def catalogue(self) -> Catalogue:
        """Tells the children of a kind."""


def desired(
    operator: BodyDependencies,
    context: ReconcileContext,
    obj: JsonObject,
    rendered: RenderedSpec,
    references: ReferenceResolver,
) -> Desired:
    """Return the body after extensions changed it. Raises their exceptions."""
    version, identity = context.version, rendered.identity
    modify = operator.extensions.chain(MODIFY_PAYLOAD, version.group_kind)
    request = ModifyPayload(
        ctx=context, obj=obj, payload=rendered.body, is_first=is_first_creation(obj)
    )
    body = modify(request)
    own = references.without_secrets(body)
    ours = _without_children(own, child_collections(version, operator.catalogue))
    mark = references.mark()
    put = fingerprint(identity.arm_id, version.api_version, ours, mark)
    return Desired(identity, body, own, rendered.fingerprint, put)


def _without_children(body: JsonObject, children: frozenset[str]) -> JsonObject:
    """Return our part of a body, without the children that extensions add."""
    inside = body.get("properties")
    if not isinstance(inside, dict):
        return {**body, "properties": inside}
    kept = {n: value for n, value in inside.items() if n.lower() not in children}
    return {**body, "properties": kept or None}


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
