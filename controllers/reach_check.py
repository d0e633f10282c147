"""Refuse an object outside its Namespace's reach when it is written.

The reconciler refuses in any case (`reconcile.model.reach`); here the author still sees
the result.
"""

from functools import partial

import attrs

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.problems import Problem
from asoreconcile.azure.controllers.reference_grants import may_be_granted
from asoreconcile.azure.reconcile.model.reach import why_out_of_reach
from asoreconcile.base.objects import JsonObject, ObjectKey, annotations, dig, key_of
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import ApiError, TransportError
from asoreconcile.kube.resources import NAMESPACES


@attrs.frozen
class ReachCheck:
    """An `admission.AdmissionCheck`. Safe from any thread; blocks for one read of the
    Namespace, and one of all grants. reader: reads them.
    """

    reader: KubeClient

    def __call__(self, version: KindVersion, obj: JsonObject) -> list[Problem]:
        """Return the problem of an object that its Namespace does not allow.

        The scope is checked if the owner is an ARM id; otherwise the reconciler finds
        the id. So it does if the Namespace cannot be read.
        """
        namespace = key_of(obj).namespace
        if not version.is_arm or not namespace:
            return []
        try:
            live = self.reader.get(NAMESPACES, ObjectKey("", namespace))
        except (ApiError, TransportError):
            return []
        below = dig(obj, "spec.owner.armId") or ""
        try:
            why = why_out_of_reach(
                str(below),
                version.arm_type,
                annotations(live),
                # The reconciler knows which resources a grant is about.
                partial(may_be_granted, self.reader, version.group_kind, namespace),
            )
        except (ApiError, TransportError):
            return []
        return [Problem("metadata.namespace", why)] if why else []
