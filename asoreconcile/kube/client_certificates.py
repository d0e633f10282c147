"""The certificates for connections to the API server, reloaded when their files rotate.

The files are checked before each new connection. If they are unusable, for example
half-written, the certificates in use stay.
"""

import threading
from pathlib import Path

from asoreconcile.base.log import Logger
from asoreconcile.base.tls import Pair, Pem, Stamp, file_stamp
from asoreconcile.wire.trust import (
    TlsTrust,
    checked_authorities,
    checked_pair,
    system_authorities,
)

_log = Logger(__name__)


class ClientCertificates:
    """A client's TLS certificates in files. Safe from any thread."""

    def __init__(
        self,
        *,
        authority: Pem | None,
        pair: Pair | None = None,
        verify: bool = True,
    ) -> None:
        """authority: the trusted CAs; None for the system's. pair: the client's
        certificate and key. verify: False to trust any server.

        Raises OSError (ssl.SSLError is one) for unusable files.
        """
        self._authority = authority
        self._pair = pair
        self._verify = verify
        self._lock = threading.Lock()
        self.generation = 0
        self._seen = self._stamp()  # first: a file that changes now is read again
        self._trust = self._load()

    def trust(self) -> TlsTrust:
        """Return the current content of the files, or the last usable one. Never
        raises.
        """
        with self._lock:  # the second caller sees the first one's generation
            try:
                self._refresh()
            except OSError as error:
                _log.warning("Keeping the old cluster certificates", error=str(error))
            return self._trust

    def renew(self) -> bool:
        """Check the files again after a refusal; returns whether the certificate
        changed.
        """
        before = self.generation
        self.trust()
        return self.generation != before

    def _refresh(self) -> None:
        stamp = self._stamp()
        if stamp == self._seen:
            return
        loaded = self._load()
        self._seen = stamp
        # Open connections use the old certificate, if any.
        self.generation += loaded.pair != self._trust.pair
        self._trust = loaded
        _log.info("Loaded new cluster certificates")

    def _load(self) -> TlsTrust:
        authority, pair = self._authority, self._pair
        trusted = (
            system_authorities()
            if authority is None  # a configured CA replaces the system's
            else checked_authorities(authority)
        )
        shown = None if pair is None else checked_pair(*pair)
        return TlsTrust(trusted, shown, self._verify)

    def _stamp(self) -> tuple[Stamp, ...]:
        """Return a value that differs when the content of the files does."""
        given = (self._authority, *(self._pair or ()))
        return tuple(file_stamp(file) for file in given if isinstance(file, Path))
