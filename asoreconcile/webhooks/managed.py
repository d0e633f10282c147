"""A self-signed serving certificate, stored in a Secret and rotated.

All replicas share the Secret and watch it. A replica that may write makes and rotates
the certificate. It writes a new authority into the callers' configuration and then
marks the Secret; only then is the certificate served. A replica that serves a
certificate stores it again if the Secret is deleted. Rule: WH-7.
"""

import base64
import hashlib
import ssl
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta

import attrs

from asoreconcile.base import reconcile_context
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import check_list
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    annotations,
    resource_version,
)
from asoreconcile.base.retry import retry
from asoreconcile.base.signatures import check_takes
from asoreconcile.base.stop_signal import SHARE_OF_CALLS, StopSignal
from asoreconcile.base.threads import Threads
from asoreconcile.cache.informer import Informer
from asoreconcile.cache.scope import Scope
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
from asoreconcile.kube.retrying import is_passing
from asoreconcile.webhooks.bundle import AUTHORITY, CERTIFICATE, KEY, CertificateBundle
from asoreconcile.webhooks.ca_bundles import (
    Address,
    Trust,
    WebhookTarget,
    inject_ca_bundle,
)
from asoreconcile.webhooks.metrics import WebhookMetrics
from asoreconcile.webhooks.serving_certificates import LEAST_TLS, server_context

_log = Logger(__name__)

_ROUND_SECONDS = 600.0
_RETRY_SECONDS = 10.0
_COALESCE_SECONDS = 0.5
# By then every replica has read the Secret, and the API server has the new authority:
# only then may it sign.
_PROPAGATION_ROUNDS = 3
# Names the authorities in the Secret that the callers have been told of.
_TRUSTED = "asoreconcile/trusted-authorities"


