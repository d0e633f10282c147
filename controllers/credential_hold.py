"""Hold credential Secrets that objects still need, by a finalizer. Off by default.

A Namespace that is deleted loses its Secrets at once, while its objects still need the
credential to delete their resources. With the finalizer the Secret stays until the last
object that uses it is gone.
"""

import attrs

from asoreconcile.azure.reconcile.model.annotations import OWN_PREFIX
from asoreconcile.base.objects import ObjectKey
from asoreconcile.cache.informer import Informer
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.resources import SECRETS

FINALIZER = OWN_PREFIX + "credential-in-use"


@attrs.frozen
class CredentialHold:
    """Adds and removes the finalizer. is_wanted: if false, the finalizer is only
    removed.
    """

    client: KubeClient
    secrets: Informer
    is_wanted: bool

    def update(self, key: ObjectKey, *, is_used: bool) -> None:
        """Add the finalizer to a Secret that objects use, and remove it from any other.

        Raises ConflictError if the Secret has changed meanwhile, ApiError and
        TransportError.
        """
        secret = self.secrets.entry(key)
        if secret is None:
            return
        present = list(secret.finalizers)
        wanted = is_used and self.is_wanted
        # Kubernetes accepts no new finalizer on an object that is being deleted.
        if wanted == (FINALIZER in present) or (wanted and secret.deleting):
            return
        rest = [name for name in present if name != FINALIZER]
        # The whole list on the version that was read: a merge patch replaces lists.
        meta = {
            "uid": secret.uid,
            "resourceVersion": secret.resource_version,
            "finalizers": [*rest, FINALIZER] if wanted else rest,
        }
        try:
            answer = self.client.patch(SECRETS, key, {"metadata": meta})
        except NotFoundError:
            return
        self.secrets.record_write(answer)
