"""Tests one conversion through the API server, before this process is ready.

Only the API server knows whether it trusts the webhook's certificate: it needs a moment
to load a caBundle, and a proxy or a wrong Service may be in between. To make it call
the webhook, an object is read at a version other than the stored one. If no kind has an
object yet, there is nothing to read, and the log says so.

Only a failure of trust holds up readiness. If the API server cannot reach the webhook,
waiting does not help: it may reach this process only once the process is ready and the
Service lists it.
"""

from collections.abc import Callable, Mapping

import attrs

from asoreconcile.azure.controllers.kind_registry import RunningKind, resource_of
from asoreconcile.base.backoff import ItemExponential
from asoreconcile.base.clock import Clock
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import GroupKind, ObjectKey
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import ApiError, NotFoundError, TransportError
from asoreconcile.runtime.application import Application
from asoreconcile.runtime.health import DEGRADED_AFTER_SECONDS, CheckResult
from asoreconcile.runtime.options import ControllerOptions
from asoreconcile.runtime.reconciler import Request, Result

_log = Logger(__name__)

PROBE = Request(ObjectKey("", "conversion"))
"""What is asked for: there is but one."""

_FIRST_PAUSE_SECONDS = 0.25
_LAST_PAUSE_SECONDS = 15.0
# Texts of Go's TLS library, which the API server passes on in its error.
_UNTRUSTED_WORDS = ("x509", "certificate")


class ConversionProbe:
    """`runtime.reconciler.Reconciler` for one key, `PROBE`, and a readiness check."""

    def __init__(
        self,
        client: KubeClient,
        running: Callable[[], Mapping[GroupKind, RunningKind]],
        *,
        clock: Clock,
        degraded_after_seconds: float = DEGRADED_AFTER_SECONDS,
    ) -> None:
        """running: returns the running kinds (`KindRegistry.running`)."""
        self._client = client
        self._running = running
        self._clock = clock
        self._degraded_at = clock.monotonic() + degraded_after_seconds
        self._backoff = ItemExponential(
            _FIRST_PAUSE_SECONDS, _LAST_PAUSE_SECONDS, clock=clock
        )
        self._result = CheckResult(ok=False, details=("not asked yet",))

    def setup_with(self, app: Application) -> None:
        """Register the probe on each replica, as a condition of readiness."""
        builder = app.reconcile(
            None,
            self,
            name="conversionprobe",
            options=ControllerOptions(needs_leader=False),
        )
        builder.controller.enqueue(PROBE.key)
        app.readyz.add("conversion", self)

    def __call__(self) -> CheckResult:
        result = self._result
        degraded = self._clock.monotonic() >= self._degraded_at
        return attrs.evolve(result, ok=result.ok or degraded)

    def reconcile(self, request: Request) -> Result:
        """Probe until a conversion was answered, or there is none to test.

        Blocks for one request at most.
        """
        if self._is_over():
            return Result()
        return Result(requeue_after_seconds=self._backoff.delay(request.key))

    def _is_over(self) -> bool:
        # For other objects the API server needs no conversion, and would not call us.
        kinds = [kind for kind in self._running().values() if kind.version.kept_as]
        for kind in kinds:
            key = next(iter(kind.informer.keys()), None)
            if key is not None:
                return self._ask(kind, key)
        if all(kind.informer.has_synced() for kind in kinds):
            self._set_result(
                ok=True, what="no object whose conversion could be asked for"
            )
            return True
        self._set_result(ok=False, what="not asked yet: objects are being listed")
        return False

    def _ask(self, kind: RunningKind, key: ObjectKey) -> bool:
        """Read an object at another version; return whether the conversion was
        answered. Blocks for a request.
        """
        version = kind.version.gvk.version
        resource = attrs.evolve(resource_of(kind.version), version=version)
        what = f"{kind.version.group_kind} at {version}"
        try:
            self._client.get(resource, key)
        except NotFoundError:
            return False  # deleted meanwhile: another object is tried
        except (ApiError, TransportError) as error:
            untrusted = any(mark in str(error) for mark in _UNTRUSTED_WORDS)
            _log.warning("Conversion was not answered", of=what, error=str(error))
            why = "our certificate is not trusted yet" if untrusted else "see the log"
            self._set_result(ok=not untrusted, what=f"{what} was not answered: {why}")
            return False
        self._set_result(ok=True, what=f"{what} was answered")
        return True

    def _set_result(self, *, ok: bool, what: str) -> None:
        self._result = CheckResult(ok, (what,))
