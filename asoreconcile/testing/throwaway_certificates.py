"""A certificate authority for one test or sandbox.

Thrown away with the process, but for who keeps an authority to load it again.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import attrs

from asoreconcile import certificates

_DAYS = 7


@attrs.frozen
class ShortLivedAuthority:
    """Signs for a week from now; `pem` is what clients trust."""

    _authority: certificates.Authority = attrs.field(repr=False)

    @property
    def pem(self) -> bytes:
        """The authority's certificate in PEM: what clients are told to trust."""
        return self._authority.pem

    @property
    def key_pem(self) -> bytes:
        """The private key, for who keeps the authority: nobody else may read it."""
        return self._authority.key_pem

    @property
    def lasts(self) -> timedelta:
        """How long certificates of it are still good."""
        return self._authority.certificate.not_valid_after_utc - datetime.now(UTC)

    def issue(
        self, hosts: Sequence[str], *, client: bool = False
    ) -> tuple[bytes, bytes]:
        """A server's certificate for host names and addresses: (certificate, key) PEM.

        client: a client's instead.
        """
        now = datetime.now(UTC)
        return self._authority.issue(hosts, now=now, days=_DAYS, client=client)


def certificate_authority(
    name: str = "asoreconcile test authority",
) -> ShortLivedAuthority:
    """A new authority."""
    now = datetime.now(UTC)
    return ShortLivedAuthority(certificates.Authority.make(name, now=now, days=_DAYS))


def load_authority(pem: bytes, key_pem: bytes) -> ShortLivedAuthority:
    """An authority that was kept. Raises ValueError for what is none."""
    return ShortLivedAuthority(certificates.Authority.load(pem, key_pem))
