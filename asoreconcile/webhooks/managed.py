"""A serving certificate that nobody has to bring: made, kept in a Secret, rotated.

All replicas share the Secret and look at it again and again. Whoever finds it due for
a change writes it, on the version that was read; the others take what they find.
Rule: WH-7.
"""

import base64
import ssl
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta

import attrs

from asoreconcile import reconcile_context
from asoreconcile.clock import Clock
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.create_or_patch import AT_ONCE
from asoreconcile.kube.errors import (
    AlreadyExistsError,
    ApiError,
    ConflictError,
    NotFoundError,
    TransportError,
)
from asoreconcile.kube.resources import SECRETS
from asoreconcile.log import Logger
from asoreconcile.objects import JsonObject, ObjectKey, resource_version
from asoreconcile.retry import retry
from asoreconcile.stop_signal import StopSignal
from asoreconcile.threads import Threads
from asoreconcile.tls import load_cert_chain
from asoreconcile.webhooks.bundle import (
    AUTHORITY,
    CERTIFICATE,
    KEY,
    CertificateBundle,
)
from asoreconcile.webhooks.ca_bundles import (
    Address,
    Trust,
    WebhookTarget,
    inject_ca_bundle,
)
from asoreconcile.webhooks.metrics import WebhookMetrics
from asoreconcile.webhooks.serving_certificates import server_context

_log = Logger(__name__)

_ROUND_SECONDS = 600.0
# Of a stop's time; the rest is for unwinding.
_SHARE_OF_CALLS = 0.9
_RETRY_SECONDS = 10.0
_COALESCE_SECONDS = 0.5
# Until then every replica has looked at the Secret, and the API server was told of the
# new authority: only then may it sign.
_PROPAGATION_ROUNDS = 3


