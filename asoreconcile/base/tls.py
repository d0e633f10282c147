"""TLS contexts for clients and servers, and loading certificates into them.

A client accepts the same CAs as Go's clients, so that clusters that work with kubectl
work here.
"""

import hashlib
import os
import re
import ssl
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

_BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----([^-]+)-----END", re.DOTALL)
Pem = Path | bytes
"""PEM, or the file that holds it."""
Pair = tuple[Pem, Pem | None]
"""The files of a certificate and its key; None if the key is in the certificate's file.
"""
Stamp = tuple[int, int, int]
"""A value that changes when a file's content does."""


def client_context(
    *,
    cafile: str | None = None,
    capath: str | None = None,
    cadata: str | None = None,
) -> ssl.SSLContext:
    """Return a client context that verifies the server. Raises OSError.

    cafile: PEM of the authorities to trust. capath: a folder of them. cadata: the PEM
    itself. With none of them, the system's authorities, or those of SSL_CERT_FILE.
    """
    context = ssl.create_default_context(cafile=cafile, capath=capath, cadata=cadata)
    # Python 3.13 refuses CAs that violate details of RFC 5280: hand-made clusters and
    # corporate proxies often lack the authority key identifier. The chain, the dates
    # and the host name are still verified.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    # As Go's default for clients; older versions are not supported.
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


class FileContext:
    """A TLS context that follows its files. Safe from any thread.

    New handshakes use the loaded certificates; open connections keep theirs. Unusable
    files leave the previous certificates in place.
    """

    def __init__(
        self,
        context: ssl.SSLContext,
        *,
        authority: Pem | None = None,
        pair: Pair | None = None,
    ) -> None:
        """authority: the trusted CAs as PEM. pair: our certificate and key; see
        `load_cert_chain`.

        Loads both. Raises OSError (ssl.SSLError is one) for unusable files.
        """
        self.context = context
        self._authority = authority
        self._pair = pair
        self._lock = threading.Lock()
        self._seen = self._stamp()  # first: a file that changes now is read again
        self._load()

    def refresh(self) -> bool:
        """Reload the files if they changed; returns whether they had.

        Raises OSError for unusable files, most likely half-written ones. The next call
        tries again.
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
        """Return a value that changes when the content of the files does."""
        given = (self._authority, *(self._pair or ()))
        return tuple(file_stamp(file) for file in given if isinstance(file, Path))


def load_cert_chain(context: ssl.SSLContext, certificate: Pem, key: Pem | None) -> None:
    """Use this pair for new handshakes. On OSError nothing has changed.

    key: None if it is in the certificate's file.
    """
    with ExitStack() as files:
        certificate_file = files.enter_context(as_file(certificate))
        key_file = None if key is None else files.enter_context(as_file(key))
        # A new certificate with the old key would leave a live context without either:
        # try the pair in another context first.
        tried = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        for one in (tried, context):
            one.load_cert_chain(certificate_file, key_file)


@contextmanager
def as_file(content: Pem) -> Iterator[Path]:
    """A file with this content for the duration of the block; a path is returned as it
    is.

    In memory on Linux: a pod's root file system may be read-only, and a key must not
    reach the disk.
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
    """Return a value that changes when the file's content does. Raises OSError."""
    state = os.stat(path)  # noqa: PTH116 - follows the links that mounts rotate by
    return state.st_ino, state.st_mtime_ns, state.st_size


def fingerprints(pem: bytes) -> frozenset[str]:
    """Return a short hash of each certificate in a PEM text."""
    found = _BLOCK.findall(pem)
    return frozenset(
        hashlib.sha256(b"".join(one.split())).hexdigest()[:16] for one in found
    )
