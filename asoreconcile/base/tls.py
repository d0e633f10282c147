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
    cadata: str | None = None,
) -> ssl.SSLContext:
    """Return a client context that verifies the server. Raises OSError.

    cafile: PEM of the authorities to trust. cadata: the PEM itself. With neither, the
    system's authorities, or those of SSL_CERT_FILE.
    """
    context = ssl.create_default_context(cafile=cafile, cadata=cadata)
    # Python 3.13 refuses CAs that violate details of RFC 5280: hand-made clusters and
    # corporate proxies often lack the authority key identifier. The chain, the dates
    # and the host name are still verified.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    # As Go's default for clients; older versions are not supported.
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def load_cert_chain(context: ssl.SSLContext, certificate: Pem, key: Pem | None) -> None:
    """Load a certificate and its key into a context that serves no handshake yet.

    key: file of the key; None if the key is in the certificate's file. Raises OSError
    (ssl.SSLError is one).
    """
    with ExitStack() as files:
        certificate_file = files.enter_context(as_file(certificate))
        key_file = None if key is None else files.enter_context(as_file(key))
        context.load_cert_chain(certificate_file, key_file)


@contextmanager
def as_file(content: Pem) -> Iterator[Path]:
    """Return a context with a file of this content; a path is returned as it is.

    The file is in memory on Linux: a pod's root file system may be read-only, and a key
    must not reach the disk.
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
