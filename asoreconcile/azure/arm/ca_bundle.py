"""Which certificate authorities the hosts of Azure are verified against."""

import os
from pathlib import Path

from asoreconcile.base.errors import AsoreconcileError

# requests' two, then OpenSSL's: the first that is set wins.
_BUNDLE_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")


class CertificateBundleError(AsoreconcileError):
    """The environment names a CA bundle that cannot be read."""


def ca_bundle() -> str:
    """The CA bundle to trust: the environment's, else certifi's. A file or folder.

    Raises CertificateBundleError, naming the variable, for one that does not exist.
    """
    for variable in _BUNDLE_VARIABLES:
        path = os.environ.get(variable)
        if path:
            if not Path(path).exists():
                raise CertificateBundleError(f"{variable}: no such file: {path}")
            return path
    import certifi

    return certifi.where()
