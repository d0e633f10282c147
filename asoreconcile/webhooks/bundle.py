"""The stored form of a self-signed certificate bundle: four files, as in a Secret.

It is a separate module so that a replica with a given certificate loads no
cryptography.
"""

from collections.abc import Mapping

AUTHORITY, AUTHORITY_KEY = "ca.crt", "ca.key"
CERTIFICATE, KEY = "tls.crt", "tls.key"

CertificateBundle = Mapping[str, bytes]
"""The four files above, newest authority first in `ca.crt`; its key in `ca.key`."""
