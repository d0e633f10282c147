"""Lets objects of a namespace write below a resource of another namespace that grants
it.

The owner's namespace has a ReferenceGrant of the Gateway API. It widens the scopes that
an administrator allows the other namespace, and only by resources that an object of
the grant's namespace manages. Without that API's CRD nothing is granted.
"""

from collections.abc import Callable, Iterable, Iterator

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.azure.reconcile.model.standing import Standing, standing_in
from asoreconcile.base.objects import GroupKind, JsonObject, ObjectKey, key_of, spec
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import ForbiddenError, NotFoundError
from asoreconcile.kube.resources import ApiResource
from asoreconcile.kube.selection import Selection

REFERENCE_GRANTS = ApiResource(
    "gateway.networking.k8s.io", "v1beta1", "referencegrants", "ReferenceGrant"
)


@attrs.frozen
class ReferenceGrants:
    """Decides whether another namespace grants writes below its resource. Safe from any
    thread.

    objects: returns the objects that may represent an ARM id. record_key: returns the
    key of their claims.
    """

    client: KubeClient
    objects: Callable[[str], Iterable[tuple[KindVersion, JsonObject]]]
    record_key: Callable[[], RecordKey]

    def __call__(self, source: GroupKind, namespace: str, arm_id: str) -> bool:
        """Return whether an object of this kind and namespace may write an id because
        another namespace manages a resource above it and grants the write.

        Blocking; raises ApiError, TransportError, RetryError, ConditionError.
        """
        return any(
            grants(spec(grant), source, namespace, kind, key)
            for kind, key in self._managers(namespace, arm_id)
            for grant in _listed(self.client, key.namespace)
        )

    def _managers(
        self, namespace: str, arm_id: str
    ) -> Iterator[tuple[GroupKind, ObjectKey]]:
        """Yield the objects of other namespaces that manage resources above an id.

        Only a claim that Azure has accepted counts: the author of an object can write
        any id into it.
        """
        above = ids.parse(arm_id).parent
        while above is not None:
            for version, obj in self.objects(str(above)):
                key = key_of(obj)
                if key.namespace == namespace:
                    continue
                standing = standing_in(obj, str(above), self.record_key)
                if standing is Standing.MANAGES:
                    yield version.group_kind, key
            above = above.parent


def may_be_granted(client: KubeClient, source: GroupKind, namespace: str) -> bool:
    """Return whether some grant names this kind and namespace, for any resource.
    Blocking; raises ApiError, TransportError.
    """
    return any(
        _names(grant, source, namespace) for grant in map(spec, _listed(client, ""))
    )


def grants(
    grant: JsonObject,
    source: GroupKind,
    namespace: str,
    target: GroupKind,
    key: ObjectKey,
) -> bool:
    """Return whether a grant lets objects of a kind and namespace refer to an object.

    grant: spec of a ReferenceGrant in the namespace of `key`. Pure.
    """
    wanted = {"group": target.group, "kind": target.kind}
    return _names(grant, source, namespace) and any(
        wanted.items() <= one.items() and one.get("name") in (None, "", key.name)
        for one in grant.get("to") or ()
    )


def _names(grant: JsonObject, source: GroupKind, namespace: str) -> bool:
    wanted = {"group": source.group, "kind": source.kind, "namespace": namespace}
    return any(wanted.items() <= one.items() for one in grant.get("from") or ())


def _listed(client: KubeClient, namespace: str) -> list[JsonObject]:
    """Return the grants of a namespace, or of all; none if they are not served or
    may not be read.
    """
    try:
        return list(client.list_all(Selection(REFERENCE_GRANTS, namespace)))
    except (NotFoundError, ForbiddenError):
        return []