class ManagedCertificates:
    """A service that keeps the certificate of a webhook server. Start it before the
    server. Safe from any thread.
    """

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
        threads: Threads | None = None,
        least_tls: ssl.TLSVersion = LEAST_TLS,
    ) -> None:
        """secret: stores the certificate; created if missing. It contains the
        authority's key: its readers can impersonate this server.
        hosts: the names
        by which the API server calls us, `service.namespace.svc`.
        url: the address without a Service: `https://host:port`.
        targets: returns the objects whose caBundle to write, in each round and for
        `pending_injections`; webhooks of other servers are not changed.
        may_write: whether this replica makes certificates and writes into targets;
        otherwise it waits for another one, and checks what that one has written.
        threads: starts the thread; share one per
        process to report threads that died. least_tls: older clients are refused.
        Raises TypeError if hosts is a string, or targets is not a function.
        """
        check_list("hosts", hosts)
        check_takes(targets, what="function of targets", lazy=True)
        self._client = client
        self._secret = secret
        self._hosts = tuple(hosts)
        self._address = Address(self._hosts, url)
        self._may_write = may_write
        self._clock = clock
        self._targets = targets
        self._metrics = metrics
        self._threads = threads or Threads(clock)
        self._secrets = Informer(
            client,
            SECRETS,
            Scope([secret.namespace], field_selector=f"metadata.name={secret.name}"),
            clock=clock,
            metadata_only=True,
            threads=self._threads,
        )
        self._secrets.add_handler(lambda _: self.refresh())
        self._least_tls = least_tls
        self._context: ssl.SSLContext | None = None
        self._shown: CertificateBundle = {}
        self._found: dict[WebhookTarget, _Found] = {}
        self._wake = threading.Event()
        self._stopping = StopSignal()
        self._ended = threading.Event()
        self._ended.set()

    def context(self) -> ssl.SSLContext:
        """Return the TLS context. Raises OSError before `start` has created or found a
        certificate.
        """
        if self._context is None:
            raise OSError("there is no certificate yet")
        return self._context

    @property
    def authorities(self) -> bytes:
        """Return the authorities for clients as PEM; empty before `start`."""
        return self._shown.get(AUTHORITY, b"")

    def pending_injections(self) -> Mapping[str, str]:
        """Return the targets that do not trust the serving certificate, or are not in
        the cluster, with the reason.

        The reason is "" before the first check. Calls only `targets`, no server.
        """
        found, bundle = self._found, self.authorities
        left: dict[str, str] = {}
        for target in self._targets():
            known = found.get(target)
            if known is None or known.authorities != bundle:
                left[target.name] = ""
            elif known.is_lacking(target):
                left[target.name] = known.error or known.trust.value
        return left

    def start(self) -> None:
        """Create or find the certificate, then start the rotation thread. Blocks for
        some requests.

        A replica that may not write starts without a certificate if there is none yet.
        Raises ApiError, TransportError; the manager retries transient ones.
        """
        stored = self._keep()
        if stored.bundle and (stored.is_marked or self._may_write()):
            self._show(stored.bundle)
        self._ended.clear()
        try:
            self._secrets.start()
            self._threads.start(self.name, self._run, stopping=self._stopping)
        except BaseException:
            self._ended.set()  # no thread runs that `stop` could wait for
            raise

    def stop(self, timeout_seconds: float) -> list[str]:
        """End the thread, even during a pause or a request; blocks up to the
        timeout.
        """
        spent = self._clock.monotonic() + timeout_seconds * SHARE_OF_CALLS
        self._stopping.stop(spent)
        self._secrets.ask_to_stop()
        self._wake.set()
        ended = self._clock.wait(self._ended, timeout_seconds)
        return [] if ended else [self.name]

    def refresh(self) -> None:
        """Run a round soon, because a target was added or changed by another writer."""
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
        """Repeat rounds until stopped. Raises StoppedError if the stop interrupts a
        request.
        """
        pause = 0.0
        while True:
            if self._clock.wait(self._wake, pause):
                # Many targets are added at once: one round handles all of them.
                self._clock.wait(self._stopping, _COALESCE_SECONDS)
            self._wake.clear()
            if self._stopping.is_set():
                return
            pause = _ROUND_SECONDS if self._round() else _RETRY_SECONDS

    def _round(self) -> bool:
        """Run one round: keep the certificate, and write the authorities. Return
        whether all of it succeeded.
        """
        try:
            stored = self._keep()
            if stored.bundle:
                self._distribute(stored)
        except (ApiError, TransportError, OSError) as error:
            if self._metrics is not None:
                self._metrics.certificate_errors.inc()
            _log.warning("Webhook certificate not renewed", error=str(error))
            return False
        is_shown = bool(stored.bundle) and self._shown == stored.bundle
        return is_shown and not any(
            one.is_lacking(target) for target, one in self._found.items()
        )

    def _distribute(self, stored: "_Stored") -> None:
        """Write the authorities into all targets, then serve the certificate. Raises
        the exceptions of the client, and OSError for an unusable certificate.
        """
        authorities = stored.bundle[AUTHORITY]
        targets = tuple(self._targets())
        # One by one: a finished target counts before the last of hundreds is done.
        for target in targets:
            self._found[target] = self._inject(target, authorities)
        self._found = {target: self._found[target] for target in targets}
        is_marked = stored.is_marked
        if self._may_write() and not is_marked:
            is_marked = not any(one.holds_back for one in self._found.values())
            if is_marked:
                mark = {"metadata": {"annotations": _mark(stored.bundle)}}
                self._client.patch(SECRETS, self._secret, mark)
        if is_marked:
            self._show(stored.bundle)

    def _inject(self, target: WebhookTarget, authorities: bytes) -> "_Found":
        known = self._found.get(target)
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
            # A target that may not be written holds no other one back.
            passing = is_passing(error)
            return _Found(
                Trust.PENDING, "", authorities, error=str(error), holds_back=passing
            )
        if known is None or known.trust is not trust:
            if trust is Trust.FOREIGN:
                _log.info("Another server is called", by=target.name)
            elif trust is Trust.MISSING and target.required:
                _log.warning(
                    "Webhook target is not in the cluster: the API server does not "
                    "call this server until it is created",
                    kind=target.resource.kind,
                    name=target.name,
                )
        return _Found(trust, version, authorities)

    def _keep(self) -> "_Stored":
        """Read the Secret, and renew the certificate if due. Raises the exceptions of
        the client.
        """
        return retry(
            self._keep_once,
            backoff=AT_ONCE,
            # Another replica was faster: use its certificate.
            when=lambda error: isinstance(error, ConflictError | AlreadyExistsError),
            clock=self._clock,
        )

    def _keep_once(self) -> "_Stored":
        secret = self._read()
        if secret is None and self._shown:
            # The callers trust it, and a replica that starts now would make another.
            self._write(None, self._shown)
            _log.warning(
                "Secret was deleted, and is made again", secret=str(self._secret)
            )
            return _Stored(self._shown, is_marked=True)
        kept = _decoded(secret)
        if self._may_write():
            wanted = self._renewed(kept)
            if wanted is not None:
                self._write(secret, wanted)
                _log.info("Webhook certificate renewed", secret=str(self._secret))
                kept = wanted
        elif not {AUTHORITY, CERTIFICATE, KEY} <= kept.keys():
            kept = {}
        marks = annotations(secret or {})
        return _Stored(
            kept, is_marked=bool(kept) and _mark(kept).items() <= marks.items()
        )

    def _renewed(self, kept: CertificateBundle) -> CertificateBundle | None:
        # Imported here: the module is slow to load, and some processes never need it.
        from asoreconcile.webhooks.rotation import renewed

        delay = timedelta(seconds=_PROPAGATION_ROUNDS * _ROUND_SECONDS)
        return renewed(
            kept, self._hosts, now=self._clock.now(), propagation_delay=delay
        )

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
            # If two replicas renew at once, the second gets a conflict and uses the
            # first's certificate.
            read = {"resourceVersion": resource_version(secret)}
            self._client.patch(SECRETS, key, {"metadata": read, "data": data})
            return
        document = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": {
                "namespace": key.namespace,
                "name": key.name,
                "annotations": _mark(kept) if kept == self._shown else {},
            },
            "data": data,
        }
        self._client.create(SECRETS, document)

    def _show(self, kept: CertificateBundle) -> None:
        """Serve a new pair. If it does not match, raise OSError and keep the old
        one.
        """
        if kept == self._shown:
            return
        self._context = server_context(self._least_tls, kept[CERTIFICATE], kept[KEY])
        self._shown = kept
        if self._metrics is not None:
            self._metrics.shows(kept[CERTIFICATE])