class ManagedCertificates:
    """A service: start it before the server it is for. Safe from any thread."""

    name = "webhook certificates"

    def __init__(
        self,
        client: KubeClient,
        secret: ObjectKey,
        hosts: Sequence[str],
        *,
        clock: Clock,
        url: str = "",
        targets: Callable[[], Iterable[WebhookTarget]] = tuple,
        may_write: Callable[[], bool] = lambda: True,
        metrics: WebhookMetrics | None = None,
        round_seconds: float = _ROUND_SECONDS,
        threads: Threads | None = None,
    ) -> None:
        """secret: where it is kept; made if it is not there. It holds the authority's
        key: a reader of it can impersonate this server.
        hosts: names by which the API server calls us, `service.namespace.svc`.
        url: in place of a Service, where it calls us: `https://host:port`.
        targets: what to write the caBundle of, asked for in each round and by
        `pending_injections`; what calls another server than this one is left alone.
        may_write: whether this replica writes it; one that may not looks whether
        another has. round_seconds: between two looks. threads: where it runs; shared
        by a process that shows what died.
        """
        self._client = client
        self._secret = secret
        self._hosts = tuple(hosts)
        self._address = Address(self._hosts, url)
        self._may_write = may_write
        self._clock = clock
        self._targets = targets
        self._metrics = metrics
        self._round_seconds = round_seconds
        self._threads = threads or Threads.timed_by(clock)
        self._context = server_context()
        self._shown: CertificateBundle = {}
        self._found: dict[WebhookTarget, _Found] = {}
        self._wake = threading.Event()
        self._stopping = StopSignal()
        self._ended = threading.Event()
        self._ended.set()

    def context(self) -> ssl.SSLContext:
        """Raises OSError before `start` has made or found a certificate."""
        if not self._shown:
            raise OSError("there is no certificate yet")
        return self._context

    @property
    def authorities(self) -> bytes:
        """The authorities for clients, PEM; empty before `start`."""
        return self._shown.get(AUTHORITY, b"")

    def pending_injections(self) -> Mapping[str, str]:
        """Callers that do not trust what is shown, and why: "" before they are looked
        at. Asks nobody but `targets`.
        """
        found, bundle = self._found, self.authorities
        left: dict[str, str] = {}
        for target in self._targets():
            known = found.get(target)
            if known is None or known.authorities != bundle:
                left[target.name] = ""
            elif known.trust is Trust.PENDING:
                left[target.name] = known.error or Trust.PENDING.value
        return left

    def start(self) -> None:
        """Make or find the certificate, then look after it. Blocks for some requests.

        Raises ApiError, TransportError; the manager tries again while that may help.
        """
        self._keep()
        self._ended.clear()
        try:
            self._threads.start(self.name, self._run, stopping=self._stopping)
        except BaseException:
            self._ended.set()  # there is no thread that `stop` could wait for
            raise

    def stop(self, timeout_seconds: float) -> list[str]:
        """End the thread, also in the middle of a pause or a request; blocks up to the
        time given.
        """
        spent = self._clock.monotonic() + timeout_seconds * _SHARE_OF_CALLS
        self._stopping.stop(spent)
        self._wake.set()
        ended = self._clock.wait(self._ended, timeout_seconds)
        return [] if ended else [self.name]

    def refresh(self) -> None:
        """Have a round soon: a caller came, or was written by somebody else."""
        self._wake.set()

    def _run(self) -> None:
        self._ended.clear()  # it may have died before
        context = reconcile_context.Context(self._clock, stop=self._stopping)
        try:
            with reconcile_context.running(context):
                self._look_after()
        finally:
            self._ended.set()

    def _look_after(self) -> None:
        """Until stopped. Raises StoppedError where a request was cut off by it."""
        pause = 0.0
        while True:
            if self._clock.wait(self._wake, pause):
                # Targets come many at a time: one round is for all of them.
                self._clock.wait(self._stopping, _COALESCE_SECONDS)
            self._wake.clear()
            if self._stopping.is_set():
                return
            pause = self._round_seconds if self._round() else _RETRY_SECONDS

    def _round(self) -> bool:
        """Whether all went well."""
        try:
            # First: targets are told of the authorities that are in use.
            self._keep()
        except (ApiError, TransportError, OSError) as error:
            if self._metrics is not None:
                self._metrics.certificate_errors.inc()
            _log.warning("Webhook certificate not renewed", error=str(error))
            return False
        targets = tuple(self._targets())
        # One by one: what is in order counts before the last of hundreds is.
        for target in targets:
            self._found[target] = self._inject(target)
        self._found = {target: self._found[target] for target in targets}
        return all(one.trust is not Trust.PENDING for one in self._found.values())

    def _inject(self, target: WebhookTarget) -> "_Found":
        known, authorities = self._found.get(target), self.authorities
        if known is not None and known.holds(target, authorities):
            return known
        try:
            trust, version = inject_ca_bundle(
                self._client,
                target,
                authorities,
                address=self._address,
                clock=self._clock,
                write=self._may_write(),
            )
        except (ApiError, TransportError) as error:
            _log.warning("caBundle not written", name=target.name, error=str(error))
            return _Found(Trust.PENDING, "", authorities, error=str(error))
        if trust is Trust.FOREIGN and (known is None or known.trust is not trust):
            _log.info("Another server is called", by=target.name)
        return _Found(trust, version, authorities)

    def _keep(self) -> None:
        """One look at the Secret, and what follows. Raises what the client raises."""
        retry(
            self._keep_once,
            backoff=AT_ONCE,
            # Another replica was faster: take what it has made.
            when=lambda error: isinstance(error, ConflictError | AlreadyExistsError),
            clock=self._clock,
        )

    def _keep_once(self) -> None:
        # Here: making certificates takes long to load, and some processes never do.
        from asoreconcile.webhooks.rotation import renewed

        secret = self._read()
        kept = _decoded(secret)
        wanted = renewed(
            kept,
            self._hosts,
            now=self._clock.now(),
            propagation_delay=timedelta(
                seconds=_PROPAGATION_ROUNDS * self._round_seconds
            ),
        )
        if wanted is None:
            self._show(kept)
            return
        self._write(secret, wanted)
        _log.info("Webhook certificate renewed", secret=str(self._secret))
        self._show(wanted)

    def _read(self) -> JsonObject | None:
        if self._metrics is not None:
            self._metrics.certificate_reads.inc()
        try:
            return self._client.get(SECRETS, self._secret)
        except NotFoundError:
            return None

    def _write(self, secret: JsonObject | None, kept: CertificateBundle) -> None:
        data = {name: base64.b64encode(pem).decode() for name, pem in kept.items()}
        key = self._secret
        if secret is not None:
            # Of two replicas that renew at once the second is refused, and takes what
            # the first has made.
            read = {"resourceVersion": resource_version(secret)}
            self._client.patch(SECRETS, key, {"metadata": read, "data": data})
            return
        document = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": {"namespace": key.namespace, "name": key.name},
            "data": data,
        }
        self._client.create(SECRETS, document)

    def _show(self, kept: CertificateBundle) -> None:
        """Raises OSError for a pair that does not fit, and goes on with the old one."""
        if kept == self._shown:
            return
        load_cert_chain(self._context, kept[CERTIFICATE], kept[KEY])
        self._shown = kept
        if self._metrics is not None:
            self._metrics.shows(kept[CERTIFICATE])


@attrs.frozen
class _Found:
    """What a look at a caller found. error: why it could not be written."""

    trust: Trust
    version: str
    authorities: bytes
    error: str = ""

    def holds(self, target: WebhookTarget, authorities: bytes) -> bool:
        """Whether another look would find the same."""
        return (
            self.trust is not Trust.PENDING
            and self.authorities == authorities
            and target.version not in ("", "0")
            and target.version == self.version
        )


def _decoded(secret: JsonObject | None) -> CertificateBundle:
    data = (secret or {}).get("data") or {}
    return {name: base64.b64decode(value) for name, value in data.items()}
