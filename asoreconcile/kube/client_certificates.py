"""Whom the API server's connections trust and what they show, as its files rotate.

Before each new connection the files are looked at; what cannot be used, half written
most likely, leaves what was there.
"""

import threading
from pathlib import Path

from asoreconcile.log import Logger
from asoreconcile.tls import Pair, Pem, Stamp, file_stamp
from asoreconcile.wire.trust import (
    TlsTrust,
    checked_authorities,
    checked_pair,
    system_authorities,
)

_log = Logger(__name__)


class ClientCertificates:
    """A client's TLS over files. Safe from any thread."""

    def __init__(
        self,
        *,
        authority: Pem | None,
        pair: Pair | None = None,
        verify: bool = True,
    ) -> None:
        """authority: the certificates to trust; None trusts the system's.
        pair: our own certificate and key. verify: False trusts anybody.

        Raises OSError (ssl.SSLError is one) for files that cannot be used.
        """
        self._authority = authority
        self._pair = pair
        self._verify = verify
        self._lock = threading.Lock()
        self.generation = 0
        self._seen = self._stamp()  # first: what changes while it is read is read again
        self._trust = self._load()

    def trust(self) -> TlsTrust:
        """What is in the files now, or was when they could be used. Never raises."""
        with self._lock:  # who comes second sees the generation that came first
            try:
                self._refresh()
            except OSError as error:
                _log.warning("Keeping the old cluster certificates", error=str(error))
            return self._trust

    def renew(self) -> bool:
        """Look again, after a refusal; whether the certificate is another one now."""
        before = self.generation
        self.trust()
        return self.generation != before

    def _refresh(self) -> None:
        stamp = self._stamp()
        if stamp == self._seen:
            return
        loaded = self._load()
        self._seen = stamp
        # Connections that are open show the old certificate, if any.
        self.generation += loaded.pair != self._trust.pair
        self._trust = loaded
        _log.info("Loaded new cluster certificates")

    def _load(self) -> TlsTrust:
        authority, pair = self._authority, self._pair
        trusted = (
            system_authorities()
            if authority is None  # with one of its own, no other counts
            else checked_authorities(authority)
        )
        shown = None if pair is None else checked_pair(*pair)
        return TlsTrust(trusted, shown, self._verify)

    def _stamp(self) -> tuple[Stamp, ...]:
        """A value that differs when the content of the files does."""
        given = (self._authority, *(self._pair or ()))
        return tuple(file_stamp(file) for file in given if isinstance(file, Path))