@attrs.frozen
class _Stored:
    """The bundle in the Secret, {} if the Secret has no bundle, and whether the
    callers' configurations have its authorities.
    """

    bundle: CertificateBundle
    is_marked: bool


@attrs.frozen
class _Found:
    """The result of checking a target.

    error: why it could not be written. holds_back: whether to wait until it is written.
    """

    trust: Trust
    version: str
    authorities: bytes
    error: str = ""
    holds_back: bool = False

    def is_lacking(self, target: WebhookTarget) -> bool:
        """Return whether the server is not ready because of the target."""
        missing = self.trust is Trust.MISSING and target.required
        return missing or self.trust is Trust.PENDING

    def holds(self, target: WebhookTarget, authorities: bytes) -> bool:
        """Return whether the result is still valid."""
        return (
            not self.is_lacking(target)
            and self.authorities == authorities
            and target.version not in ("", "0")
            and target.version == self.version
        )


def _mark(kept: CertificateBundle) -> Mapping[str, str]:
    return {_TRUSTED: hashlib.sha256(kept[AUTHORITY]).hexdigest()[:16]}


def _decoded(secret: JsonObject | None) -> CertificateBundle:
    data = (secret or {}).get("data") or {}
    return {name: base64.b64decode(value) for name, value in data.items()}
