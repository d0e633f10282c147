"""Makes the bodies of an object's PUT, and compares them with its resource.

Blocking: reads Secrets, and the resource if an extension needs it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import attrs

from asoreconcile.azure.catalogue.body_shape import body_shape
from asoreconcile.azure.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.azure.catalogue.payload import to_arm
from asoreconcile.azure.catalogue.type_facts import facts_of
from asoreconcile.azure.middleware.chain import Extensions
from asoreconcile.azure.middleware.context import ReconcileContext
from asoreconcile.azure.middleware.declared import IDENTITIES, LISTS, TAGS, names_at
from asoreconcile.azure.middleware.extension_points import MODIFY_PAYLOAD
from asoreconcile.azure.middleware.requests import ModifyPayload
from asoreconcile.azure.reconcile.identity.identity import ResourceIdentity
from asoreconcile.azure.reconcile.model.access import access_lists
from asoreconcile.azure.reconcile.model.annotation_table import inputs_of_put
from asoreconcile.azure.reconcile.model.differences import Difference, differences
from asoreconcile.azure.reconcile.model.distinctions import distinctions_of
from asoreconcile.azure.reconcile.model.drift_baseline import DriftBaseline, fingerprint
from asoreconcile.azure.reconcile.model.first_creation import is_first_creation
from asoreconcile.azure.reconcile.model.merged_body import MergeRules, merged, value_at
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.azure.reconcile.model.snapshot import snapshot
from asoreconcile.azure.reconcile.model.type_rules import not_kept
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.scope.references import ReferenceResolver
from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject, spec

_HASH_DIGITS = 8


@attrs.frozen
class Bodies:
    """The bodies of one object's PUT in one reconcile.

    patcher: the object's working copy. context: the context of the extensions, whose
    read of the resource is shared. references: the values that the spec refers to.
    principal: the principal that writes. rules: returns the rules of the merged body;
    raises ConditionError for an ignored field that the kind does not have.
    inherited: the annotations of the Namespace. settings: the operator's own settings
    that may change a PUT, each "" by default.
    """

    patcher: PatchHelper
    context: ReconcileContext
    references: ReferenceResolver
    principal: tuple[str, str, str]
    extensions: Extensions
    catalogue: Catalogue
    record_key: Callable[[], RecordKey]
    rules: Callable[[], MergeRules]
    inherited: Mapping[str, str]
    settings: Sequence[str]

    def render(
        self, identity: ResourceIdentity, last_put: DriftBaseline | None
    ) -> "RenderedSpec":
        """Return the body that is made from the spec. last_put: the record of the last
        PUT. Raises ConditionError for missing inputs.
        """
        patcher, version, references = (
            self.patcher,
            self.patcher.version,
            self.references,
        )
        declared = spec(patcher.obj)
        # Extensions read the spec, too.
        stated = stated_values(
            {n: value for n, value in declared.items() if n != "operatorSpec"}
        )
        body = to_arm(version, declared, name=identity.name, inputs=references)
        # Now, as extensions may change the body in place.
        own = references.without_secrets(body)
        secrets = "" if own == body else self._hash_of_secrets(body, last_put)
        put = fingerprint(
            identity.arm_id.lower(),
            version.api_version,
            own,
            stated,
            secrets,
            self.principal,
        )
        stated = inputs_of_put(patcher.annotations, self.inherited)
        if any(self.settings):
            stated += self.settings
        hashed = fingerprint(stated)[:_HASH_DIGITS] if any(stated) else ""
        return RenderedSpec(identity, body, put, secrets, hashed, self)

    def _hash_of_secrets(self, body: JsonObject, last: DriftBaseline | None) -> str:
        """Return a hash of a body with the values of its Secrets.

        If the recorded hash fits this body, by the present key or the key before a
        rotation, it is returned unchanged.
        """
        text, key = jsontext.dumps(body, sort_keys=True).decode(), self.record_key()
        if last is not None and key.is_hash_of(text, last.secrets):
            return last.secrets
        return key.keyed_hash(text)


@attrs.frozen
class RenderedSpec:
    """The body that the object declares, before extensions change it.

    fingerprint: a hash of the body, of the values of Secrets in it, of the api-version
    and of the credential's tenant, client and subscription. secrets: a keyed hash of
    the body with the values of Secrets; "" if it has none. annotations_hash: a hash of
    the annotations and settings that may change the PUT. maker: the `Bodies` that made
    it.
    """

    identity: ResourceIdentity
    body: JsonObject = attrs.field(repr=False)
    fingerprint: str
    secrets: str
    annotations_hash: str
    maker: Bodies = attrs.field(repr=False, eq=False)

    def desired(self, observed: DriftBaseline | None) -> "Desired":
        """Return the body after extensions have changed it. Raises the exceptions of
        extensions.

        observed: the record of the last PUT.
        """
        maker = self.maker
        context, obj = maker.context, maker.patcher.obj
        declared = context.declared
        if observed is not None:
            declared.before = observed.declared | observed.owed
        declared.declare(LISTS, access_lists(self.body))
        modify = maker.extensions.chain(MODIFY_PAYLOAD, context.version.group_kind)
        is_first = is_first_creation(obj)
        request = ModifyPayload(
            ctx=context, obj=obj, payload=self.body, is_first=is_first
        )
        body = modify(request)
        for path in (TAGS, IDENTITIES):
            declared.declare(path, names_at(body, path))
        for row in facts_of(context.version.arm_type).moving:
            if row.keeps:
                declared.declare_value(row.place, value_at(body, row.place))
        revoked: list[str] = []
        if observed is not None and observed.owed and observed.put == self.fingerprint:
            # Some providers merge this map, and remove an entry only for a null.
            revoked = declared.withdrawn_in(context.raw_get() or {}, IDENTITIES)
        if revoked:
            identity = without_identities(body.get("identity"), revoked)
            body = {**body, "identity": identity}
        own = maker.references.without_secrets(body)
        return Desired(self, body, own, tuple(revoked), is_first, maker)


@attrs.frozen
class Desired:
    """The body that a PUT would send. own: the body without the values of Secrets.

    revoked: identities that Azure has kept although the last accepted PUT no longer had
    them; the body removes them explicitly. is_first: whether the PUT makes the
    resource, as far as known. maker: the `Bodies` that made it.
    """

    rendered: RenderedSpec
    body: JsonObject = attrs.field(repr=False)
    own: JsonObject = attrs.field(repr=False)
    revoked: tuple[str, ...]
    is_first: bool
    maker: Bodies = attrs.field(repr=False, eq=False)

    def compare(self, have: JsonObject) -> tuple[list[Difference], str]:
        """Return the differences between the body and the resource, and the snapshot of
        the resource.

        Differences that a rule of the type explains, and values that the PUT leaves
        alone, are not among them. Raises as `Bodies.rules`.
        """
        maker = self.maker
        version, shape = maker.patcher.version, body_shape(maker.patcher.version)
        result = merged(self.own, have, maker.rules(), maker.context.declared)
        children = child_collections(version, maker.catalogue)
        found = differences(
            result.wanted,
            have,
            children=children,
            free_maps=shape.free_maps,
            apart=distinctions_of(version),
        )
        at = IDENTITIES.replace(".", "/")
        found += [
            Difference(f"{at}/{name}", "map-extra")
            for name in names_at(have, IDENTITIES)
            if name in self.revoked
        ]
        rest = snapshot(
            shape,
            self.body,
            maker.references.without_secrets(result.shown),
            children=children,
            left=result.digest,
        )
        return not_kept(version.arm_type, found), rest


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


def without_identities(identity: Any, revoked: Iterable[str]) -> JsonObject:
    """Return the `identity` of a PUT that removes identities from a resource. Pure."""
    wanted: JsonObject = identity if isinstance(identity, dict) else {"type": "None"}
    named = wanted.get("userAssignedIdentities") or {}
    nulls: JsonObject = dict.fromkeys(revoked)
    return {**wanted, "userAssignedIdentities": nulls | named}


@lru_cache(maxsize=1024)
def child_collections(version: KindVersion, catalogue: Catalogue) -> frozenset[str]:
    """Return the names of collections in `properties` whose elements are resources of
    another kind.

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
