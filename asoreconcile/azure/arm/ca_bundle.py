"""Find the certificate authorities that Azure's hosts are verified against."""

import os
from pathlib import Path

from asoreconcile.base.errors import AsoreconcileError

# requests' two, then OpenSSL's: the first that is set wins.
_BUNDLE_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")


class CertificateBundleError(AsoreconcileError):
    """The environment names a CA bundle that cannot be read."""


class ProxyVariableError(AsoreconcileError):
    """An environment variable names an invalid proxy; the message names the
    variable.
    """


def ca_bundle() -> str:
    """Return the CA bundle to trust, a file or folder: the environment's, else
    certifi's.

    Raises CertificateBundleError, naming the variable, if the bundle does not exist.
    """
    for variable in _BUNDLE_VARIABLES:
        path = os.environ.get(variable)
        if path:
            if not Path(path).exists():
                raise CertificateBundleError(f"{variable}: no such file: {path}")
            return path
    import certifi

    return certifi.where()
