"""The certificate a webhook server shows, and its change while the server runs.

One TLS context for the process: what is loaded into it is shown to the next client,
connections that are open go on with what they were greeted with. Rule: WH-7.
"""

import os
import ssl
import threading
from pathlib import Path
from typing import Protocol

from asoreconcile.certificates import Authority
from asoreconcile.clock import Clock
from asoreconcile.log import Logger
from asoreconcile.tls import load_pair, load_pem
from asoreconcile.webhooks.metrics import WebhookMetrics

_log = Logger(__name__)

_SELF_SIGNED_DAYS = 3650.0

_Stamp = tuple[tuple[int, int, int], ...]


class Certificates(Protocol):
    """What a server shows its clients."""

    def context(self) -> ssl.SSLContext:
        """To greet a connection with now. Raises OSError if there is nothing yet."""


class FileCertificates:
    """A certificate and key that others keep in files, such as a mounted Secret.

    The files are looked at when a client comes, so a new pair is shown from its first
    moment on; a pair that cannot be used leaves the old one. Safe from any thread.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        certificate: str = "tls.crt",
        key: str = "tls.key",
        client_authority: str | Path | None = None,
        metrics: WebhookMetrics | None = None,
    ) -> None:
        """folder: holds the two files, PEM.
        client_authority: PEM file; only clients with a certificate of it are served.

        Raises OSError (ssl.SSLError is one) for files that cannot be used.
        """
        self._pair = (Path(folder, certificate), Path(folder, key))
        self._authority = client_authority
        self._metrics = metrics
        self._lock = threading.Lock()
        self._context = server_context()
        if client_authority is not None:
            self._context.verify_mode = ssl.CERT_REQUIRED
        self._seen = self._stamp()
        self._load()

    def context(self) -> ssl.SSLContext:
        """With the pair that is in the files now, or was last usable. Never raises."""
        with self._lock:
            try:
                stamp = self._stamp()
                if stamp != self._seen:
                    self._load()
                    self._seen = stamp
                    _log.info("Loaded a new serving certificate")
            except OSError as error:
                # Half written, most likely: the next connection looks again.
                self._count_error()
                _log.warning("Keeping the old serving certificate", error=str(error))
        return self._context

    def _load(self) -> None:
        if self._metrics is not None:
            self._metrics.certificate_reads.inc()
        load_pair(self._context, *self._pair)
        if self._authority is not None:
            self._context.load_verify_locations(self._authority)

    def _count_error(self) -> None:
        if self._metrics is not None:
            self._metrics.certificate_errors.inc()

    def _stamp(self) -> _Stamp:
        """What tells one content of the files from another."""
        files = [*self._pair]
        if self._authority is not None:
            files.append(Path(self._authority))
        return tuple(_stamp_of(file) for file in files)


class SelfSignedCertificate:
    """One that nobody can verify, made on the spot: for scrapers that do not ask."""

    def __init__(self, name: str, *, clock: Clock) -> None:
        """name: of whom it says to be made."""
        now = clock.now()
        authority = Authority.make(name, now=now, days=_SELF_SIGNED_DAYS)
        self._context = server_context()
        pair = authority.issue(["localhost"], now=now, days=_SELF_SIGNED_DAYS)
        load_pem(self._context, *pair)

    def context(self) -> ssl.SSLContext:
        """Always the same."""
        return self._context


def server_context() -> ssl.SSLContext:
    """A server's context with nothing to show yet."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def _stamp_of(path: Path) -> tuple[int, int, int]:
    state = os.stat(path)  # noqa: PTH116 - follows the links that mounts rotate by
    return state.st_ino, state.st_mtime_ns, state.st_size
