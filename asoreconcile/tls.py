"""TLS contexts, and what is loaded into them: one way for clients and servers.

A client trusts the authorities that Go's clients trust: kubectl's clusters are ours.
"""

import os
import ssl
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def client_context(
    *,
    cafile: str | None = None,
    capath: str | None = None,
    cadata: str | None = None,
) -> ssl.SSLContext:
    """A client's context that verifies whom it talks to. Raises OSError.

    cafile: PEM of whom to trust. capath: a folder of them. cadata: the PEM itself. With
    none of them, the system's authorities, or those of SSL_CERT_FILE.
    """
    context = ssl.create_default_context(cafile=cafile, capath=capath, cadata=cadata)
    # Python 3.13 began to refuse authorities that break a letter of RFC 5280: clusters
    # made by hand have no authority key identifier, companies' proxies neither. The
    # chain, the dates and the host's name are verified all the same.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def load_pair(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Show this pair to who comes next. Raises OSError, and changes nothing then."""
    # A certificate whose key is still the old one would leave a live context with
    # neither: try the pair elsewhere first.
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    context.load_cert_chain(certificate, key)


def load_pem(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """`load_pair` of PEM in memory: a context takes them from files only."""
    with as_file(certificate) as certificate_file, as_file(key) as key_file:
        load_pair(context, certificate_file, key_file)


@contextmanager
def as_file(content: bytes | Path) -> Iterator[Path]:
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
