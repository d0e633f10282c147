"""The TLS context of the API server's connections, and its files as they rotate.

One context for the process (each own one costs 0.8 MB). Before each new connection the
files are looked at: a context that has loaded a new pair serves it to new handshakes,
and one that could not keeps the old pair.
"""

import os
import ssl
import threading
from contextlib import ExitStack
from pathlib import Path

from asoreconcile.log import Logger
from asoreconcile.tls import as_file, client_context

_log = Logger(__name__)

_Stamp = tuple[tuple[int, int, int], ...]


class Certificates:
    """A client's TLS context over files. Safe from any thread."""

    def __init__(
        self,
        *,
        authority: Path | bytes | None,
        pair: tuple[Path | bytes, Path | bytes | None] | None = None,
        verify: bool = True,
    ) -> None:
        """authority: PEM of whom to trust, or its file; None trusts the system's.
        pair: our own certificate and key, each PEM or its file; None for a key that is
        in the certificate's file. verify: False trusts anybody.

        Raises OSError (ssl.SSLError is one) for files that cannot be used.
        """
        self._authority = authority
        self._pair = pair
        self._lock = threading.Lock()
        self._seen = self._stamp()
        self.generation = 0
        # With a file, neither the system's nor SSL_CERT_FILE's authorities count.
        if authority is None:
            self.context = client_context()
        else:
            with as_file(authority) as file:
                self.context = client_context(cafile=str(file))
        if pair is not None:
            _load(pair, self.context)
        if not verify:
            self.context.check_hostname = False
            self.context.verify_mode = ssl.CERT_NONE

    def renew(self) -> bool:
        """As `refresh`, of a certificate that was refused; whether it is another."""
        before = self.generation
        self.refresh()
        return self.generation != before

    def refresh(self) -> None:
        """Load the files again if they changed. Never raises."""
        with self._lock:
            try:
                stamp = self._stamp()
                if stamp == self._seen:
                    return
                if self._authority is not None:
                    with as_file(self._authority) as file:
                        self.context.load_verify_locations(file)
                if self._pair is not None:
                    # A certificate whose key is still the old one would leave the live
                    # context with neither: try the pair elsewhere first.
                    tried = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                    _load(self._pair, tried, self.context)
            except OSError as error:
                # Half written, most likely: the next connection looks again.
                _log.warning("Keeping the old cluster certificates", error=str(error))
            else:
                self._seen = stamp
                # Connections that are open show the old certificate, if any.
                self.generation += self._pair is not None
                _log.info("Loaded new cluster certificates")

    def _stamp(self) -> _Stamp:
        """What tells one content of the files from another."""
        given = [self._authority, *(self._pair or ())]
        return tuple(_stamp_of(file) for file in given if isinstance(file, Path))


def _load(
    pair: tuple[Path | bytes, Path | bytes | None], *contexts: ssl.SSLContext
) -> None:
    certificate, key = pair
    with ExitStack() as files:
        certificate_file = files.enter_context(as_file(certificate))
        key_file = None if key is None else files.enter_context(as_file(key))
        for context in contexts:
            context.load_cert_chain(certificate_file, key_file)


def _stamp_of(path: Path) -> tuple[int, int, int]:
    state = os.stat(path)  # noqa: PTH116 - follows the links that mounts rotate by
    return state.st_ino, state.st_mtime_ns, state.st_size
