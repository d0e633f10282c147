"""A certificate authority for one test or sandbox.

The authority ends with the process, unless the caller stores it and loads it again.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import attrs

from asoreconcile.base import certificates

# `asoctl doctor` warns two weeks before an authority ends, also in a sandbox.
_DAYS = 30


@attrs.frozen
class ShortLivedAuthority:
    """An authority whose certificates last for a month. Clients trust `pem`."""

    _authority: certificates.Authority = attrs.field(repr=False)

    @property
    def pem(self) -> bytes:
        """The authority's certificate in PEM, for clients to trust."""
        return self._authority.pem

    @property
    def key_pem(self) -> bytes:
        """The private key, for storing the authority: keep it secret."""
        return self._authority.key_pem

    @property
    def lasts(self) -> timedelta:
        """Return how long its certificates remain valid."""
        return self._authority.certificate.not_valid_after_utc - datetime.now(UTC)

    def issue(
        self, hosts: Sequence[str], *, client: bool = False
    ) -> tuple[bytes, bytes]:
        """Return a server certificate for host names and addresses, and its key, in
        PEM.

        client: if true, the certificate is a client's instead.
        """
        now = datetime.now(UTC)
        return self._authority.issue(hosts, now=now, days=_DAYS, client=client)


def certificate_authority(
    name: str = "asoreconcile test authority",
) -> ShortLivedAuthority:
    """Make an authority."""
    now = datetime.now(UTC)
    return ShortLivedAuthority(certificates.Authority.make(name, now=now, days=_DAYS))


def load_authority(pem: bytes, key_pem: bytes) -> ShortLivedAuthority:
    """Load a stored authority. Raises ValueError if it is invalid."""
    return ShortLivedAuthority(certificates.Authority.load(pem, key_pem))
