"""Look up whether the object of a review exists, before a refusal tells of others.

Anyone who reaches the webhook port can invent an object. A refusal that depends on
other objects, or on a Namespace, is for the writer of an object that is there.
"""

import threading

import attrs

from asoreconcile.azure.catalogue.kinds import Catalogue
from asoreconcile.base.objects import JsonObject, uid_of
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import ApiError, TransportError
from asoreconcile.kube.resources import ApiResource
from asoreconcile.webhooks.admission import AdmissionRequest

# All callers together: invented reviews must not use up the client's connections.
_MOST_READS = 4
# Long enough for a burst of real writes.
_WAIT_SECONDS = 1.0


def as_reviewed(request: AdmissionRequest) -> JsonObject | None:
    """Return the present object as a review states it: for a server that answers to API
    servers alone.
    """
    return request.old or request.obj


@attrs.frozen(eq=False)
class LiveObjects:
    """Reads reviewed objects from the API server. Safe from any thread."""

    client: KubeClient
    catalogue: Catalogue
    _reads: threading.BoundedSemaphore = attrs.field(
        init=False, factory=lambda: threading.BoundedSemaphore(_MOST_READS)
    )

    def __call__(self, request: AdmissionRequest) -> JsonObject | None:
        """Return the object that a review is about, as it is now; None if there is none
        with the review's uid, or if it cannot be read soon.

        Blocks for a second at most, and for one read. A new object is not there yet.
        """
        stated = request.old or {}
        uid, gvk = uid_of(stated), request.gvk
        if not uid or not request.key.name:
            return None
        plural = self.catalogue.kind(gvk.group_kind).plural
        resource = ApiResource(gvk.group, gvk.version, plural, gvk.kind)
        if not self._reads.acquire(timeout=_WAIT_SECONDS):
            return None  # the reconciler decides
        try:
            found = self.client.get(resource, request.key)
        except (ApiError, TransportError):
            return None
        finally:
            self._reads.release()
        return found if uid_of(found) == uid else None
