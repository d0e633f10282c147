"""The CAs that a client trusts, and its client certificate."""

import os
import ssl
from pathlib import Path

import attrs
import pycurl

from asoreconcile.base.tls import Pem, as_file, client_context, load_cert_chain

Authorities = Path | bytes
"""PEM, the file that holds it, or a folder of such files as OpenSSL names them."""


@attrs.frozen
class TlsTrust:
    """The TLS settings of a connection: the trusted CAs and the client certificate.

    Two are equal if a connection made with one may be used with the other.

    pair: PEM of our certificate and its key. verify: False trusts any server, which a
    kubeconfig may set.
    """

    authorities: Authorities = attrs.field(repr=False)
    pair: tuple[bytes, bytes] | None = attrs.field(default=None, repr=False)
    verify: bool = True

    def apply(self, curl: pycurl.Curl) -> None:
        """Set libcurl's TLS options, replacing all its defaults.

        As in Go's clients and kubectl, any CA of the bundle ends a chain, even if
        another CA signed it, and need not follow all details of RFC 5280.
        """
        curl.setopt(pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_2)  # or newer
        curl.setopt(pycurl.SSL_VERIFYPEER, int(self.verify))
        curl.setopt(pycurl.SSL_VERIFYHOST, 2 if self.verify else 0)
        for option in (
            *(pycurl.CAINFO, pycurl.CAPATH),
            *(pycurl.PROXY_CAINFO, pycurl.PROXY_CAPATH),
        ):
            curl.unsetopt(option)
        if isinstance(self.authorities, bytes):
            curl.setopt(pycurl.CAINFO_BLOB, self.authorities)
            curl.setopt(pycurl.PROXY_CAINFO_BLOB, self.authorities)
        elif self.authorities.is_dir():
            curl.setopt(pycurl.CAPATH, str(self.authorities))
            curl.setopt(pycurl.PROXY_CAPATH, str(self.authorities))
        else:
            curl.setopt(pycurl.CAINFO, str(self.authorities))
            curl.setopt(pycurl.PROXY_CAINFO, str(self.authorities))
        if self.pair is not None:
            certificate, key = self.pair
            curl.setopt(pycurl.SSLCERTTYPE, "PEM")
            curl.setopt(pycurl.SSLKEYTYPE, "PEM")
            curl.setopt(pycurl.SSLCERT_BLOB, certificate)
            curl.setopt(pycurl.SSLKEY_BLOB, key)


def checked_authorities(given: Pem) -> bytes:
    """Return the PEM of the trusted CAs. Raises OSError (ssl.SSLError is one) if it has
    none: libcurl would fail only at the first request.
    """
    content = _read(given)
    with as_file(content) as file:
        client_context(cafile=str(file))
    return content


def checked_pair(certificate: Pem, key: Pem | None) -> tuple[bytes, bytes]:
    """Return the PEM of a certificate and its key. Raises OSError if they do not match.

    key: file of the key; None if the key is in the certificate's file.
    """
    pair = _read(certificate), _read(certificate if key is None else key)
    load_cert_chain(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), *pair)
    return pair


def _read(given: Pem) -> bytes:
    return given.read_bytes() if isinstance(given, Path) else given


def system_authorities() -> Authorities:
    """Return the system's CA bundle, or that of SSL_CERT_FILE and SSL_CERT_DIR.

    Not libcurl's: its wheel uses the path of its build machine.
    """
    paths = ssl.get_default_verify_paths()
    found = paths.cafile or paths.capath
    return Path(found or os.devnull)
