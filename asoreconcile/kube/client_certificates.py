"""The TLS context of the API server's connections, and its files as they rotate.

One context for the process (each own one costs 0.8 MB). Before each new connection the
files are looked at: a context that has loaded a new pair serves it to new handshakes,
and one that could not keeps the old pair.
"""

import ssl
import threading

from asoreconcile.log import Logger
from asoreconcile.tls import FileContext, Pair, Pem, as_file, client_context

_log = Logger(__name__)


class ClientCertificates:
    """A client's TLS context over files. Safe from any thread."""

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
        # With a file, neither the system's nor SSL_CERT_FILE's authorities count.
        if authority is None:
            context = client_context()
        else:
            with as_file(authority) as file:
                context = client_context(cafile=str(file))
        self._files = FileContext(context, authority=authority, pair=pair)
        self._has_pair = pair is not None
        self._lock = threading.Lock()
        self.generation = 0
        if not verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE

    @property
    def context(self) -> ssl.SSLContext:
        """The context of connections that are opened now; another one after a
        rotation.
        """
        return self._files.context

    def renew(self) -> bool:
        """As `refresh`, of a certificate that was refused; whether it is another."""
        before = self.generation
        self.refresh()
        return self.generation != before

    def refresh(self) -> None:
        """Load the files again if they changed. Never raises."""
        with self._lock:  # who comes second sees the generation that came first
            try:
                changed = self._files.refresh()
            except OSError as error:
                _log.warning("Keeping the old cluster certificates", error=str(error))
                return
            if changed:
                # Connections that are open show the old certificate, if any.
                self.generation += self._has_pair
                _log.info("Loaded new cluster certificates")
