"""Remove old versions from `status.storedVersions`, once no object is stored in them.

    storage version moves  ->  each object is rewritten  ->  the old names are dropped

A CRD must serve every version in that list, so a list that only grows keeps old
versions for ever. This module decides when, `storage_rewrite` does it. The write of the
list is conditional on the CRD's resource version, so that the second of two concurrent
writers reads again.
"""

import attrs

from asoreconcile.azure.controllers.crd_coverage import stored_version
from asoreconcile.azure.controllers.definitions import Definitions
from asoreconcile.azure.controllers.storage_rewrite import (
    SETTLE_SECONDS,
    StorageRewrite,
    listed_versions,
)
from asoreconcile.base.backoff import ItemExponential
from asoreconcile.base.clock import Clock
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import ObjectKey
from asoreconcile.cache.informer import Informer
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import ForbiddenError, InvalidError, NotFoundError
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from asoreconcile.runtime.application import Application
from asoreconcile.runtime.options import ControllerOptions
from asoreconcile.runtime.predicates import concerns
from asoreconcile.runtime.reconciler import Request, Result

_log = Logger(__name__)

_FIRST_RETRY_SECONDS = 10.0
_LAST_RETRY_SECONDS = 3600.0
# Another storage version, or another writer, came between: the last writer will know
# soon.
_AGAIN = Result(requeue_after_seconds=_FIRST_RETRY_SECONDS)


@attrs.define(eq=False)
class StoredVersions:
    """`runtime.reconciler.Reconciler` for CRDs: one at a time.

    settle_seconds: how long a storage version must have been seen before objects in
    other versions are rewritten.
    """

    _client: KubeClient
    _clock: Clock
    _settle_seconds: float = SETTLE_SECONDS
    _seen: dict[ObjectKey, tuple[str, float]] = attrs.field(init=False, factory=dict)
    _is_forbidden: bool = attrs.field(init=False, default=False)

    def setup_with(
        self, app: Application, crds: Informer, definitions: Definitions
    ) -> None:
        """Register for the CRDs that operators have installed; CRDs of others are not
        changed.
        """
        app.reconcile(
            crds,
            self,
            name="storedversions",
            when=concerns(definitions.is_of_operators),
            options=controller_options(app.clock),
        )

    def reconcile(self, request: Request) -> Result:
        """Clean up one CRD.

        If its storage version has moved, blocks for a write of each of its objects.
        Raises ApiError, TransportError.
        """
        try:
            return self._bring_in_order(request.key)
        except NotFoundError:
            return Result()
        except (ForbiddenError, InvalidError) as error:
            # A retry is useless before the CRD changes. A right that is missing for one
            # CRD is missing for all, so it is logged once.
            if not (self._is_forbidden and isinstance(error, ForbiddenError)):
                crd = request.key.name
                _log.warning("Stored versions stay listed", crd=crd, reason=str(error))
            # Remembered for the log alone: the right may be given at any time, and each
            # change of a CRD asks again.
            self._is_forbidden |= isinstance(error, ForbiddenError)
            return Result()

    def _bring_in_order(self, key: ObjectKey) -> Result:
        live = self._client.get(CUSTOM_RESOURCE_DEFINITIONS, key)
        listed, stored = listed_versions(live), stored_version(live)
        if listed == [stored]:
            self._seen.pop(key, None)
            return Result()
        left = self._seconds_to_settle(key, stored)
        if left > 0:
            return Result(requeue_after_seconds=left, not_before=True)
        count, is_done = StorageRewrite(self._client).bring_in_order(
            live,
            progress=lambda done: _log.info(
                "Objects are stored in another version",
                crd=key.name,
                version=stored,
                done=done,
            ),
        )
        if not is_done:
            return _AGAIN
        dropped = [version for version in listed if version != stored]
        _log.info(
            "Old stored versions dropped",
            crd=key.name,
            dropped=dropped,
            objects=count,
        )
        return Result()

    def _seconds_to_settle(self, key: ObjectKey, stored: str) -> float:
        """Return the seconds until objects in other versions may be rewritten.

        An API server that does not know the new storage version yet would still store
        objects in the old one.
        """
        now = self._clock.monotonic()
        known, since = self._seen.get(key, ("", now))
        if known != stored:
            since = now
            self._seen[key] = (stored, since)
        return since + self._settle_seconds - now


def controller_options(clock: Clock) -> ControllerOptions:
    """Return options with slow retries, because nothing waits for the result."""
    limiter = ItemExponential(_FIRST_RETRY_SECONDS, _LAST_RETRY_SECONDS, clock=clock)
    return ControllerOptions(limiter=limiter)
