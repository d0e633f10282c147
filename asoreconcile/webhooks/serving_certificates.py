"""The serving certificate of a webhook server, and its rotation at run time.

A renewed certificate gets a new TLS context, which is used for new handshakes; open
connections keep theirs. Rule: WH-7.
"""

import ssl
import threading
from pathlib import Path
from typing import Protocol

from asoreconcile.base.clock import Clock, SystemClock
from asoreconcile.base.log import Logger
from asoreconcile.base.retry import Backoff, retry
from asoreconcile.base.tls import Stamp, as_file, file_stamp, load_cert_chain
from asoreconcile.webhooks.metrics import WebhookMetrics

LEAST_TLS = ssl.TLSVersion.TLSv1_2
_log = Logger(__name__)

# Longer than the process lives, as it is not renewed.
_SELF_SIGNED_DAYS = 3650.0
# Pauses of 0.1, 0.2, 0.4 and 0.8 s: certificate and key are two files, and one is
# written first.
_WRITTEN = Backoff(attempts=5, first_seconds=0.1, factor=2.0, jitter=0.0)


class ServingCertificates(Protocol):
    """The serving certificates of a server."""

    def context(self) -> ssl.SSLContext:
        """Return the context of the next TLS handshake. Raises OSError while there is
        no certificate.
        """


class FileCertificates:
    """A certificate and key in files, such as a mounted Secret.

    The files are checked at each handshake, so a new pair is used at once; with an
    unusable pair the old one stays. Safe from any thread.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        certificate: str = "tls.crt",
        key: str = "tls.key",
        clock: Clock | None = None,
        metrics: WebhookMetrics | None = None,
        least_tls: ssl.TLSVersion = LEAST_TLS,
    ) -> None:
        """folder: contains the two PEM files. least_tls: older clients are refused.
        clock: clock of the pauses between the first tries.

        Unusable files are read again for 1.5 s (`_WRITTEN`), as they may be being
        written. Raises OSError (ssl.SSLError is one) if they stay unusable.
        """
        self._metrics = metrics
        self._least_tls = least_tls
        self._files = (Path(folder, certificate), Path(folder, key))
        self._lock = threading.Lock()
        self._stamps: list[Stamp] = []
        self._context = retry(
            self._loaded,
            backoff=_WRITTEN,
            when=lambda error: isinstance(error, OSError),
            clock=clock or SystemClock(),
            what=f"load the certificate in {folder}",
        )

    def context(self) -> ssl.SSLContext:
        """Return a TLS context with the current pair, or the last usable one. Never
        raises.
        """
        with self._lock:
            try:
                if self._stamps != [file_stamp(one) for one in self._files]:
                    self._context = self._loaded()
                    _log.info("Loaded a new serving certificate")
            except OSError as error:
                if self._metrics is not None:
                    self._metrics.certificate_errors.inc()
                _log.warning("Keeping the old serving certificate", error=str(error))
            return self._context

    def _loaded(self) -> ssl.SSLContext:
        """Return a context with the pair in the files. Raises OSError."""
        if self._metrics is not None:
            self._metrics.certificate_reads.inc()
        # First: a file that changes now is read again.
        stamps = [file_stamp(one) for one in self._files]
        certificate, key = (one.read_bytes() for one in self._files)
        context = server_context(self._least_tls, certificate, key)
        try:
            if self._metrics is not None:
                self._metrics.shows(certificate)
        except ValueError as error:
            raise OSError(f"{self._files[0]}: {error}") from error
        self._stamps = stamps
        return context


class ClientAuthority:
    """The authority of clients' certificates, in a file that may be replaced. Safe from
    any thread.

    An authority that was trusted stays so until the process ends.
    """

    def __init__(self, file: Path) -> None:
        """file: PEM. Raises OSError (ssl.SSLError is one) if it is unusable."""
        self._file = file
        self._lock = threading.Lock()
        self._stamp: Stamp | None = None
        self._trusted: list[bytes] = []
        self._served: tuple[ssl.SSLContext, int] | None = None
        self._read()

    def asked_by(self, context: ssl.SSLContext) -> ssl.SSLContext:
        """Return a server's context that asks clients for a certificate and verifies
        it; a client without one is not refused. If the file is unusable, the
        authorities that were read before stay in use.
        """
        with self._lock:
            try:
                self._read()
            except OSError as error:
                _log.warning("Keeping the old client authority", error=str(error))
            if self._served != (context, len(self._trusted)):
                for pem in self._trusted:
                    _trust(context, pem)
                context.verify_mode = ssl.CERT_OPTIONAL
                self._served = context, len(self._trusted)
        return context

    def _read(self) -> None:
        """Read the file if it has changed. Raises OSError."""
        stamp = file_stamp(self._file)
        if stamp == self._stamp:
            return
        pem = self._file.read_bytes()
        _trust(server_context(), pem)
        self._trusted.append(pem)
        self._stamp = stamp


def _trust(context: ssl.SSLContext, pem: bytes) -> None:
    with as_file(pem) as file:
        context.load_verify_locations(file)


class SelfSignedCertificate:
    """A self-signed certificate in memory, for scrapers that do not verify it."""

    def __init__(
        self, name: str, *, clock: Clock, least_tls: ssl.TLSVersion = LEAST_TLS
    ) -> None:
        """name: name of the signing authority. least_tls: older clients are refused."""
        # Imported here: the library that makes certificates takes 13 MiB, and most
        # processes make no certificate.
        from asoreconcile.base.certificates import Authority

        now = clock.now()
        authority = Authority.make(name, now=now, days=_SELF_SIGNED_DAYS)
        pair = authority.issue(["localhost"], now=now, days=_SELF_SIGNED_DAYS)
        self._context = server_context(least_tls, *pair)

    def context(self) -> ssl.SSLContext:
        """Return the TLS context; its certificate never changes."""
        return self._context


def server_context(
    least_tls: ssl.TLSVersion = LEAST_TLS, *pair: bytes
) -> ssl.SSLContext:
    """Return a new server context.

    pair: certificate and key. A renewed pair needs a new context: in an existing one, a
    handshake between the loading of the certificate and of its key would fail. Raises
    OSError (ssl.SSLError is one) for a pair that does not match.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = least_tls
    # The API server also offers HTTP/2, which the listener does not support.
    context.set_alpn_protocols(["http/1.1"])
    if pair:
        load_cert_chain(context, *pair)
    return context
