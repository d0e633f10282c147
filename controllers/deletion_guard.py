"""Refuse the deletion of protected objects when it is requested.

The reconciler holds back the DELETE in any case (`reconcile.writes.protection`), but
Kubernetes cannot undo a deletion: a refused request keeps the object as it was. Rule:
OW-4.
"""

from collections.abc import Callable, Mapping, Sequence

import attrs

from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.policy import Policy, policy_of
from asoreconcile.azure.reconcile.model.protection import why_held, why_held_by
from asoreconcile.base.errors import RetryError
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import JsonObject, ObjectKey, is_deleting, key_of, uid_of
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import ApiError, TransportError
from asoreconcile.kube.resources import NAMESPACES

_log = Logger(__name__)


@attrs.frozen
class DeletionGuard:
    """Says why an object may not be deleted. Safe from any thread.

    reader: reads the object's Namespace. protected_below: finds protected objects
    (`SharedDependencies`).
    """

    reader: KubeClient
    default_policy: Policy
    protected_below: Callable[[str, str], Sequence[ObjectReference]]

    def why_refused(self, obj: JsonObject) -> str:
        """Return why a deletion is refused and how to lift the protection, or "".
        Blocks for one read at most.

        A deletion that keeps the resource, or that was requested before, is never
        refused; nor is one if the Namespace cannot be read: the reconciler decides.
        """
        own = annotations(obj)
        arm_id = own.get(RESOURCE_ID)
        if is_deleting(obj) or not arm_id:
            return ""
        inherited = self._inherited(key_of(obj).namespace)
        policy = policy_of(own, inherited, self.default_policy)
        if policy is None or not policy.deletes:
            return ""
        return why_held(own, inherited) or self._held_below(obj, arm_id)

    def _inherited(self, namespace: str) -> Mapping[str, str]:
        try:
            return annotations(self.reader.get(NAMESPACES, ObjectKey("", namespace)))
        except (ApiError, TransportError) as error:
            _log.info(
                "Cannot read the Namespace", namespace=namespace, reason=str(error)
            )
            return {}

    def _held_below(self, obj: JsonObject, arm_id: str) -> str:
        namespace = key_of(obj).namespace
        try:
            below = self.protected_below(arm_id, uid_of(obj))
        except RetryError:
            return ""
        here = [node for node in below if node.key.namespace == namespace]
        return why_held_by(here) if here else ""
