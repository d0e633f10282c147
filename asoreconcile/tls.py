"""TLS contexts, and what is loaded into them: one way for clients and servers.

A client trusts the authorities that Go's clients trust: kubectl's clusters are ours.
"""

import os
import ssl
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

Pem = Path | bytes
"""PEM, or the file that holds it."""
Pair = tuple[Pem, Pem | None]
"""A certificate and its key; None for a key that is in the certificate's file."""
Stamp = tuple[int, int, int]
"""What differs when a file's content does."""


def client_context(
    *,
    cafile: str | None = None,
    capath: str | None = None,
    cadata: str | None = None,
) -> ssl.SSLContext:
    """A client's context that verifies the server. Raises OSError.

    cafile: PEM of the authorities to trust. capath: a folder of them. cadata: the PEM
    itself. With none of them, the system's authorities, or those of SSL_CERT_FILE.
    """
    context = ssl.create_default_context(cafile=cafile, capath=capath, cadata=cadata)
    # Python 3.13 began to refuse authorities that break a letter of RFC 5280: clusters
    # made by hand have no authority key identifier, companies' proxies neither. The
    # chain, the dates and the host's name are verified all the same.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    # As Go's default for clients; older ones need not be spoken to.
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


class FileContext:
    """A context over files, with what is in them now. Safe from any thread.

    What is loaded into it is shown to new handshakes; open connections keep what
    they had. What cannot be used leaves what was there.
    """

    def __init__(
        self,
        context: ssl.SSLContext,
        *,
        authority: Pem | None = None,
        pair: Pair | None = None,
    ) -> None:
        """authority: the PEM to trust. pair: what to show; see `load_cert_chain`.

        Loads both. Raises OSError (ssl.SSLError is one) for what cannot be used.
        """
        self.context = context
        self._authority = authority
        self._pair = pair
        self._lock = threading.Lock()
        self._seen = self._stamp()  # first: what changes while it is read is read again
        self._load()

    def refresh(self) -> bool:
        """Load the files again if they changed; whether they had.

        Raises OSError for what cannot be used: half written, most likely. The next call
        looks again.
        """
        with self._lock:
            stamp = self._stamp()
            if stamp == self._seen:
                return False
            self._load()
            self._seen = stamp
            return True

    def _load(self) -> None:
        if self._pair is not None:
            load_cert_chain(self.context, *self._pair)
        if self._authority is not None:
            with as_file(self._authority) as file:
                self.context.load_verify_locations(file)

    def _stamp(self) -> tuple[Stamp, ...]:
        """A value that differs when the content of the files does."""
        given = (self._authority, *(self._pair or ()))
        return tuple(file_stamp(file) for file in given if isinstance(file, Path))


def load_cert_chain(context: ssl.SSLContext, certificate: Pem, key: Pem | None) -> None:
    """Show this pair to who comes next. Raises OSError, and changes nothing then.

    key: None if it is in the certificate's file.
    """
    with ExitStack() as files:
        certificate_file = files.enter_context(as_file(certificate))
        key_file = None if key is None else files.enter_context(as_file(key))
        # A certificate whose key is still the old one would leave a live context with
        # neither: try the pair elsewhere first.
        tried = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        for one in (tried, context):
            one.load_cert_chain(certificate_file, key_file)


@contextmanager
def as_file(content: Pem) -> Iterator[Path]:
    """A file with this content, for as long as the block lasts; a path is one already.

    In memory, on Linux: a pod's root may be read-only, and no disk sees a key.
    """
    if isinstance(content, Path):
        yield content
    elif sys.platform == "linux":
        with os.fdopen(os.memfd_create("pem"), "wb", buffering=0) as file:
            file.write(content)
            yield Path(f"/proc/self/fd/{file.fileno()}")
    else:
        with tempfile.NamedTemporaryFile() as file:  # readable to us alone
            file.write(content)
            file.flush()
            yield Path(file.name)


def file_stamp(path: Path) -> Stamp:
    """A value that differs when the file's content does. Raises OSError."""
    state = os.stat(path)  # noqa: PTH116 - follows the links that mounts rotate by
    return state.st_ino, state.st_mtime_ns, state.st_size
