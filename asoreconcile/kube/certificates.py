"""The TLS context of the API server's connections, and its files as they rotate.

One context for the process (each own one costs 0.8 MB). Before each new connection the
files are looked at: a context that has loaded a new pair serves it to new handshakes,
and one that could not keeps the old pair.
"""

import os
import ssl
import threading
from pathlib import Path

from asoreconcile.log import Logger
from asoreconcile.tls import client_context

_log = Logger(__name__)

_Stamp = tuple[tuple[int, int, int], ...]


class Certificates:
    """A client's TLS context over files. Safe from any thread."""

    def __init__(
        self,
        *,
        authority: str | None,
        pair: tuple[str, str | None] | None = None,
        verify: bool = True,
    ) -> None:
        """authority: PEM file of whom to trust; None trusts the system's.
        pair: PEM files of our own certificate and key. verify: False trusts anybody.

        Raises OSError (ssl.SSLError is one) for files that cannot be used.
        """
        self._authority = authority
        self._pair = pair
        self._lock = threading.Lock()
        self._seen = self._stamp()
        self.generation = 0
        # With a file, neither the system's nor SSL_CERT_FILE's authorities count.
        self.context = client_context(cafile=authority)
        if pair is not None:
            self.context.load_cert_chain(*pair)
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
                    self.context.load_verify_locations(self._authority)
                if self._pair is not None:
                    # A certificate whose key is still the old one would leave the live
                    # context with neither: try the pair elsewhere first.
                    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(*self._pair)
                    self.context.load_cert_chain(*self._pair)
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
        files = [self._authority, *(self._pair or ())]
        return tuple(_stamp_of(Path(name)) for name in files if name is not None)


def _stamp_of(path: Path) -> tuple[int, int, int]:
    state = os.stat(path)  # noqa: PTH116 - follows the links that mounts rotate by
    return state.st_ino, state.st_mtime_ns, state.st_size
