"""The serving certificate of a webhook server, and its rotation at run time.

The process has one TLS context: a loaded certificate is used for new handshakes, and
open connections keep theirs. Rule: WH-7.
"""

import ssl
from pathlib import Path
from typing import Protocol

from asoreconcile.base.clock import Clock, SystemClock
from asoreconcile.base.log import Logger
from asoreconcile.base.retry import Backoff, retry
from asoreconcile.base.tls import FileContext, load_cert_chain
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
        clock: for the pauses between the first tries.

        Unusable files are read again for 1.5 s (`_WRITTEN`), as they may be being
        written. Raises OSError (ssl.SSLError is one) if they stay unusable.
        """
        self._metrics = metrics
        context = server_context(least_tls)
        self._count_read()
        pair = (Path(folder, certificate), Path(folder, key))
        self._files = retry(
            lambda: FileContext(context, pair=pair),
            backoff=_WRITTEN,
            when=lambda error: isinstance(error, OSError),
            clock=clock or SystemClock(),
            what=f"load the certificate in {folder}",
        )
        self._certificate = Path(folder, certificate)
        self._expose_expiry()

    def context(self) -> ssl.SSLContext:
        """Return the TLS context with the current pair, or the last usable one. Never
        raises.
        """
        try:
            if self._files.refresh():
                self._count_read()
                self._expose_expiry()
                _log.info("Loaded a new serving certificate")
        except OSError as error:
            self._count_read()
            self._count_error()
            _log.warning("Keeping the old serving certificate", error=str(error))
        return self._files.context

    def _expose_expiry(self) -> None:
        """Show the end of the certificate in the file. The file was loaded a moment
        ago, so it is valid, unless it was written since; then this raises OSError.
        """
        if self._metrics is None:
            return
        try:
            self._metrics.shows(self._certificate.read_bytes())
        except ValueError as error:
            raise OSError(f"{self._certificate}: {error}") from error

    def _count_read(self) -> None:
        if self._metrics is not None:
            self._metrics.certificate_reads.inc()

    def _count_error(self) -> None:
        if self._metrics is not None:
            self._metrics.certificate_errors.inc()


class ClientAuthority:
    """The authority of clients' certificates, in a file that may be replaced. Safe from
    any thread.

    An authority that was trusted stays so until the process ends.
    """

    def __init__(self, file: Path) -> None:
        """file: PEM. Raises OSError (ssl.SSLError is one) if it is unusable."""
        self._file = file
        self._files: FileContext | None = None
        FileContext(server_context(), authority=file)

    def asked_by(self, context: ssl.SSLContext) -> ssl.SSLContext:
        """Return a server's context that asks clients for a certificate and verifies
        it; a client without one is not refused. With an unusable file the authorities
        stay that were read before. Raises OSError if there are none.
        """
        if self._files is None or self._files.context is not context:
            context.verify_mode = ssl.CERT_OPTIONAL
            self._files = FileContext(context, authority=self._file)
            return context
        try:
            self._files.refresh()
        except OSError as error:
            _log.warning("Keeping the old client authority", error=str(error))
        return context


class SelfSignedCertificate:
    """A self-signed certificate in memory, for scrapers that do not verify it."""

    def __init__(
        self, name: str, *, clock: Clock, least_tls: ssl.TLSVersion = LEAST_TLS
    ) -> None:
        """name: of the signing authority. least_tls: older clients are refused."""
        # Here: what makes certificates takes 13 MiB to load, and most processes make
        # none.
        from asoreconcile.base.certificates import Authority

        now = clock.now()
        authority = Authority.make(name, now=now, days=_SELF_SIGNED_DAYS)
        self._context = server_context(least_tls)
        pair = authority.issue(["localhost"], now=now, days=_SELF_SIGNED_DAYS)
        load_cert_chain(self._context, *pair)

    def context(self) -> ssl.SSLContext:
        """Return the TLS context; its certificate never changes."""
        return self._context


def server_context(least_tls: ssl.TLSVersion = LEAST_TLS) -> ssl.SSLContext:
    """Return a server context without a certificate yet."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = least_tls
    # The API server also offers HTTP/2, which the listener does not support.
    context.set_alpn_protocols(["http/1.1"])
    return context
